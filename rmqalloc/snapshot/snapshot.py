"""A cluster at one moment: its topics, and its consumer groups with their clients.

Unknown values are None: a file may contain only routes and client ids; a running cluster reports
most of the rest. A list may be known in part, so ``unknown`` names the incomplete lists with
reasons; an empty list that is not named there is known to be empty. `rmqalloc.snapshot.unknown`
evaluates these entries.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from itertools import chain
from operator import attrgetter
from typing import Annotated, Any, ClassVar, TypeVar

from rmqalloc.documents.fields import Text, Whole
from rmqalloc.documents.records import SIGNED, Maybe
from rmqalloc.model import MAX_QUEUES, RETRY_PREFIX, MessageQueue, host_of
from rmqalloc.results.tabular import OfRows
from rmqalloc.text import counted, printable, shortened

PERM_READ, PERM_WRITE = 4, 2

TAG, ALL_MESSAGES = "TAG", "*"
MESSAGE_MODELS = ("CLUSTERING", "BROADCASTING")
_N_QUEUES = Whole(0, MAX_QUEUES)
_MOST_NAME = 48
"""Characters of a name in a ``repr``."""

_GROUP_COLUMNS = (
    "consumer_group: string",
    "topics: [string]",
    "n_clients: int64",
    "strategy message_model: string",
    "messages: int64",
)
_CLIENT_COLUMNS = (
    "consumer_group client_id machine_room language version strategy: string",
    "n_owned: int64",
)
_TOPIC_COLUMNS = (
    "topic broker_name: string",
    "read_queue_nums write_queue_nums perm: int64",
    "machine_room: string",
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TopicBroker:
    """The queues of a topic on one broker; Java's ``QueueData``.

    Attributes
    ----------
    broker_name : str
        Name of the broker.
    read_queue_nums : int
        Number of queues that consumers see. Their ids are 0 to ``read_queue_nums - 1``.
    write_queue_nums : int or None
        Number of queues that producers see. None if unknown.
    perm : int
        Permissions: bit 4 is readable, bit 2 is writable.
    machine_room : str or None
        Machine room of the broker. None if unknown.
    """

    broker_name: str
    read_queue_nums: Annotated[int, _N_QUEUES]
    write_queue_nums: Annotated[int | None, Maybe(_N_QUEUES)] = None
    perm: int = PERM_READ | PERM_WRITE
    machine_room: str | None = None

    @property
    def is_readable(self) -> bool:
        """True if consumers may read; otherwise its queues do not exist for them."""
        return bool(self.perm & PERM_READ)

    @property
    def n_written_queues(self) -> int:
        """Number of queues that producers write to, ids from 0; 0 without the write bit.

        If the write queues are unknown, the number of read queues is used.
        """
        if not self.perm & PERM_WRITE:
            return 0
        return self.read_queue_nums if self.write_queue_nums is None else self.write_queue_nums

    @property
    def n_dry_queues(self) -> int:
        """Number of queues that consumers read and no producer writes to."""
        return max(0, self.read_queue_nums - self.n_written_queues) if self.is_readable else 0


@dataclass(frozen=True, slots=True, repr=False)
class Topic(OfRows):
    """A topic and its brokers.

    Attributes
    ----------
    name : str
        Name of the topic.
    brokers : tuple of TopicBroker
        Brokers that hold queues of the topic.
    unknown : mapping of str to str
        Key ``routes`` with the reason, if the brokers or queues are known only in part.
    """

    TABLES: ClassVar = ("brokers",)
    COLUMNS: ClassVar = {"brokers": _TOPIC_COLUMNS}

    name: str
    brokers: tuple[TopicBroker, ...] = ()
    unknown: Mapping[str, str] = field(default_factory=dict, hash=False)

    def queues(self) -> Iterator[MessageQueue]:
        """Yield queues that consumers see, in the brokers' order.

        Examples
        --------
        >>> topic = Topic("orders", (TopicBroker("broker-a", 2), TopicBroker("broker-b", 4, perm=2)))
        >>> [str(queue.queue_id) for queue in topic.queues()]
        ['0', '1']
        """
        for broker in self.brokers:
            if broker.is_readable:
                for queue_id in range(broker.read_queue_nums):
                    yield MessageQueue(self.name, broker.broker_name, queue_id)

    def _in_short(self) -> str:
        n_queues = sum(broker.read_queue_nums for broker in self.brokers if broker.is_readable)
        brokers = counted(len(self.brokers), "broker")
        return f"Topic {_name(self.name)} of {brokers}, {counted(n_queues, 'queue')}"

    def _rows(self, name: str = "brokers") -> Iterator[Mapping[str, Any]]:
        for broker in self.brokers:
            yield {
                "topic": self.name,
                "broker_name": broker.broker_name,
                "read_queue_nums": broker.read_queue_nums,
                "write_queue_nums": broker.write_queue_nums,
                "perm": broker.perm,
                "machine_room": broker.machine_room,
            }


@dataclass(frozen=True, slots=True)
class Filter:
    """The filter of a subscription; Java's ``SubscriptionData``.

    Attributes
    ----------
    expression : str
        Tags with ``||`` between them, ``*`` for all messages, an SQL92 condition, or the name of a
        filter class.
    type : str
        Type of the expression: TAG, SQL92, CLASS for a filter class, or a type of a broker plugin.
    """

    expression: str = ALL_MESSAGES
    type: str = TAG

    @property
    def tags(self) -> frozenset[str] | None:
        """Tags of accepted messages; None for other types, and if all messages are accepted.

        Examples
        --------
        >>> sorted(Filter("pay||  ship ").tags), Filter(" * ").tags, Filter("a > 1", "SQL92").tags
        (['pay', 'ship'], None, None)
        """
        if self.type != TAG or self.takes_all:
            return None
        return frozenset(filter(None, map(str.strip, self.expression.split("||"))))

    @property
    def takes_all(self) -> bool:
        """True if every message is accepted."""
        return self.type == TAG and self.expression.strip() in ("", ALL_MESSAGES)


@dataclass(frozen=True, slots=True, repr=False)
class Client:
    """One client of a group. A client id that a broker lists twice is two entries.

    Attributes
    ----------
    client_id : str
        Client id.
    machine_room : str or None
        Machine room of the client. None if unknown.
    language : str or None
        Language as brokers name it; ``RMQALLOC`` for a member of `rmqalloc.client`. None if
        unknown.
    version : str or None
        Release of the client. None if unknown.
    strategy : str or None
        Strategy that the client reports. None if it reports none.
    virtual_nodes : int or None
        Virtual nodes of the client's ring. None if unknown: no RocketMQ client reports them.
    subscriptions : tuple of str, or None
        Topics that the client reports. None if unknown.
    filters : mapping of topic to Filter, or None
        Filters that the client reports, by topic. The client takes all messages of the remaining
        topics. None if unknown.
    owned : tuple of MessageQueue, or None
        Queues that the client reports. None if it was not requested or did not answer.
    sees_read_queue_nums : mapping of topic to {broker_name: read_queue_nums}, or None
        Read queues by topic and broker in the client's own, perhaps stale, routes. None if unknown.
    start_timestamp : int or None
        Start of the client by its own clock, in milliseconds since the epoch. None if unknown.
    """

    client_id: str
    machine_room: str | None = None
    language: str | None = None
    version: str | None = None
    strategy: str | None = None
    virtual_nodes: int | None = None
    subscriptions: tuple[str, ...] | None = None
    owned: tuple[MessageQueue, ...] | None = None
    sees_read_queue_nums: Mapping[str, Mapping[str, int]] | None = None
    filters: Mapping[str, Filter] | None = field(default=None, hash=False)
    start_timestamp: Annotated[int | None, Maybe(SIGNED)] = None

    @property
    def host(self) -> str:
        """The part of the client id before ``@``, an IP address by default."""
        return host_of(self.client_id)

    def __repr__(self) -> str:
        owned = "" if self.owned is None else f", reports {counted(len(self.owned), 'queue')}"
        return f"<Client {_name(self.client_id)}{owned}>"


@dataclass(frozen=True, slots=True)
class Lag:
    """The offsets of one queue.

    Attributes
    ----------
    queue : MessageQueue
        The queue.
    broker_offset : int
        End of the queue.
    consumer_offset : int
        Committed offset of the group; -1 if the group has committed none.
    last_timestamp : int or None
        Store time of the last consumed message, in milliseconds since the epoch. None if unknown.
    """

    queue: MessageQueue
    broker_offset: Annotated[int, SIGNED]
    consumer_offset: Annotated[int, SIGNED]
    last_timestamp: Annotated[int | None, Maybe(SIGNED)] = None

    @property
    def messages(self) -> int:
        """Messages not yet consumed."""
        return max(0, self.broker_offset - max(0, self.consumer_offset))


@dataclass(frozen=True, slots=True, repr=False)
class Group(OfRows):
    """One consumer group.

    Attributes
    ----------
    name : str
        Name of the group.
    subscriptions : tuple of str
        Topics that the clients divide, with the retry topic if known.
    clients : tuple of Client
        Clients of the group.
    message_model : str
        ``CLUSTERING`` or ``BROADCASTING``.
    strategy : str or None
        RocketMQ's name of the strategy. None if unknown.
    strategy_params : mapping
        Parameters of the strategy by name, such as ``virtual_nodes`` or ``machine_rooms``.
    strategy_source : {"given", "reported", "fitted", "assumed"} or None
        How the strategy is known: a file or an option states it, the clients report it, it explains
        the queues that clients report, or it is RocketMQ's default because nothing shows it. None
        if not yet determined.
    strategy_explains : float or None
        Share of the queues with one known owner that the strategy gives to that owner. None if no
        owner is known.
    strategy_doubt : str or None
        Reason why the strategy is in doubt, so that no owners are computed. None if there is no
        doubt.
    is_shared : bool
        True if some clients are behind a proxy (gRPC) and share the messages of a queue. No queue
        of the group has an owner then.
    is_ordered : bool
        True if the group consumes in order, under locks.
    server_assignment : str or None
        ``PULL`` or ``POP`` if brokers assign the queues. None if clients divide them.
    pop_share_queue_num : int
        RocketMQ's ``popShareQueueNum``, for POP.
    broker_client_ids : mapping of broker name to tuple of str, or None
        Client ids by broker, if the brokers' lists differ. Each client asks one broker at random.
    lags : tuple of Lag
        Offsets of the queues of the group.
    consume_tps : float or None
        Messages that the group consumes per second. None if unknown.
    paused_brokers : tuple of str
        Brokers whose setting ``consumeEnable`` of the group is false.
    filters : mapping of topic to tuple of Filter, or None
        Filters that brokers hold for the group, by topic; several if brokers differ. A broker holds
        one filter for the whole group, the newest that a client sent. None if unknown.
    lite_topic : str or None
        Topic whose lite topics (RocketMQ 5.5) the group reads. The lite topics of each client are
        not in a snapshot.
    unknown : mapping of str to str
        Keys ``clients``, ``subscriptions`` and ``owners`` (the queues that clients report) with the
        reason, if the fact is unknown or known only in part.
    """

    TABLES: ClassVar = ("clients",)
    COLUMNS: ClassVar = {"clients": _CLIENT_COLUMNS}

    name: str
    subscriptions: tuple[str, ...] = ()
    clients: tuple[Client, ...] = ()
    message_model: Annotated[str, Text(MESSAGE_MODELS)] = "CLUSTERING"
    strategy: str | None = None
    strategy_params: Mapping[str, Any] = field(default_factory=dict)
    strategy_source: Annotated[
        str | None, Maybe(Text(("given", "reported", "fitted", "assumed")))
    ] = None
    strategy_explains: float | None = None
    strategy_doubt: str | None = None
    is_shared: bool = False
    is_ordered: bool = False
    server_assignment: Annotated[str | None, Maybe(Text(("PULL", "POP")))] = None
    pop_share_queue_num: Annotated[int, SIGNED] = 0
    broker_client_ids: Mapping[str, tuple[str, ...]] | None = None
    lags: tuple[Lag, ...] = ()
    consume_tps: float | None = None
    paused_brokers: tuple[str, ...] = ()
    filters: Mapping[str, tuple[Filter, ...]] | None = None
    lite_topic: str | None = None
    unknown: Mapping[str, str] = field(default_factory=dict)

    @property
    def all_subscriptions(self) -> list[str]:
        """Topics that the group or any of its clients subscribes to, topics of the group first; the
        group's retry topic only if the group lists it.

        Examples
        --------
        >>> Group("g", ("T",), (Client("c", subscriptions=("U", "T", "%RETRY%g")),)).all_subscriptions
        ['T', 'U']
        """
        found = dict.fromkeys(self.subscriptions)
        own = {client.subscriptions for client in self.clients} - {None, self.subscriptions}
        if not own:
            return list(found)
        more = {topic for topics in own for topic in topics or ()} - {RETRY_PREFIX + self.name}
        return list(found | dict.fromkeys(sorted(more)))

    @property
    def client_ids(self) -> list[str]:
        """Client ids, repeats included, as the broker lists them."""
        return [client.client_id for client in self.clients]

    def _in_short(self) -> str:
        clients = counted(len(self.clients), "client")
        topics = counted(len(self.all_subscriptions), "topic")
        strategy = f"strategy {self.strategy}" if self.strategy else "strategy unknown"
        return f"Group {_name(self.name)} of {clients}, {topics}, {strategy}"

    def _rows(self, name: str = "clients") -> Iterator[Mapping[str, Any]]:
        for client in self.clients:
            yield {
                "consumer_group": self.name,
                "client_id": client.client_id,
                "machine_room": client.machine_room,
                "language": client.language,
                "version": client.version,
                "strategy": client.strategy,
                "n_owned": None if client.owned is None else len(client.owned),
            }

    def _row(self) -> Mapping[str, Any]:
        """Return the row of the group in the table of a snapshot."""
        return {
            "consumer_group": self.name,
            "topics": self.all_subscriptions,
            "n_clients": len(self.clients),
            "strategy": self.strategy,
            "message_model": self.message_model,
            "messages": sum(lag.messages for lag in self.lags) if self.lags else None,
        }


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker of a running cluster.

    Attributes
    ----------
    broker_name : str
        Name of the broker.
    address : str
        Address, ``host:port``.
    role : {"MASTER", "SLAVE", "ACTING_MASTER"}
        Role. A slave is read only if the name server lists no master. A slave with RocketMQ's
        ``enableActingMaster`` (and ``supportActingMaster`` of the name server) keeps offsets and
        locks, and takes no messages.
    role_doubt : str or None
        Reason why it is unknown whether the slave acts as the master. None if there is no doubt.
    is_silent : bool
        True if the broker refuses the connection or does not answer in time.
    """

    broker_name: str
    address: str
    role: Annotated[str, Text(("MASTER", "SLAVE", "ACTING_MASTER"))] = "MASTER"
    is_silent: bool = False
    role_doubt: str | None = None


DEPARTED = ("broker", "topic", "queue", "group")
CAUSES = ("dead", "unlisted", "broker", "removed")


@dataclass(frozen=True, slots=True)
class Departure:
    """An object that an earlier reading of the cluster listed and this reading does not; kept for
    an hour.

    Attributes
    ----------
    kind : {"broker", "topic", "queue", "group"}
        Kind. ``queue``: readable queues of a topic on a broker that is still listed.
    name : str
        Name of the broker, the topic or the group.
    last_seen : str
        Time of the last reading that showed it, ISO 8601 in UTC.
    cause : {"dead", "unlisted", "broker", "removed"}
        ``dead``: no name server lists the broker, and it does not answer. ``unlisted``: no name
        server lists the broker, and it answers or got no request. ``broker``: the topic or group
        left with its broker. ``removed``: the brokers are still listed.
    broker_name : str or None
        Name of the broker of ``queue``.
    queues : mapping of topic to int
        Number of readable queues that left, by topic.
    messages : int or None
        Messages in these queues that groups had not consumed at the last reading. None if unknown.
    """

    kind: Annotated[str, Text(DEPARTED)]
    name: str
    last_seen: str
    cause: Annotated[str, Text(CAUSES)]
    broker_name: str | None = None
    queues: Mapping[str, int] = field(default_factory=dict, hash=False)
    messages: Annotated[int | None, Maybe(SIGNED)] = None


@dataclass(frozen=True, slots=True)
class SourceError:
    """A request or a file that failed, so that the snapshot is partial.

    Attributes
    ----------
    source : str
        Server or file.
    request : str
        The request.
    message : str
        The error.
    """

    source: str
    request: str
    message: str


@dataclass(frozen=True, slots=True)
class ReadSource:
    """Lines of a file that a snapshot was read from.

    Attributes
    ----------
    file : str
        Path of the file.
    first_line : int
        First line, from 1.
    last_line : int
        Last line, included.
    what : str
        Kind of output, such as ``consumerProgress -g``.
    contents : str
        Summary of the contents, for people.
    left_out : str or None
        Contents that are not in the snapshot, and the reason.
    """

    file: str
    first_line: int
    last_line: int
    what: str
    contents: str = ""
    left_out: str | None = None


def sources_entry(sources: Sequence[ReadSource]) -> dict[str, list[dict[str, Any]]]:
    """Return ``sources`` as an entry of a document, nothing where there are none.

    Examples
    --------
    >>> sources_entry(()), [*sources_entry([ReadSource("a.txt", 1, 9, "topicRoute")])["sources"][0]]
    ({}, ['file', 'first_line', 'last_line', 'what', 'contents', 'left_out'])
    """
    return {"sources": [asdict(source) for source in sources]} if sources else {}


@dataclass(frozen=True, slots=True, repr=False)
class Snapshot(OfRows):
    """A cluster at one moment.

    In a notebook it is one line and a table of its groups. `to_arrow` and `to_pandas` have the
    tables ``groups``, ``clients`` and ``topics``, the last with a row per topic and broker.

    Attributes
    ----------
    topics : tuple of Topic
        Topics.
    groups : tuple of Group
        Consumer groups.
    errors : tuple of SourceError
        Requests that failed.
    fetched_at : str or None
        Time of the snapshot, ISO 8601 in UTC. None if unknown.
    source : str or None
        Origin of the snapshot, for people.
    brokers : tuple of Broker
        Brokers of a running cluster; none in a snapshot of files.
    unknown : mapping of str to str
        Key ``subscriptions`` with the reason, if there may be more groups; key ``routes`` with the
        reason, if there may be more topics.
    sources : tuple of ReadSource
        Lines of the tool outputs that were read.
    departed : tuple of Departure
        Brokers, topics, queues and groups that readings of the last hour showed and this one does
        not.

    Examples
    --------
    >>> cluster = Snapshot((Topic("T", (TopicBroker("b", 4),)),), (Group("g", ("T",), (Client("c"),)),))
    >>> cluster, cluster.groups[0]
    (<Snapshot of 1 group, 1 client, 1 topic, complete>, <Group g of 1 client, 1 topic, strategy unknown>)
    >>> cluster.to_arrow("topics")["read_queue_nums"].to_pylist()
    [4]
    """

    TABLES: ClassVar = ("groups", "clients", "topics")
    COLUMNS: ClassVar = {
        "groups": _GROUP_COLUMNS,
        "clients": _CLIENT_COLUMNS,
        "topics": _TOPIC_COLUMNS,
    }

    topics: tuple[Topic, ...] = ()
    groups: tuple[Group, ...] = ()
    errors: tuple[SourceError, ...] = ()
    fetched_at: str | None = None
    source: str | None = None
    brokers: tuple[Broker, ...] = ()
    unknown: Mapping[str, str] = field(default_factory=dict)
    sources: tuple[ReadSource, ...] = ()
    departed: tuple[Departure, ...] = ()

    def topic(self, name: str) -> Topic | None:
        """Return the topic of that name, or None."""
        return next((topic for topic in self.topics if topic.name == name), None)

    def _in_short(self) -> str:
        parts = [
            counted(len(self.groups), "group"),
            counted(sum(len(group.clients) for group in self.groups), "client"),
            counted(len(self.topics), "topic"),
        ]
        if self.fetched_at is not None:
            parts.append(f"taken {shortened(self.fetched_at, _MOST_NAME)}")
        if self.errors:
            parts.append(f"partial ({counted(len(self.errors), 'error')})")
        else:
            unknown = chain(
                [self.unknown],
                (topic.unknown for topic in self.topics),
                (group.unknown for group in self.groups),
            )
            parts.append("partial" if any(unknown) else "complete")
        return f"Snapshot of {', '.join(parts)}"

    def _rows(self, name: str) -> Iterator[Mapping[str, Any]]:
        if name == "groups":
            return (group._row() for group in self.groups)
        parts: tuple[Group | Topic, ...] = self.groups if name == "clients" else self.topics
        return chain.from_iterable(part._rows() for part in parts)


def _name(name: str) -> str:
    """Return a name as a ``repr`` shows it."""
    return shortened(printable(name), _MOST_NAME)


def with_fields(part: T, **others: Any) -> T:
    """Return a part of a snapshot with some fields replaced.

    `dataclasses.replace` of a class with slots, whose ``__init__`` checks nothing, in a quarter of
    the time.

    Examples
    --------
    >>> with_fields(TopicBroker("b", 4), perm=2)
    TopicBroker(broker_name='b', read_queue_nums=4, write_queue_nums=None, perm=2, machine_room=None)
    """
    cls: Any = type(part)
    made: T = object.__new__(cls)
    values, puts = _slots(cls)
    for put, value in zip(puts, values(part), strict=True):
        put(made, value)
    for name, value in others.items():
        object.__setattr__(made, name, value)
    return made


@cache
def _slots(cls: Hashable) -> tuple[Callable[[Any], Any], list[Callable[[Any, Any], None]]]:
    names = getattr(cls, "__slots__", ())
    return attrgetter(*names), [getattr(cls, name).__set__ for name in names]
