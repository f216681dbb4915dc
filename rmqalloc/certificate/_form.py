"""The form of a saved plan, strictly, by the standard library alone: another spelling of the same is a change all the same."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

VERSION = "rmqalloc/v2"

UNITS = [
    "consumer_group", "topic", "scenario", "strategy", "n_queues", "n_clients", "idle", "unowned", "double_owned",
    "min_load", "mean_load", "max_load", "skew", "moved", "least_moves", "clients_affected", "cross_room", "err_code",
    "err_msg",
]  # fmt: skip
GROUPS = [
    "scenario", "consumer_group", "n_topics", "n_queues", "n_clients", "idle", "unowned", "double_owned", "min_load",
    "mean_load", "max_load", "skew", "moved", "least_moves", "clients_affected", "cross_room", "backlog_moved",
    "clients_gaining", "clients_losing",
]  # fmt: skip
CLIENTS = [
    "scenario", "consumer_group", "topic", "client_id", "host", "machine_room", "before", "after", "gained", "lost",
    "status",
]  # fmt: skip
QUEUES = [
    "scenario", "consumer_group", "topic", "broker_name", "queue_id", "owner_before", "others_before", "owner_after",
    "others_after", "change", "lag",
]  # fmt: skip
TABLES = {"units": UNITS, "groups": GROUPS, "clients": CLIENTS, "queues": QUEUES}
"""Columns of the tables."""

TEXTS = {
    "broker_name", "change", "client_id", "consumer_group", "err_msg", "host", "machine_room", "owner_after",
    "owner_before", "scenario", "status", "strategy", "topic",
}  # fmt: skip
"""Columns of text, which are written as their distinct words and a word's place for every row."""


NAMES = (str, [str])
CHANGE = {
    "remove_clients?": {"ids?": NAMES, "pattern?": NAMES, "count?": int, "machine_room?": str, "which?": str},
    "add_clients?": {"ids?": NAMES, "count?": int, "name?": str, "machine_room?": str},
    "scale_clients?": {"to": int, "name?": str, "machine_room?": str},
    "set_strategy?": {"strategy": str, "params?": {"*": object}},
    "set_virtual_nodes?": {"virtual_nodes": int},
    "set_queues?": {"read_queue_nums": int, "brokers?": NAMES, "topics?": NAMES},
    "remove_broker?": {"brokers": NAMES},
    "add_broker?": {"broker_name": str, "read_queue_nums": int, "machine_room?": str},
    "lose_machine_room?": {"machine_room": str, "what?": str},
}
"""Fields of every change; a question mark stands behind those that may be left out."""

GATES = {"max_moved": float, "max_moved_share": float, "max_skew": float, "fail_if_worse": bool}
"""Gates that the checker knows; others it does not hold a plan to."""

_BY_TIME = "it is about the time until all clients follow, which is not in the file"
OPEN_GATES = dict.fromkeys(("max_unowned", "max_double", "max_unowned_seconds", "informed_by"), _BY_TIME)
"""Gates that a plan's file does not prove, and why."""

_NONE, _ANY, _ROUTE = type(None), {"*": object}, [[str, int, (str, type(None))]]
_VIEW = {"acting": [int], "joining?": bool, "clients?": [str], "route?": _ROUTE, "strategy?": str, "params?": _ANY,
         "dialect?": str}  # fmt: skip
_VIEWS = {"views": [_VIEW], "lists": int, "subscribed": [int], "reported?": [[str, int, [int]]]}
_GROUP = {"name": str, "topics": [str], "clients": [str], "rooms?": [(str, _NONE)], "strategy": str, "params?": _ANY,
          "dialect?": str, "shared?": {"*": {"name": str, "pop_share_queue_num?": int}},
          "lags?": {"*": {"*": [(int, _NONE)]}}, "views?": {"*": _VIEWS}}  # fmt: skip
FORM = {
    "apiVersion": str, "kind": str, "toolVersion": str, "inputDigest": str, "snapshotTime?": str, "warnings": [str],
    "scenarios": [{"name": str, "changes": [CHANGE], "groups?": NAMES, "topics?": NAMES}],
    "gates?": {**{f"{name}?": kind for name, kind in GATES.items()}, "*": object},
    "inputs": {"topics": {"*": _ROUTE}, "groups": [_GROUP]},
    "undo": {"*": [{"groups": [str], "topics?": [str], "changes?": [CHANGE], "reason?": str}]},
    "tables": {"*": _ANY}, "digest": str, "signature?": str,
}  # fmt: skip
_LEFT_OUT = {"which": "last", "name": "what-if-{n}", "what": "both", "groups": "*", "topics": "*", "brokers": "*",
             "joining": False, "fail_if_worse": False}  # fmt: skip
"""Fields that are not written where they have these values."""


def text_of(data: Any) -> str:
    """The JSON text of data: in it 0 differs from 0.0, 1 from true, and the order of keys shows."""
    return json.dumps(data, separators=(",", ":"))


def read(text: str) -> dict[str, Any]:
    """The document; ValueError if it does not have the form that rmqalloc writes."""

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(found)) < len(found):
            raise ValueError(f"key {Counter(key for key, _ in found).most_common(1)[0][0]!r} is given twice")
        return dict(found)

    data: Any = json.loads(text, object_pairs_hook=pairs)
    if not isinstance(data, dict) or (data.get("apiVersion"), data.get("kind")) != (VERSION, "Plan"):
        raise ValueError(
            f"it is no plan of {VERSION}; plans of earlier versions do not hold their inputs, so plan anew"
        )
    _check(data, FORM, "plan")
    last = ["inputs", "undo", "tables", "signature", "digest"]
    if list(data) != sorted(data.keys() - {*last}) + [name for name in last if name in data]:
        raise ValueError("its fields are not in the order in which rmqalloc writes them")
    if not re.fullmatch(
        "[0-9a-f]{64} (hmac-sha256:[0-9a-f]{64})?", f"{data['inputDigest']} {data.get('signature', '')}"
    ):
        raise ValueError("inputDigest or signature is no such thing")
    return data


def _check(data: Any, form: Any, where: str) -> None:
    """Raise unless data have a form: a type, a tuple of forms to choose from, a list of one form or of one each, a mapping."""
    if isinstance(form, tuple):
        if form is NAMES and isinstance(data, list) and len(data) < 2:
            raise ValueError(f"{where} is a list of fewer than two; one text stands alone")
        form = next((one for one in form if type(data) is _type(one)), form[0])
    if form is not object and type(data) is not _type(form):
        raise ValueError(f"{where} must be {_type(form).__name__}, got {text_of(data)[:60]}")
    if isinstance(form, list):
        if len(form) not in (1, len(data)):
            raise ValueError(f"{where} must have {len(form)} items, got {len(data)}")
        for i, one in enumerate(data):
            _check(one, form[i % len(form)], f"{where}[{i}]")
    elif isinstance(form, dict):
        if missing := [key for key in form if not key.endswith(("?", "*")) and key not in data]:
            raise ValueError(f"{where} lacks {missing[0]}")
        for key, one in data.items():
            inner = form.get(key, form.get(f"{key}?", form.get("*")))
            if inner is None or (f"{key}?" in form and type(one) is type(_LEFT_OUT.get(key)) and one == _LEFT_OUT[key]):
                raise ValueError(
                    f"{where} has a key {key!r} that no plan has" + ("" if inner is None else " with this value")
                )
            _check(one, inner, f"{where}.{key}")


def _type(form: Any) -> type:
    return form if isinstance(form, type) else type(form)
