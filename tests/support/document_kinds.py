"""Every kind of file that people write: how it is read, and texts of it with a key given twice.

A kind joins the tests of `test_documents` by being added to KINDS: how it is read, what its errors
are, a document that is right, and where in it text stands and where anything may be put.
"""

import json
import re
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from rmqalloc.documents import DocumentError
from rmqalloc.evidence import read_rooms
from rmqalloc.evidence.given_rooms import RoomsFileError
from rmqalloc.remoting.credentials import CredentialsError, read_credentials
from rmqalloc.scenarios import ScenarioError, read_scenarios
from rmqalloc.simulation import read_script
from rmqalloc.snapshot.files import read_snapshot
from rmqalloc.snapshot.plain_data import SnapshotError


@dataclass(frozen=True)
class Kind:
    """A kind of document.

    ``text`` is where text stands that `text_of` finds again in what was read; ``free`` where a test
    may put anything.
    """

    name: str
    read: Callable[[Any], Any]
    error: type[DocumentError]
    right: dict[str, Any]
    text: tuple[Any, ...]
    text_of: Callable[[Any], Any]
    free: tuple[Any, ...]

    def __str__(self) -> str:
        return self.name


SNAPSHOT = {
    "apiVersion": "rmqalloc/v1",
    "kind": "Snapshot",
    "topics": [{"name": "t", "brokers": [{"broker_name": "b", "read_queue_nums": 4, "perm": 6}]}],
    "groups": [
        {"name": "g", "subscriptions": ["t"], "strategy_params": {"a": 1}, "consume_tps": 1.5}
    ],
}
SCENARIOS = {
    "scenarios": [
        {"name": "s", "changes": [{"scale_clients": {"to": 3}}], "groups": ["g*"]},
        {
            "name": "ring",
            "changes": [
                {"set_strategy": {"strategy": "CONSISTENT_HASH", "params": {"virtual_nodes": 160}}}
            ],
        },
    ]
}
SIMULATION = {
    "duration": "60s",
    "name": "n",
    "brokers": ["a"],
    "topics": [{"name": "t", "read_queue_nums": 4}],
    "groups": [
        {
            "name": "g",
            "topics": "t",
            "clients": 2,
            "strategy": "CONSISTENT_HASH",
            "params": {"virtual_nodes": 3},
        }
    ],
    "events": [{"at": "10s", "crash": {"clients": ["g-0"]}}],
}
ROOMS = {"brokers": {"name": "az1"}, "clients": {"10.1.*": "az1", "10.2.*": "az2"}}
KEYS = {"accessKey": "rocketmq2", "secretKey": "s", "others": [{"a": 1}]}

KINDS = [
    Kind("snapshot", lambda path: read_snapshot(str(path)), SnapshotError, SNAPSHOT, ("groups", 0, "name"),
         lambda snapshot: snapshot.groups[0].name, ("groups", 0, "strategy_params", "a")),
    Kind("scenarios", read_scenarios, ScenarioError, SCENARIOS, ("scenarios", 0, "name"),
         lambda scenarios: scenarios[0].name, ("scenarios", 0, "changes", 0)),
    Kind("simulation", read_script, ScenarioError, SIMULATION, ("name",),
         lambda script: script.name, ("groups", 0, "params", "virtual_nodes")),
    Kind("rooms", read_rooms, RoomsFileError, ROOMS, ("brokers", "name"),
         lambda rooms: rooms.brokers[0].machine_room, ("clients",)),
    Kind("credentials", read_credentials, CredentialsError, KEYS, ("secretKey",),
         lambda credentials: credentials.secret_key, ("others",)),
]  # fmt: skip


def with_value(document, parts, value):
    """A document with another value at a place."""
    document = deepcopy(document)
    inner = document
    for part in parts[:-1]:
        inner = inner[part]
    inner[parts[-1]] = value
    return document


# --- Texts, with every key and where it begins known ---


class Twice:
    """A mapping with one of its keys given twice."""

    def __init__(self, mapping, key, value):
        self.pairs = [*mapping.items(), (key, value)]


SECOND = "\ue000second\ue000"  # stands before the second of two equal keys until its place is noted


def scalar(value, is_yaml):
    """As JSON has it; in YAML a float has a point, and a character beyond 16 bits one escape."""
    text = json.dumps(value)
    if is_yaml and isinstance(value, str):
        return re.sub(
            r"\\ud[89ab]..\\ud[c-f]..",
            lambda pair: "\\U{:08x}".format(ord(json.loads('"' + pair[0] + '"'))),
            text,
        )
    return (
        text.replace("e", ".0e")
        if is_yaml and isinstance(value, float) and "." not in text
        else text
    )


def flow(value, is_yaml=True):
    """One line for a list or mapping, but for the key that is given twice."""
    if isinstance(value, (dict, Twice)):
        pairs = value.pairs if isinstance(value, Twice) else value.items()
        shown = [f"{scalar(key, is_yaml)}: {flow(inner, is_yaml)}" for key, inner in pairs]
        if isinstance(value, Twice):
            shown[-1] = f"\n {SECOND}{shown[-1]}"
        return "{" + ", ".join(shown) + "}"
    return (
        "[" + ", ".join(flow(one, is_yaml) for one in value) + "]"
        if isinstance(value, list)
        else scalar(value, is_yaml)
    )


def block(value, indent=""):
    """YAML of the block style."""
    if isinstance(value, (dict, Twice)) and value != {}:
        pairs = value.pairs if isinstance(value, Twice) else list(value.items())
        lines = [f"{scalar(key, True)}:{block(inner, indent + '  ')}" for key, inner in pairs]
        lines[-1] = SECOND * isinstance(value, Twice) + lines[-1]
        return "".join(f"\n{indent}{line}" for line in lines)
    if isinstance(value, list) and value:
        return "".join(f"\n{indent}-{block(inner, indent + '  ')}" for inner in value)
    return f" {flow(value)}"


STYLES = {
    "json": (lambda value: flow(value, False), "json"),
    "flow": (flow, "yaml"),
    "block": (block, "yaml"),
}


def mappings(value, parts=()):
    """Places of all mappings that have a key."""
    if isinstance(value, dict) and value:
        yield parts
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for part, item in inner:
        yield from mappings(item, (*parts, part))


def at(document, parts):
    for part in parts:
        document = document[part]
    return document


def with_key_twice(document, parts, key, value):
    twice = Twice(at(document, parts), key, value)
    return with_value(document, parts, twice) if parts else twice


def marked(text):
    """A text without the mark, and line and column of what it stood before."""
    before, _, after = text.partition(SECOND)
    return before + after, before.count("\n") + 1, len(before) - before.rfind("\n")
