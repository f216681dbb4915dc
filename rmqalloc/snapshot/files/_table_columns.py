"""Columns of the long table: a row says something of a topic's broker, a group, a client, or a
queue, or of several at once.

The filled cells show which it is; every other column belongs to one of these and repeats it
wherever it is given. ``unknown`` (JSON, reasons by kind of fact) is of the group, without one of
the topic. A table without the column ``client_id`` says of no group which clients it has.

===================================================  ==========================================================
filled                                               the row says that
===================================================  ==========================================================
``unknown`` alone                                    this is not known of the cluster
``topic``, ``broker_name``                           the broker has ``read_queue_nums`` queues of the topic
``consumer_group``                                   there is such a group, with its settings
``consumer_group``, ``topic``                        it subscribes to the topic
``consumer_group``, ``client_id``                    it has such a client; one row, one client
``consumer_group``, ``topic``, ``client_id``         this client says that it subscribes to the topic
``topic``, ``broker_name``, ``queue_id``             there is such a queue
... and ``consumer_group``                           how far the group is there: ``lag``, or both offsets
... and ``consumer_group``, ``client_id``            the client owns the queue
===================================================  ==========================================================
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from rmqalloc.documents import known_names
from rmqalloc.snapshot.plain_data import SnapshotError
from rmqalloc.text import printable, shortened

Row = dict[str, Any]
"""Filled cells of one row."""

KEYS: dict[str, type] = {
    "consumer_group": str,
    "topic": str,
    "broker_name": str,
    "queue_id": int,
    "client_id": str,
}
OF_QUEUE: dict[str, type] = {
    "lag": int,
    "broker_offset": int,
    "consumer_offset": int,
    "last_timestamp": int,
}
OF_BROKER: dict[str, type] = {
    "read_queue_nums": int,
    "write_queue_nums": int,
    "perm": int,
    "broker_room": str,
}
OF_CLIENT: dict[str, type] = {
    "client_room": str,
    "language": str,
    "version": str,
    "client_strategy": str,
    "client_virtual_nodes": int,
    "owned_queues": int,
}
OF_GROUP: dict[str, type] = {
    "message_model": str,
    "strategy": str,
    "virtual_nodes": int,
    "strategy_params": str,
    "strategy_source": str,
    "strategy_explains": float,
    "strategy_doubt": str,
    "is_shared": bool,
    "is_ordered": bool,
    "server_assignment": str,
    "pop_share_queue_num": int,
    "consume_tps": float,
}
OF_ANY: dict[str, type] = {"unknown": str}
COLUMNS: dict[str, type] = {**KEYS, **OF_QUEUE, **OF_BROKER, **OF_CLIENT, **OF_GROUP, **OF_ANY}

_OTHER_NAMES = {
    "group": "consumer_group",
    "broker": "broker_name",
    "queue": "queue_id",
    "qid": "queue_id",
    "client": "client_id",
    "room": "client_room",
    "machine_room": "client_room",
    "diff": "lag",
}


def column_names(header: Iterable[str]) -> list[str]:
    """Return the columns that a header names; blanks, dashes and capitals do not matter.

    Examples
    --------
    >>> column_names(["Group", "Topic", "brokerName", "Queue ID", ""])
    ['consumer_group', 'topic', 'broker_name', 'queue_id', '']
    """
    known = {_plain(name): name for name in COLUMNS} | {
        _plain(name): right for name, right in _OTHER_NAMES.items()
    }
    found: list[str] = []
    for given in header:
        name = known.get(_plain(given), "") if given.strip() else ""
        if given.strip() and not name:
            raise SnapshotError(
                f"column {shortened(printable(given), 80)} is not known; {known_names(given.strip(), COLUMNS)}"
            )
        if name and name in found:
            raise SnapshotError(
                f"column {name} is there twice, the second time as {printable(given)}"
            )
        found.append(name)
    return found


def _plain(name: str) -> str:
    return re.sub(r"[\s_#-]+", "", name).lower()
