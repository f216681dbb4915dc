"""Tables of offsets that mqadmin prints beside consumerProgress.

getConsumerStatus shows the queues of one topic of which each client has an offset. A client takes a
queue into that table when it gets the queue, and removes it when it loses the queue, so a row says
who owns the queue. Its offset is the client's own position, not what the group committed, and is not
read. A client that does not answer has no row. Apache's mqadmin has the class of the command but does
not run it; rocketmq-rust does.

brokerConsumeStats shows offsets of all groups at one broker, and only of queues of which the group
consumed a message.
"""

from __future__ import annotations

import re
from sys import maxsize
from typing import NamedTuple

from rmqalloc.model import MessageQueue, host_of
from rmqalloc.snapshot.files.outputs._mqadmin_tables import Progress
from rmqalloc.snapshot.files.outputs._sections import Section
from rmqalloc.snapshot.snapshot import Lag
from rmqalloc.text import printable

_ASKED = re.compile(
    r"get consumer status from client\. group=(?P<group>[^,]*+), topic=(?P<topic>[^,]*+), originClientId=.*"
)
_ID_WIDTH = 50
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_ONLY_ANSWERS = (
    "getConsumerStatus has no row both for an unowned queue and for a client that did not answer"
)

_GROUP_ROW = re.compile(
    r"(?P<names>.*\S)\s+(?P<number>-?[0-9]{1,9})\s+(?P<end>-?[0-9]{1,18})\s+(?P<at>-?[0-9]{1,18})"
    r"\s+(?P<diff>-?[0-9]{1,18})\s+(?:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|-)\s*"
)
_TOTAL = "Diff Total:"
_ONE_BROKER = "brokerConsumeStats shows one broker, and no queue without consumed messages"


class ClientQueues(NamedTuple):
    """Output of getConsumerStatus."""

    group: str
    topic: str
    progress: Progress  # without offsets
    client_ids: tuple[str, ...]  # addresses, where ids are as long as their column
    shared: str | None  # which queues several clients have


def client_queues(section: Section) -> ClientQueues:
    """Return the output of getConsumerStatus.

    Raises
    ------
    DocumentError
        If a row is cut.
    """
    asked = _ASKED.fullmatch(section.lines[0].rstrip())
    if asked is None:
        raise section.error("the first line of getConsumerStatus is cut")
    owners: dict[MessageQueue, str] = {}
    lines: dict[MessageQueue, int] = {}
    client_ids: dict[str, None] = {}
    shared: dict[MessageQueue, str] = {}
    for offset, client_id, broker, number in _client_rows(section):
        name = client_id if len(client_id) < _ID_WIDTH else host_of(client_id)
        client_ids[name] = None
        queue = MessageQueue(asked["topic"], broker, number)
        if owners.setdefault(queue, name) != name:
            shared[queue] = section.place(offset)
        lines.setdefault(queue, offset)
    words = None
    if shared:
        queue, place = next(iter(shared.items()))
        words = (
            f"getConsumerStatus ({place}) shows queue {queue.queue_id} of {printable(queue.broker_name)} at a second client, "
            f"as {len(shared):,} of {len(owners):,} queues: clients broadcast, or a rebalance was under way"
        )
    alone = {queue: name for queue, name in owners.items() if queue not in shared}
    progress = Progress(
        section,
        [],
        [],
        alone,
        shows_owners=True,
        is_whole=not shared,
        consume_tps=None,
        topic_width=maxsize,
        broker_width=maxsize,
        command="getConsumerStatus",
        by_id=all(name != host_of(name) for name in client_ids),
        owner_lines=lines,
        in_part=_ONLY_ANSWERS,
    )
    return ClientQueues(asked["group"], asked["topic"], progress, tuple(client_ids), words)


class _ClientRow(NamedTuple):
    offset: int
    client_id: str
    broker_name: str
    queue_id: int


def _client_rows(section: Section) -> list[_ClientRow]:
    """Return rows of clients; they end where another line stands, which no row may follow."""
    found: list[_ClientRow] = []
    ended = None
    column = _ID_WIDTH + 2
    for offset, line in enumerate(section.lines[1:], 1):
        if line.startswith("#clientId"):
            column = _column(section, offset, "#brokerName")
            section.n_read = offset + 1
            continue
        row = _client_row(offset, line, column)
        if row is None:
            ended = offset if ended is None and line.strip() else ended
            continue
        if ended is not None:
            raise section.error("a row of getConsumerStatus is cut or folded", ended)
        found.append(row)
        section.n_read = offset + 1
    if section.n_read is None:
        raise section.error("the output of getConsumerStatus is cut: its head is missing")
    return found


def _client_row(offset: int, line: str, column: int) -> _ClientRow | None:
    """Return a row: an id that is longer than its column ends at the last blank before a broker."""
    cells = line.rsplit(maxsplit=2)
    if len(cells) != 3 or not all(map(_WHOLE.fullmatch, cells[1:])):
        return None
    names = cells[0]
    client_id, broker = names[:column], names[column:]
    if not client_id.endswith("  "):
        client_id, _, broker = names.rpartition(" ")
    if not client_id.strip() or not broker.strip():
        return None
    return _ClientRow(offset, client_id.strip(), broker.strip(), int(cells[1]))


def _column(section: Section, offset: int, name: str) -> int:
    """Return where a column starts by the head in that line."""
    found = section.lines[offset].find(name)
    if found < 0:
        raise section.error(f"the head has no column {name}", offset)
    return found


def offsets_of_groups(section: Section) -> dict[str, Progress]:
    """Return the output of brokerConsumeStats: offsets by group.

    Raises
    ------
    DocumentError
        If a row is cut.
    """
    topic_width = _column(section, 0, "#Group") - 2
    broker_width = _column(section, 0, "#QID") - _column(section, 0, "#Broker Name") - 2
    lags: dict[str, list[Lag]] = {}
    offsets: dict[str, list[int]] = {}
    section.n_read = 1
    for offset, line in enumerate(section.lines[1:], 1):
        if line.startswith(_TOTAL):
            section.n_read = offset + 1
            break
        if not line.strip():
            continue
        group, lag = _group_row(section, offset, topic_width)
        lags.setdefault(group, []).append(lag)
        offsets.setdefault(group, []).append(offset)
        section.n_read = offset + 1
    return {
        group: Progress(
            section,
            lags[group],
            offsets[group],
            {},
            shows_owners=False,
            is_whole=True,
            consume_tps=None,
            topic_width=topic_width,
            broker_width=broker_width,
            command="brokerConsumeStats",
            in_part=_ONE_BROKER,
        )
        for group in lags
    }


def _group_row(section: Section, offset: int, topic_width: int) -> tuple[str, Lag]:
    """Return the group and the offsets of a row; only the name of a group may stick out."""
    row = _GROUP_ROW.fullmatch(section.lines[offset])
    topic = row["names"][:topic_width].rstrip() if row else ""
    names = row["names"][topic_width:].split(maxsplit=1) if row else []
    if row is None or not topic or len(names) != 2:
        raise section.error(
            "a row of brokerConsumeStats is cut, or is mixed with other text", offset
        )
    end, at, diff = (int(row[name]) for name in ("end", "at", "diff"))
    if diff != end - at:
        raise section.error(
            f"a row of brokerConsumeStats is cut or changed: its Diff is {diff:,}, its offsets differ by {end - at:,}",
            offset,
        )
    return names[0], Lag(MessageQueue(topic, names[1], int(row["number"])), end, at)
