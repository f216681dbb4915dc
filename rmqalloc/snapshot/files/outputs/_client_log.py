"""What a Java client logs of its queues, in a log of any application: `events`.

A client prints a line when a rebalance changes what it owns of a topic: its strategy, group, topic
and client id, how many queues it divided among how many clients, and which it got. Lines around it
name queues that were added, removed or not had, and the group, but not the client. The text before a
message (time, level, thread) is what the pattern of the log makes it.

Statements of ``RebalanceImpl``, ``MQClientInstance`` and the consumers from 3.2.6 on; `STATEMENTS`
has them by release. Messages are found by their first words and read from left to right, so the time
is linear in the size of the text, and nothing of it is kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from heapq import merge
from pathlib import PurePath
from sys import intern
from typing import NamedTuple

from rmqalloc.model import MessageQueue
from rmqalloc.snapshot.files.outputs._formats import LAST


class Result(NamedTuple):
    """What a client owns of a topic after a rebalance that changed it."""

    strategy: str  # Java's getName()
    group: str
    topic: str
    client_id: str  # these are empty where the line is cut before them
    n_queues: int | None = None  # queues that were divided, and clients; brokers print neither
    n_clients: int | None = None
    n_given: int | None = None  # how many queues the line says that it names
    queues: tuple[MessageQueue, ...] | None = None  # None if not printed, or cut
    popped: tuple[MessageQueue, ...] = ()
    is_served: bool = False  # whether a broker assigned them
    cut: str | None = None  # why the line is not whole


class Divided(NamedTuple):
    """What a client of 3.2.6 divides, which it prints above a result."""

    group: str
    topic: str
    queues: tuple[MessageQueue, ...] | None
    client_ids: tuple[str, ...] | None


class QueueChange(NamedTuple):
    """A queue that some client of the group added, removed, or could not add."""

    group: str
    queue: MessageQueue
    change: str


ADDED, REMOVED, FAILED = "added", "removed", "failed"


class Absent(NamedTuple):
    """A topic that a client of the group subscribes to, and which has no route."""

    group: str
    topic: str


class ListFailed(NamedTuple):
    """A rebalance that was left out: no broker gave the list of clients."""

    group: str
    topic: str


class Ordered(NamedTuple):
    """A client of the group locks its queues."""

    group: str


class ConsumerState(NamedTuple):
    """A consumer of the group started, or was shut down."""

    group: str
    is_end: bool


class ClientState(NamedTuple):
    """A client was created, or was shut down with all its consumers."""

    client_id: str
    is_end: bool
    version: str | None = None  # as Java names releases
    is_first: bool = False  # the first of its process


Fact = Result | Divided | QueueChange | Absent | ListFailed | Ordered | ConsumerState | ClientState


class Event(NamedTuple):
    """A fact with its line, from 1, and its time in seconds of the Unix clock, where it has one."""

    line: int
    at: float | None
    fact: Fact


class Statement(NamedTuple):
    """A message of Java's clients: its first words, the releases that print it, what it says."""

    words: str
    since: str
    until: str
    says: str


STATEMENTS = (
    Statement("rebalanced result changed.", "3.2.6", LAST, "what a client owns of a topic; since 5.0.0 by whom"),
    Statement("rebalanced allocate source.", "3.2.6", "3.2.6", "all queues of the topic and all clients of the group"),
    Statement("doRebalance, ", "3.2.6", LAST, "a queue was added, removed, not had; no route; no list of clients"),
    Statement("Fix Offset, ", "3.2.6", LAST, "a queue was removed while its offset is reset"),
    Statement("message queue lock", "3.2.6", LAST, "the group consumes in order"),
    Statement("the consumer [", "3.2.6", LAST, "a consumer of the group started or was shut down"),
    Statement("the client factory [", "3.2.6", LAST, "a client started or was shut down"),
    Statement("reated a new client Instance", "3.2.6", LAST, "client id and release; since 4.9.0 with ClientID"),
)  # fmt: skip
"""Messages that are read. 3.2.6 prints a number where the queues of a result should be."""

_MARK = "rebalanced result changed. allocateMessageQueueStrategyName="
_CLIENTS_OWN = ("doRebalance, ", "the client factory [", "reated a new client Instance, ")
"""First words that nothing but a client logs."""
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")

_STRATEGY, _GROUP, _TOPIC = " allocateMessageQueueStrategyName=", ", group=", ", topic="
_CLIENT = re.compile(r", (?:clientId|ConsumerId)=")
_BY_CLIENT = re.compile(
    r", mqAllSize=(\d{1,9}), cidAllSize=(\d{1,9}), rebalanceResultSize=(\d{1,9}), rebalanceResultSet=(?=\[)"
)
_BY_BROKER = re.compile(r", assignmentSet=(?=\[)")
_IN_3_2_6 = re.compile(r", rebalanceSize=(\d{1,9}), rebalanceMqSet=(\d{1,9})(?!\d)")
_SIZES = re.compile(r", mqAllSize=(\d{1,9}), cidAllSize=(\d{1,9}), mqAll=(?=\[)")
_ALL_CLIENTS = ", cidAll=["

_QUEUE = "MessageQueue [topic="
_ASSIGNED = f"MessageQueueAssignment [MessageQueue={_QUEUE}"
_QUEUES_END = re.compile(r", queueId=-?\d{1,10}\]\]")
_ASSIGNED_END = re.compile(r", queueId=-?\d{1,10}\], Mode=[A-Za-z]+\]\]")
_QUEUE_END = re.compile(r", queueId=(-?\d{1,10})\]")
_QUEUE_ID = re.compile(r"-?\d{1,10}")

_CHANGES = {
    "truncateMessageQueueNotMyTopic remove unnecessary mq, ": REMOVED,
    "truncateMessageQueueNotMyTopic remove unnecessary pop mq, ": REMOVED,
    "remove unnecessary mq, ": REMOVED,
    "remove unnecessary pop mq, ": REMOVED,
    "add a new mq, ": ADDED,
    "add a new pop mq, ": ADDED,
    "mq already exists, ": ADDED,
    "mq pop already exists, ": ADDED,
    "add a new mq failed, ": FAILED,  # of an ordered consumer, whose lock another one has
    "add new mq failed, ": FAILED,
    "compute offset failed, ": FAILED,
}
_CHANGE = re.compile(f", ({'|'.join(map(re.escape, _CHANGES))})(?={re.escape(_QUEUE)})")
_NO_ROUTE = re.compile(r"([^\n]{1,400}?), but the topic\[([^]\n]{1,400})\] not exist\.")
_NO_LIST = re.compile(r"([^\n]{1,400}) (\S{1,400}), get consumer id list failed")
_LOCKED = re.compile(r"(?:ed)? (?:OK|Failed), (?:Group: )?(.*) MessageQueue \[topic=")
_STARTED = re.compile(r"(.*)\] (start|shutdown) OK")
_CREATED = re.compile(
    r", (?:InstanceIndex:|FactoryIndex: )(\d+),? Cli(?:entID:|netID: )(.*?)"
    r"(?:, ClientConfig:| )ClientConfig ?[{[]"
)
_VERSION = re.compile(r"(?:ClientVersion:|\] )(V\d_\w+)")

_CLOCK = r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?:[.,:](?P<fraction>\d{1,9}))?"
_ZONE = r"(?: ?(?P<zone>Z\b|(?:UTC|GMT)?[+-]\d\d:?\d\d\b|(?:UTC|GMT)\b))?"
_TIMES = (
    re.compile(rf"(?P<year>\d{{4}})[-/.](?P<month>\d\d)[-/.](?P<day>\d\d)(?:T| ){_CLOCK}{_ZONE}"),
    re.compile(
        rf"(?P<day>\d\d)[-/](?P<name>[A-Z][a-z][a-z])[-/](?P<year>\d{{4}})[ :]{_CLOCK}{_ZONE}"
    ),
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_IN_CHINA = timezone(timedelta(hours=8))
_OWN_PATTERN = re.compile(
    r"\d{4}-\d\d-\d\d [\d:]{8}\.\d{3} [A-Z]{4,5} +\[\d+\] \[.*\] \[\S+#\S+:(?:\d+|\?)\] - "
)
_OWN_OLD_PATTERN = re.compile(r"\d{4}-\d\d-\d\d [\d:]{8} [A-Z]{4,5} \S+ - ")
_MOST_BEFORE = 4000


def has_results(text: str) -> bool:
    """Return whether a text has what a Java client logs of a rebalance that changed something.

    Examples
    --------
    >>> has_results("INFO RebalanceService - rebalanced result changed. allocateMessageQueueStrategyName=AVG, group=g")
    True
    """
    return _MARK in text


def is_part_of_log(text: str) -> bool:
    """Return whether a text has what clients alone log, be it no result."""
    return any(words in text for words in _CLIENTS_OWN)


def has_statement(line: str) -> bool:
    """Return whether a line has a message that is read."""
    return any(statement.words in line for statement in STATEMENTS)


def events(text: str, path: str = "") -> Iterator[Event]:
    """Yield what clients log, in the order of the lines.

    Parameters
    ----------
    text : str
    path : str
        Of the file: a log that RocketMQ's own configuration names has the times of that
        configuration.

    Notes
    -----
    A time without a zone is local time of this machine. RocketMQ's own patterns for logback print
    China's time (``GMT+8``) wherever they run: that of 5.1 and later is known by its shape, that of
    4.2 and earlier by its shape in a file that is named ``rocketmq_client``.

    Examples
    --------
    >>> line = "doRebalance, g, add a new mq, MessageQueue [topic=orders, brokerName=a, queueId=3]"
    >>> [event] = events(f"2026-01-01 00:00:00,250+00:00 INFO - {line}")
    >>> event.at, event.fact.queue, event.fact.change
    (1767225600.25, MessageQueue(topic='orders', broker_name='a', queue_id=3), 'added')
    """
    is_own = is_own_name(path)
    for message in _messages(text):
        fact = _READERS[message.words](message.text)
        if fact is not None:
            at = time_of(message.before, is_own)
            if at is None and message.after:
                at = time_of(message.after, False)
            yield Event(message.line, at, fact)


def is_own_name(path: str) -> bool:
    """Return whether a file is named as RocketMQ's own configuration names it."""
    return PurePath(path).name.startswith("rocketmq_client")


class _Message(NamedTuple):
    """A message behind its first words, and what else its line has."""

    line: int
    words: str
    text: str
    before: str
    after: str  # the same as the text, for a time in it may be that of the line: logs of JSON


def _messages(text: str) -> Iterator[_Message]:
    """Yield messages that begin with words of a statement; a line may have several."""
    found = merge(*(_found(text, statement.words) for statement in STATEMENTS))
    number, begin, at = 1, 0, 0  # of the line, and how far the text is read
    position = next(found, None)
    while position is not None:
        following = next(found, None)
        number += text.count("\n", at, position[0])
        begin = max(begin, text.rfind("\n", at, position[0]) + 1)
        first = position[0] + len(position[1])
        until = len(text) if following is None else following[0]
        end = text.find("\n", first, until)
        content = text[first : until if end < 0 else end].rstrip("\r")
        before = text[max(begin, at, position[0] - _MOST_BEFORE) : position[0]]
        yield _Message(number, position[1], content, before, content)
        at, position = position[0], following


def _found(text: str, words: str) -> Iterator[tuple[int, str]]:
    at = text.find(words)
    while at >= 0:
        yield at, words
        at = text.find(words, at + len(words))


# Messages, each without its first words.


def _result(text: str) -> Result | None:
    if not (text.startswith(_STRATEGY) or _STRATEGY.startswith(text)):
        return None  # a command that looks for such lines, or a line of another language's client
    strategy, group, topic, rest = _head(text)
    found = _CLIENT.match(rest)
    if found is None or strategy is None or group is None or topic is None:
        return Result(
            strategy or "", group or "", topic or "", "", cut="it ends before its client id"
        )
    rest = rest[found.end() :]
    head = strategy, group, topic
    if sizes := _BY_CLIENT.search(rest):
        n_queues, n_clients, n_given = map(int, sizes.groups())
        result = Result(*head, intern(rest[: sizes.start()]), n_queues, n_clients, n_given)
        queues = _queues(rest[sizes.end() :])
        if queues is None or len(queues) != n_given:
            named = "" if queues is None else f", and {len(queues)} are named"
            return result._replace(cut=f"rebalanceResultSize is {n_given}{named}")
        return result._replace(queues=queues)
    if assigned := _BY_BROKER.search(rest):
        result = Result(*head, intern(rest[: assigned.start()]), is_served=True)
        modes = _assignments(rest[assigned.end() :])
        if modes is None:
            return result._replace(cut="its assignmentSet has no end")
        popped = tuple(queue for queue, mode in modes if mode == "POP")
        queues = tuple(queue for queue, mode in modes if mode != "POP")
        return result._replace(queues=queues, popped=popped, n_given=len(modes))
    if old := _IN_3_2_6.search(rest):
        n_given, n_queues = map(int, old.groups())
        return Result(*head, intern(rest[: old.start()]), n_queues, n_given=n_given)
    sizes_at = rest.find(", mqAllSize=")
    client_id = rest[:sizes_at] if sizes_at >= 0 else ""
    return Result(*head, client_id, cut="it ends before its queues")


def _head(text: str) -> tuple[str | None, str | None, str | None, str]:
    """Return strategy, group, topic, and the rest from the client id on."""
    before, found, rest = text.partition(_STRATEGY)
    if before or not found:
        return None, None, None, ""
    strategy, found, rest = rest.partition(_GROUP)
    group, found_topic, rest = rest.partition(_TOPIC)
    if not found or not found_topic:
        return intern(strategy) if found else None, None, None, ""
    client = _CLIENT.search(rest)
    if client is None:
        sizes = rest.find(", mqAllSize=")
        if sizes < 0:
            return intern(strategy), intern(group), None, ""
        return intern(strategy), intern(group), intern(rest[:sizes]), rest[sizes:]
    return intern(strategy), intern(group), intern(rest[: client.start()]), rest[client.start() :]


def _divided(text: str) -> Divided | None:
    _, group, topic, rest = _head(text)
    sizes = _SIZES.match(rest)
    if group is None or topic is None or sizes is None:
        return None
    n_queues, n_clients = map(int, sizes.groups())
    all_queues, found, clients = rest[sizes.end() :].partition(_ALL_CLIENTS)
    queues = _queues(all_queues)
    names = tuple(clients[: clients.rfind("]")].split(", ")) if "]" in clients else ()
    return Divided(
        group,
        topic,
        queues if queues is not None and len(queues) == n_queues else None,
        names if found and len(names) == n_clients else None,
    )


def _queue_change(text: str) -> Fact | None:
    if found := _CHANGE.search(text):
        queue = _queue(text[found.end() :])
        if queue is None:
            return None
        return QueueChange(intern(text[: found.start()]), queue, _CHANGES[found[1]])
    if found := _NO_ROUTE.match(text):
        return Absent(intern(found[1]), intern(found[2]))
    if found := _NO_LIST.match(text):
        return ListFailed(intern(found[1]), intern(found[2]))
    return None


def _lock(text: str) -> Ordered | None:
    found = _LOCKED.match(text)
    return Ordered(intern(found[1])) if found else None


def _consumer(text: str) -> ConsumerState | None:
    found = _STARTED.match(text)
    return ConsumerState(intern(found[1]), found[2] == "shutdown") if found else None


def _factory(text: str) -> ClientState | None:
    found = _STARTED.match(text)
    return ClientState(intern(found[1]), found[2] == "shutdown") if found else None


def _created(text: str) -> ClientState | None:
    found = _CREATED.match(text)
    if found is None:
        return None
    version = _VERSION.search(text)
    return ClientState(intern(found[2]), False, version and version[1], int(found[1]) == 0)


_READERS: dict[str, Callable[[str], Fact | None]] = {
    "rebalanced result changed.": _result,
    "rebalanced allocate source.": _divided,
    "doRebalance, ": _queue_change,
    "Fix Offset, ": _queue_change,
    "message queue lock": _lock,
    "the consumer [": _consumer,
    "the client factory [": _factory,
    "reated a new client Instance": _created,
}


# Queues as Java prints them. Names may have blanks and brackets; what ends them is what follows.


def _queue(text: str) -> MessageQueue | None:
    end = _QUEUE_END.search(text)
    if end is None or not text.startswith(_QUEUE):
        return None
    return _parts(text[len(_QUEUE) : end.end() - 1])


def _parts(text: str) -> MessageQueue | None:
    """Return a queue of its topic, broker and number."""
    names, _, number = text.rpartition(", queueId=")
    topic, found, broker = names.partition(", brokerName=")
    if not found or not _QUEUE_ID.fullmatch(number):
        return None
    return MessageQueue(intern(topic), intern(broker), int(number))


def _queues(text: str) -> tuple[MessageQueue, ...] | None:
    """Return the queues of a set that a text begins with; None if it has no end."""
    if text.startswith("[]"):
        return ()
    end = _QUEUES_END.search(text)
    if end is None or not text.startswith(f"[{_QUEUE}"):
        return None
    pieces = text[1 + len(_QUEUE) : end.end() - 2].split(f"], {_QUEUE}")
    queues = [queue for piece in pieces if (queue := _parts(piece)) is not None]
    return tuple(queues) if len(queues) == len(pieces) else None


def _assignments(text: str) -> list[tuple[MessageQueue, str]] | None:
    """Return the queues of a set of assignments, with their modes; None if it has no end."""
    if text.startswith("[]"):
        return []
    end = _ASSIGNED_END.search(text)
    if end is None or not text.startswith(f"[{_ASSIGNED}"):
        return None
    found = []
    for piece in text[1 + len(_ASSIGNED) : end.end() - 2].split(f"], {_ASSIGNED}"):
        name, _, mode = piece.rpartition("], Mode=")
        queue = _parts(name)
        if queue is None:
            return None
        found.append((queue, mode))
    return found


# Times


def time_of(text: str, is_own: bool = False) -> float | None:
    """Return the time in a text: one with a zone, else the first."""
    if "\x1b" in text:
        text = _COLOURS.sub("", text)
    found = [match for pattern in _TIMES for match in pattern.finditer(text)]
    if not found:
        return None
    time = next((match for match in found if match["zone"]), found[0])
    zone = _zone(time["zone"])
    if zone is None and (_OWN_PATTERN.match(text) or (is_own and _OWN_OLD_PATTERN.match(text))):
        zone = _IN_CHINA
    parts = time.groupdict()
    try:
        month = _MONTHS.index(parts["name"]) + 1 if parts.get("name") else int(parts["month"])
        micros = int(((time["fraction"] or "") + "000000")[:6])
        clock = int(time["hour"]), int(time["minute"]), int(time["second"]), micros
        return datetime(int(time["year"]), month, int(time["day"]), *clock, zone).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _zone(text: str | None) -> timezone | None:
    if text is None:
        return None
    digits = text.removeprefix("UTC").removeprefix("GMT").replace(":", "")
    if digits in ("", "Z"):
        return UTC
    offset = timedelta(hours=int(digits[1:3]), minutes=int(digits[3:5]))
    return timezone(-offset if digits[0] == "-" else offset)
