"""What each output of mqadmin says, in every form of `FORMATS`.

Names may have blanks. Java pads a column with blanks to its width, prints one blank or two, and
lets what is longer stick out, so a row is read by what cannot be part of a name: the shape of the
columns behind it, or the width of those that are cut. Blanks that a name ends with (of a client's
own queues also those that a broker's name begins with) look like padding and are lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter
from typing import Any, NamedTuple

from rmqalloc.model import RETRY_PREFIX, MessageQueue
from rmqalloc.remoting import loose_json
from rmqalloc.snapshot.files.outputs._formats import FAILURE
from rmqalloc.snapshot.files.outputs._sections import Section
from rmqalloc.snapshot.live import _answers as answers
from rmqalloc.snapshot.live._answers import ClientConnection, RunningInfo
from rmqalloc.snapshot.snapshot import Lag, Topic, TopicBroker
from rmqalloc.text import printable, shortened

NOT_KNOWN = ("N/A", "NA")

_ROUTE = re.compile(
    r"(?P<names>.*) \{(?P<addresses>[^{}]*)\}\s+(?P<read>\d+)\s+(?P<write>\d+)\s+(?P<perm>\d+)\s*"
)
_TWO_NAMES = re.compile(r"\S*\s+(?P<broker>\S+)\s*")
_CONNECTION = re.compile(r"(?P<id>.*[^ ]) +[^ ]+:\d+ +(?P<language>[A-Z_]+) +(?P<version>[^ ]+) *")
_NUMBER = re.compile(r"\d{3,}[ \t]+")
_TOPIC_HEAD = ["#Topic", "#SubExpression"]
_BELOW = "Below is subscription:"
_NUMBERED_TOPIC = re.compile(r"(?P<number>\d{3,9})\s+Topic: (?P<topic>\S+)\s")
_FROM_WHERE = re.compile(r"^ConsumeFromWhere:.*")
_COUNT = re.compile(r"\d{1,18}")
_TOTAL = re.compile(r"(?:Consume )?(?P<name>Diff|Inflight) Total: *(?P<total>-?\d{1,18}) *")
_ANALYSIS = re.compile(
    r"(?:Same|Different) subscription in the same group|Rebalance\b|WARN\b"
    r"|.* (?:subscription|process queue|can't consume for a while|can't lock for a while)\b",
    re.IGNORECASE,
)
_MOST_MISSING = 100
_FIRST_NUMBER = re.compile(r"\d++ ++")
_BEHIND_ID = re.compile(r"(?<=[^ ])(?= ++(?P<version>[^ ]++) ++\d++/(?P<lead> *+))")
_INDEX = re.compile(r"(\d{1,9}) ")
_DETAIL = re.compile(
    r"(?P<topic>\S++) ++(?P<broker>.*[^ ]) ++(?P<number>-?\d+) +(?:Pop)?ProcessQueueInfo\b"
)
_NUMBERS = ("QID", "Broker Offset", "Consumer Offset", "Diff", "Inflight")
_LAST_TIME = r"(N/A|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|)"
_PROGRESS = {"Topic", "Broker Name", "QID", "Broker Offset", "Consumer Offset", "Diff"}
_LISTED_GROUP = re.compile(
    r"(?P<name>.*\S)\s+(?P<count>\d+)\s+(?P<version>\S+)\s+(?:(?:PULL|PUSH|POP)\s+)?(?:(?P<model>[A-Z]+)\s+)?"
    r"(?P<tps>-?\d+(?:\.\d{1,9})?)\s+(?P<diff>-?\d+)\s*"
)
_CODE = re.compile(r"CODE: *\d+ +DESC: .*")
_FAILED_COMMAND = re.compile(r"\b([A-Za-z]{1,40})SubCommand command failed")
_MOST_OF_A_TRACE = 200
_COMMA = re.compile(r"(?<=\d),(?=\d)")
_PROPERTY = re.compile(r"(\S+)\s*: (.*\S) *")
_SUBSCRIPTION = re.compile(r"(\d{1,9}) Topic: (\S+)\s")
_TITLE = re.compile(r"#(\w[\w &]*)#")
_DROPPED = re.compile(r"\bdroped[=:] *true\b")
_STATE = re.compile(r"\bdroped[=:] *(?:true|false)\b")
_QUEUE_FIELDS = ("topic", "brokerName", "queueId")
_NO_ALLOCATION = "not JSON of allocateMQ: result must hold lists of topic, brokerName and queueId"


class Progress(NamedTuple):
    """Output of consumerProgress."""

    section: Section
    lags: list[Lag]
    offsets: list[int]  # in which line of the section each of them stands
    # address of one client that has the queue; empty if the output has no such column
    owners: dict[MessageQueue, str]
    shows_owners: bool  # whether the output has the column
    # whether there is no queue, retry topics aside, of which no client is shown though the output
    # has the column
    is_whole: bool
    consume_tps: float | None  # None if it is not printed
    topic_width: int  # length that names were cut to
    broker_width: int
    # how the rows and a total that is printed below them differ
    wrong_total: str | None = None
    command: str = "consumerProgress"
    by_id: bool = False  # whether owners are client ids, not addresses
    owner_lines: Mapping[MessageQueue, int] | None = None  # where owners stand, if not with offsets
    in_part: str | None = None  # why it may lack rows, if nothing else shows that it has all


@dataclass(slots=True)
class Connected:
    """Output of consumerConnection; ``message_model`` is None where it prints null."""

    connections: list[ClientConnection] = field(default_factory=list)
    subscriptions: list[str] = field(default_factory=list)
    message_model: str | None = None
    place: str = ""  # where it stands
    # numbers of rows that are missing, where rows have numbers
    missing_clients: list[int] = field(default_factory=list)
    missing_topics: list[int] = field(default_factory=list)
    is_lite: bool = False  # whether clients subscribe to lite topics, and share queues


class ListedGroup(NamedTuple):
    """A group in the list of all groups."""

    name: str  # cut, if it is as long as its column
    n_connections: int  # none also where the group could not be asked
    message_model: str | None
    consume_tps: float  # its whole part but for rocketmq-rust; 0 also where it could not be asked
    lag: int  # messages, of all queues
    is_cut: bool  # whether the name is as long as its column
    place: str  # file and line
    command: str = "consumerProgress"
    offline: str = "OFFLINE"  # what it prints where there is no connection


def json_content(section: Section) -> Any:
    """Return the JSON of a section; what a shell printed below it is left away."""
    text = "\n".join(section.lines)
    end = text.rfind("}")
    if text.startswith("["):
        end = text.find("]", max(end, 0))
    text = text[: end + 1]
    section.n_read = text.count("\n") + 1
    try:
        return loose_json.loads(text.encode())
    except loose_json.JsonError as error:
        raise section.error(f"not JSON of mqadmin or RocketMQ Console: {error}") from None


def routes(section: Section, topic: str) -> Topic:
    """Return the output of ``topicRoute -l``, whose last line counts brokers and queues."""
    brokers: list[TopicBroker] = []
    is_ended = False
    for offset, line in _rows(section):
        if is_ended:
            if not line.startswith("Total:"):
                break
            section.n_read = offset + 1
            return _counted_route(section, offset, Topic(topic, tuple(brokers)))
        if line.startswith("---"):
            is_ended, section.n_read = True, offset + 1
            continue
        row = _ROUTE.fullmatch(line)
        broker = row and _broker_of_route(row["names"], section.lines[0].find("#BrokerName"))
        if not row or not broker:
            raise section.error(
                "not a row of topicRoute -l: cluster, broker, addresses, read, write, perm", offset
            )
        read, write, perm = (
            _whole(section, offset, row[name]) for name in ("read", "write", "perm")
        )
        brokers.append(TopicBroker(broker, read, write, perm))
    if is_ended:
        return Topic(topic, _by_name(brokers))
    raise section.error("the output of topicRoute -l is cut: its line of dashes is missing")


def _counted_route(section: Section, offset: int, topic: Topic) -> Topic:
    """Return a route; it is known in part where its rows are not what the last line counts."""
    brokers = _by_name(topic.brokers)
    printed = [int(number) for number in _COUNT.findall(section.lines[offset])]
    n_read = sum(broker.read_queue_nums for broker in brokers)
    n_written = sum(broker.write_queue_nums or 0 for broker in brokers)
    counted = [len({broker.broker_name for broker in brokers}), n_read, n_written]
    if printed == counted:
        return Topic(topic.name, brokers)
    why = f"{section.place(offset)} counts brokers, read and write queues as {printed}, the rows above have {counted}"
    return Topic(topic.name, brokers, {"routes": why})


def _by_name(brokers: Iterable[TopicBroker]) -> tuple[TopicBroker, ...]:
    return tuple(sorted(brokers, key=attrgetter("broker_name")))


def route_addresses(section: Section) -> dict[str, str]:
    """Return names of the brokers in an output of ``topicRoute -l`` by all their addresses."""
    found: dict[str, str] = {}
    for _, line in _rows(section):
        row = _ROUTE.fullmatch(line)
        if row and (broker := _broker_of_route(row["names"], section.lines[0].find("#BrokerName"))):
            found |= {
                address.partition("=")[2]: broker
                for address in row["addresses"].split(", ")
                if "=" in address
            }
    return found


def _broker_of_route(names: str, start: int) -> str | None:
    """Return the second of two names, neither of which is cut: by the column it starts in, unless
    the first sticks out into it.
    """
    first, second = _columns(names, start)
    if first.endswith(" ") and second.strip(" "):
        return second.rstrip(" ")
    found = _TWO_NAMES.fullmatch(names)
    return found and found["broker"]


def progress(section: Section) -> Progress:
    """Return the output of ``consumerProgress -g``, with the column of clients or without."""
    head = section.lines[0]
    names = [name.strip() for name in head.split("#")[1:]]
    read, lags, offsets, owners, tps = _ProgressRows(head, names), [], [], {}, None
    shows_owners = "Client IP" in names
    is_whole = True
    sums = {"Diff": 0, "Inflight": 0}
    for offset, line in _rows(section):
        if line.startswith("Consume TPS:"):
            tps = _number(section, offset, line.partition(":")[2])
            section.n_read = offset + 1
            break
        row = read.row(line)
        if not row.keys() >= _PROGRESS:
            raise section.error(
                "a row of consumerProgress is cut, or is mixed with other text", offset
            )
        number, end, at, diff, inflight = (
            _whole(section, offset, row.get(name, "0"))
            for name in ("QID", "Broker Offset", "Consumer Offset", "Diff", "Inflight")
        )
        if diff != end - at:
            raise section.error(
                f"a row of consumerProgress is cut or changed: its Diff is {diff:,}, its offsets differ by {end - at:,}",
                offset,
            )
        sums["Diff"] += diff
        sums["Inflight"] += inflight
        lags.append(Lag(MessageQueue(row["Topic"], row["Broker Name"], number), end, at))
        offsets.append(offset)
        if row.get("Client IP", NOT_KNOWN[0]) not in NOT_KNOWN:
            owners[lags[-1].queue] = row["Client IP"]
        elif not row["Topic"].startswith(RETRY_PREFIX):
            is_whole = False
    if tps is None:
        raise section.error("the output of consumerProgress is cut: its Consume TPS is missing")
    width = head.index("#Broker Name"), head.index("#QID") - head.index("#Broker Name")
    return Progress(
        section,
        lags,
        offsets,
        owners,
        shows_owners,
        is_whole or not shows_owners,
        tps,
        width[0] - 2,
        width[1] - 2,
        _wrong_total(section, sums),
    )


def _wrong_total(section: Section, sums: Mapping[str, int]) -> str | None:
    """Return how the totals below the rows of consumerProgress and the sums of the rows differ."""
    wrong = None
    for offset in range(section.n_read or 0, len(section.lines)):
        found = _TOTAL.fullmatch(section.lines[offset])
        if found is None:
            if section.lines[offset].strip():
                break
            continue
        section.n_read = offset + 1
        name, total = found["name"], int(found["total"])
        if sums[name] != total and wrong is None:
            wrong = f"{section.place(offset)} prints {name} Total {total:,}, its rows have {sums[name]:,}"
    return wrong


class _ProgressRows:
    """Reads rows of consumerProgress: topics and brokers by the width that they are cut to, the
    rest by its shape.
    """

    def __init__(self, head: str, names: list[str]) -> None:
        self._names = names
        self._columns = head.find("#Broker Name"), head.find("#QID")
        shapes = dict.fromkeys(_NUMBERS, r"(-?\d+)") | {
            "Client IP": "(.*[^ ])",
            "LastTime": _LAST_TIME,
        }
        is_known = shapes.keys() >= set(names[2:]) and len(set(names)) == len(names)
        # Blanks are taken whole, so that no row is read in more than one way; behind a time that is
        # missing they are taken.
        between = {
            name: r"(?: ++|(?<=  ))" if name == "LastTime" else " ++" for name in names[2:-1]
        }
        whole = (
            "".join(shapes[name] + between.get(name, " *+") for name in names[2:])
            if is_known
            else ""
        )
        self._rest = re.compile(whole) if is_known else None

    def row(self, line: str) -> dict[str, str]:
        """Return cells by the names of the head."""
        topic, broker, rest = _columns(line, *self._columns)
        is_in_columns = topic.endswith("  ") and broker.endswith("  ") and broker.strip(" ")
        found = (
            self._rest.fullmatch(rest.rstrip(" ") + " ")
            if self._rest is not None and is_in_columns
            else None
        )
        if found is None:
            return dict(zip(self._names, line.split(), strict=False))
        return dict(
            zip(self._names, [topic.rstrip(" "), broker.rstrip(" "), *found.groups()], strict=True)
        )


def connections(section: Section) -> Connected:
    """Return the output of consumerConnection.

    Notes
    -----
    rocketmq-client-cpp sends its message model in a form that Java does not know, so ``null`` is printed.
    """
    found, in_topics = Connected(place=section.place()), False
    numbers: tuple[list[int], list[int]] = ([], [])
    for offset, line in _rows(section):
        if not in_topics:
            in_topics = line.startswith(_BELOW) and not _CONNECTION.fullmatch(line)
            if not in_topics:
                found.connections.append(_connection(section, offset, line))
                numbers[0].extend(_numbers(section, line))
                continue
            line = line.removeprefix(_BELOW)
        if numbered := _NUMBERED_TOPIC.match(line):
            found.subscriptions.append(numbered["topic"])
            numbers[1].append(int(numbered["number"]))
        elif line.startswith("MessageModel:"):
            model = line.partition(":")[2].strip()
            found.message_model = model if model != "null" else None
            section.n_read = offset + 1 + len(_FROM_WHERE.findall(_next(section, offset)))
            found.missing_clients, found.missing_topics = map(_missing, numbers)
            return found
        elif line.startswith("#"):
            if line.split() != _TOPIC_HEAD:
                raise section.error("the head of consumerConnection's topics lacks columns", offset)
        elif line.strip() and not line.startswith("ConsumeType:"):
            if numbers[1]:
                raise section.error("a row of consumerConnection's topics is cut or folded", offset)
            found.subscriptions.append(line.split()[0])
    raise section.error("the output of consumerConnection is cut: its MessageModel is missing")


def _next(section: Section, offset: int) -> str:
    return section.lines[offset + 1] if offset + 1 < len(section.lines) else ""


def _numbers(section: Section, line: str) -> list[int]:
    """Return the number of a row, where rows have numbers."""
    found = None if section.lines[0].startswith("#") else _INDEX.match(line)
    return [int(found[1])] if found else []


def _missing(numbers: Sequence[int]) -> list[int]:
    """Return the first numbers from 1 that are missing among those of rows."""
    present = set(numbers)
    absent = (number for number in range(1, max(present, default=0)) if number not in present)
    return list(islice(absent, _MOST_MISSING))


def _connection(section: Section, offset: int, line: str) -> ClientConnection:
    bare = line if section.lines[0].startswith("#") else _NUMBER.sub("", line, count=1)
    if row := _CONNECTION.fullmatch(bare):
        return ClientConnection(row["id"], row["language"], version(row["version"]))
    cells = bare.split()
    if len(cells) != 4:
        raise section.error(
            "not a row of consumerConnection: client id, address, language, version", offset
        )
    return ClientConnection(cells[0], cells[2], version(cells[3]))


class Listed(NamedTuple):
    """Table of clients of consumerStatus."""

    connections: list[ClientConnection]
    missing: list[int]  # numbers of rows that are missing, though every client answered
    n_unanswered: int  # clients that did not answer, which have no row


def clients(section: Section) -> Listed:
    """Return the table of clients that consumerStatus prints; rows go on below the stack trace of a
    client that did not answer.
    """
    found, numbers, in_trace = [], [], False
    ended: int | None = None
    for offset, line in _rows(section):
        if FAILURE.match(line):
            in_trace = True
        elif indexed := _INDEX.match(line):
            if ended is not None:
                raise section.error(
                    "a row of consumerStatus is cut or folded, or is mixed with other text",
                    ended,
                )
            found.append(_listed(section, offset, line))
            numbers.append(int(indexed[1]))
            in_trace = False
        elif not in_trace and ended is None:
            ended = offset
    section.n_read = _behind_analysis(section, len(section.lines) if ended is None else ended)
    n_unanswered = len(unanswered(section))
    return Listed(found, [] if n_unanswered else _missing(numbers), n_unanswered)


def _behind_analysis(section: Section, start: int) -> int:
    """Return the first line behind what consumerStatus finds about subscriptions and rebalance."""
    end = start
    for offset in range(start, len(section.lines)):
        line = section.lines[offset].strip()
        if line and not _ANALYSIS.match(line):
            break
        if line:
            end = offset + 1
    return end


def unanswered(section: Section) -> list[int]:
    """Return lines at which consumerStatus says that a client did not answer, which has no row
    then; 0 for what stands above.
    """
    above = [0 for line in section.before if FAILURE.match(line.lstrip())]
    return above + [offset for offset, line in _rows(section) if FAILURE.match(line)]


def _listed(section: Section, offset: int, line: str) -> ClientConnection:
    if number := _FIRST_NUMBER.match(line):
        bare = line.rstrip(" ")
        for row in _BEHIND_ID.finditer(bare, number.end() + 1):
            # The longer the id is, the shorter what is left for the file: only one can be as long
            # as the other.
            if len(bare) - row.end("lead") == row.start() - number.end():
                client_id = bare[number.end() : row.start()]
                if bare.endswith(client_id):
                    return ClientConnection(row["lead"] + client_id, None, version(row["version"]))
    cells = line.split()
    if len(cells) != 4:
        raise section.error("not a row of consumerStatus: number, client id, version, file", offset)
    return ClientConnection(cells[1], None, version(cells[2]))


def all_groups(section: Section) -> tuple[list[ListedGroup], list[int]]:
    """Return the output of consumerProgress without ``-g``, and which lines are no rows of it."""
    found, others = [], []
    width = section.lines[0].index("#Count") - 2
    for offset, line in _rows(section):
        if row := _LISTED_GROUP.fullmatch(line):
            count, lag = (_whole(section, offset, row[name]) for name in ("count", "diff"))
            tps = _number(section, offset, row["tps"])
            is_cut = len(row["name"]) >= width
            found.append(
                ListedGroup(
                    row["name"], count, row["model"], tps, lag, is_cut, section.place(offset)
                )
            )
        else:
            others.append(offset)
    return found, others


def failure(section: Section) -> str:
    """Return what a command that failed says: its code and description, else its exception."""
    lines = section.lines[:_MOST_OF_A_TRACE]
    coded = next((found for line in lines if (found := _CODE.search(line))), None)
    command = next((found for line in lines if (found := _FAILED_COMMAND.search(line))), None)
    name = section.asked.command or (command and command[1][0].lower() + command[1][1:])
    said = coded[0] if coded else lines[0].strip()
    return f"this is an error of mqadmin{f' {name}' if name else ''}, not its output: {printable(shortened(said, 300))}"


class ClientFile(NamedTuple):
    """What a client reports of itself: a file of consumerStatus, or the output of its ``-i``."""

    properties: dict[str, str]
    info: RunningInfo
    wrong: dict[str, str]  # kinds of facts whose rows are missing, and how that shows


def nothing(section: Section) -> str:
    """Return the text below a command whose output is missing."""
    below = next((line.strip() for line in section.lines[1:] if line.strip()), None)
    shown = "nothing" if below is None else repr(printable(shortened(below, 120)))
    tool = "RocketMQ Console to" if section.asked.is_of_console else "mqadmin"
    of_tool = (
        f"{'answer' if section.asked.is_of_console else 'output'} of {tool} {section.asked.command}"
    )
    return f"no {of_tool} is read here; below the command is {shown}"


def running_info(section: Section) -> ClientFile:
    """Return what a client reports of itself."""
    title, properties, topics, numbers = "", {}, [], []
    queues: dict[str, list[MessageQueue]] = {_OFFSETS: [], _OWNED: [], _POPPED: []}
    rated: list[str] = []
    n_dropped, titles = 0, set()
    for offset, line in enumerate(section.lines):
        if found := _TITLE.fullmatch(line.strip()):
            title = found[1]
            titles.add(title)
        elif title == "Consumer Properties" and (found := _PROPERTY.fullmatch(line)):
            properties[found[1]] = found[2]
        elif title == "Consumer Subscription" and (found := _SUBSCRIPTION.match(line)):
            numbers.append(int(found[1]))
            topics.append(found[2])
        elif "RT&TPS" in title and (found := _RATES.match(line)):
            rated.append(found[1])
        elif title in queues and line.strip() and line[0] != "#":
            if title != _OFFSETS and "ProcessQueueInfo" in line and not _STATE.search(line):
                raise section.error("a row of a client's queues is cut or folded", offset)
            if title != _OFFSETS and _DROPPED.search(line):
                n_dropped += title == _OWNED
            else:
                queues[title].append(_queue(section, offset, line))
    if "RT&TPS" not in title and title not in ("User Consume Info", "Consumer jstack"):
        raise section.error(f"the file of a client is cut: it ends in its part {title!r}")
    all_topics = sorted({*topics, *rated})
    body = {"properties": properties, "subscriptionSet": [{"topic": topic} for topic in all_topics]}
    info = answers.running_info(body)
    owned, popped = (tuple(sorted(queues[part])) for part in (_OWNED, _POPPED))
    wrong = {}
    if _OFFSETS in titles and len(queues[_OFFSETS]) != len(owned) + n_dropped:
        wrong["owners"] = f"{_OFFSETS} and {_OWNED} do not have the same number of queues"
    if _missing(numbers):
        wrong["subscriptions"] = f"Consumer Subscription has no row {_missing(numbers)[0]}"
    elif rated and len(rated) != len(topics):
        wrong["subscriptions"] = (
            "Consumer Subscription and Consumer RT&TPS do not have the same topics"
        )
    is_known = answers.tells_queues(properties, owned) and "owners" not in wrong
    info = info._replace(owned=owned if is_known else None, popped=popped)
    return ClientFile(properties, info, wrong)


_RATES = re.compile(r"([^#\s]\S*) +[\d.,]+ +[\d.,]+ +[\d.,]+ ")
_OFFSETS, _OWNED, _POPPED = "Consumer Offset", "Consumer MQ Detail", "Consumer Pop Detail"
"""Parts of a client's file; RocketMQ makes the first two of one table, a row for each queue."""


def allocation(section: Section, content: Any) -> dict[str, list[MessageQueue]]:
    """Read the output of allocateMQ: queues by the address they were given to."""
    result = content.get("result")
    if not isinstance(result, dict) or not all(
        isinstance(given, list) for given in result.values()
    ):
        raise section.error(_NO_ALLOCATION)
    return {
        address: [_allocated(section, queue) for queue in given]
        for address, given in result.items()
    }


def _allocated(section: Section, one: Any) -> MessageQueue:
    topic, broker, number = (
        one.get(name) if isinstance(one, dict) else None for name in _QUEUE_FIELDS
    )
    if not isinstance(topic, str) or not isinstance(broker, str) or type(number) is not int:
        raise section.error(_NO_ALLOCATION)
    return MessageQueue(topic, broker, number)


def version(text: str) -> str:
    """Return a release as people write it.

    Examples
    --------
    >>> version("V5_5_0"), version("V5_3_3_SNAPSHOT"), version("version:V5_3_0")
    ('5.5.0', '5.3.3-SNAPSHOT', '5.3.0')
    """
    text = text.removeprefix("version:")  # of rocketmq-rust
    numbers = text.removeprefix("V").split("_")
    return (
        "-".join([".".join(numbers[:3]), *numbers[3:]]) if text[:2] in ("V3", "V4", "V5") else text
    )


def _rows(section: Section) -> Iterator[tuple[int, str]]:
    """Yield lines that are neither blank nor the head, with how far they are from the first."""
    rows = ((offset, line) for offset, line in enumerate(section.lines) if line.strip())
    return (row for row in rows if row[0] or not row[1].startswith("#"))


def _columns(line: str, *starts: int) -> list[str]:
    """Return a line cut where columns start, as Java counts: in units of UTF-16."""
    units = line.encode("utf-16-le")
    ends = [*(2 * start for start in starts), len(units)]
    pieces = (units[start:end] for start, end in zip([0, *ends], ends, strict=False))
    return [piece.decode("utf-16-le", "replace") for piece in pieces]


def _queue(section: Section, offset: int, line: str) -> MessageQueue:
    if found := _DETAIL.match(line):
        return MessageQueue(
            found["topic"], found["broker"], _whole(section, offset, found["number"])
        )
    cells = line.split(maxsplit=3)
    if len(cells) < 3:
        raise section.error("not a row of a client's queues: topic, broker, queue id", offset)
    return MessageQueue(cells[0], cells[1], _whole(section, offset, cells[2]))


def _whole(section: Section, offset: int, text: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,18}", text):
        raise section.error(f"a whole number was expected, got {text[:40]!r}", offset)
    return int(text)


def _number(section: Section, offset: int, text: str) -> float:
    text = _COMMA.sub(".", text)  # as Java prints it in many countries
    try:
        return float(text)
    except ValueError:
        raise section.error(f"a number was expected, got {text.strip()[:40]!r}", offset) from None
