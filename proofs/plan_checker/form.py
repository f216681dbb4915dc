"""Columns of the tables of a plan, and the JSON text in which 0 differs from 0.0."""

from __future__ import annotations

import json
from typing import Any

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


def text_of(data: Any) -> str:
    """The JSON text of data: in it 0 differs from 0.0, and 1 from true."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"))
