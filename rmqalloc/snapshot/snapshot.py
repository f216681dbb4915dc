"""What a cluster looked like at one moment: its topics, and the consumer groups with their clients.

Everything that is not known is None, so that nothing has to be made up: a file may hold routes and
client ids alone, a live cluster reports most of the rest. A list cannot be None where a part of it
is known, so ``unknown`` says of which lists and why: an empty one that is not named there is known
to be empty. `rmqalloc.snapshot.unknown` answers what follows.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from operator import attrgetter
from typing import Annotated, Any, TypeVar

from rmqalloc.documents.fields import Text, Whole
from rmqalloc.documents.records import SIGNED, Maybe
from rmqalloc.model import MAX_QUEUES, RETRY_PREFIX, MessageQueue, host_of

PERM_READ, PERM_WRITE = 4, 2

TAG, ALL_MESSAGES = "TAG", "*"
MESSAGE_MODELS = ("CLUSTERING", "BROADCASTING")
_N_QUEUES = Whole(0, MAX_QUEUES)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TopicBroker:
    """What one broker holds of a topic; Java's ``QueueData``.

    Attributes
    ----------
    broker_name : str
    read_queue_nums : int
        Queues that consumers see, ids 0 to ``read_queue_nums - 1``.
    write_queue_nums : int or None
        Queues that producers see; None where not known.
    perm : int
        Bit 4: readable, bit 2: writable.
    machine_room : str or None
    """

    broker_name: str
    read_queue_nums: Annotated[int, _N_QUEUES]
    write_queue_nums: Annotated[int | None, Maybe(_N_QUEUES)] = None
    perm: int = PERM_READ | PERM_WRITE
    machine_room: str | None = None

    @property
    def is_readable(self) -> bool:
        """Whether consumers may read there; only then do its queues exist for them."""
        return bool(self.perm & PERM_READ)

    @property
    def n_written_queues(self) -> int:
        """Queues that producers write to, ids from 0, be they read or not: none without the write
        bit.

        Where the write queues are not known, they are taken to be as many as the read queues.
        """
        if not self.perm & PERM_WRITE:
            return 0
        return self.read_queue_nums if self.write_queue_nums is None else self.write_queue_nums

    @property
    def n_dry_queues(self) -> int:
        """Queues that consumers read and no producer writes to."""
        return max(0, self.read_queue_nums - self.n_written_queues) if self.is_readable else 0


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic and its brokers.

    Attributes
    ----------
    name : str
    brokers : tuple of TopicBroker
    unknown : mapping of str to str
        ``routes`` and why, where the brokers or their queues are known only in part.
    """

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


@dataclass(frozen=True, slots=True)
class Filter:
    """Which messages of a topic a subscription takes; Java's ``SubscriptionData``.

    Attributes
    ----------
    expression : str
        Tags parted by ``||``, ``*`` for all messages, a condition of SQL92, or the name of a filter
        class.
    type : str
        TAG, SQL92, CLASS for a filter class, or what else the broker was taught.
    """

    expression: str = ALL_MESSAGES
    type: str = TAG

    @property
    def tags(self) -> frozenset[str] | None:
        """The tags of the messages that are taken; None for another type, and where all messages
        are.

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
        """Whether no message is left out."""
        return self.type == TAG and self.expression.strip() in ("", ALL_MESSAGES)


@dataclass(frozen=True, slots=True)
class Client:
    """One client of a group, as one broker's list has it; a client id that is listed twice is two
    of these.

    Attributes
    ----------
    client_id : str
    machine_room, language, version, strategy : str or None
        ``language`` is as brokers name it, but ``RMQALLOC`` for a member of `rmqalloc.client`;
        ``strategy`` is what the client itself says it uses, where it says so.
    virtual_nodes : int or None
    subscriptions : tuple of str, or None
        Topics the client itself says it subscribes to.
    filters : mapping of topic to Filter, or None
        Topics of which the client says that it takes only some messages; of all others it takes
        all. None where not known.
    owned : tuple of MessageQueue, or None
        Queues the client says it has now; None where it was not asked or did not answer.
    sees_read_queue_nums : mapping of topic to {broker_name: read_queue_nums}, or None
        The client's own, perhaps stale, routes, where known.
    start_timestamp : int or None
        When the client says that it started, by its own clock (ms since the epoch).
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


@dataclass(frozen=True, slots=True)
class Lag:
    """How far one queue has been consumed.

    Attributes
    ----------
    broker_offset, consumer_offset : int
        Where the queue ends, and up to where the group has committed (-1: nothing yet).
    last_timestamp : int or None
        Store time (ms since the epoch) of the last consumed message.
    """

    queue: MessageQueue
    broker_offset: Annotated[int, SIGNED]
    consumer_offset: Annotated[int, SIGNED]
    last_timestamp: Annotated[int | None, Maybe(SIGNED)] = None

    @property
    def messages(self) -> int:
        """Messages not yet consumed."""
        return max(0, self.broker_offset - max(0, self.consumer_offset))


@dataclass(frozen=True, slots=True)
class Group:
    """One consumer group.

    Attributes
    ----------
    name : str
    subscriptions : tuple of str
        Topics that the group's clients divide among themselves; retry topics included where known.
    clients : tuple of Client
    message_model : str
        ``CLUSTERING`` or ``BROADCASTING``.
    strategy : str or None
        RocketMQ's name of the strategy of the group's clients; None where it is not known.
    strategy_params : mapping
        Its parameters, as `rmqalloc.strategy` takes them (``virtual_nodes``, ``machine_rooms``,
        ...).
    strategy_source : {"given", "reported", "fitted", "assumed"} or None
        How the strategy is known: somebody wrote it down, the clients report it, it is the one that
        explains what they own, or it is RocketMQ's default because nothing shows it. None where
        `rmqalloc.evidence.with_strategies` has not looked yet.
    strategy_explains : float or None
        Share of the queues with one known owner that the strategy gives to that owner; None where
        no owner is known.
    strategy_doubt : str or None
        Why the clients may divide by something else, so that no owners are computed from the
        strategy; None for no doubt.
    is_shared : bool
        Whether clients share the messages of a queue, as those behind a proxy (gRPC) do, be it only
        some of them: then no queue has an owner. See `is_behind_proxy`.
    is_ordered : bool
    server_assignment : str or None
        ``PULL`` or ``POP`` where brokers assign the queues, None where clients do.
    pop_share_queue_num : int
        RocketMQ's ``popShareQueueNum``, for POP.
    broker_client_ids : mapping of broker name to tuple of str, or None
        The client ids as single brokers list them, where they do not agree: each client asks one
        broker at random.
    lags : tuple of Lag
    consume_tps : float or None
        Messages consumed per second, over the group.
    paused_brokers : tuple of str
        Brokers that do not let the group consume (``consumeEnable`` is false in its settings
        there), as far as it is known.
    filters : mapping of topic to tuple of Filter, or None
        Topics of which brokers say that the group takes only some messages; several where the
        brokers do not agree. A broker has one for the whole group, the newest that any client sent.
        None where not known.
    lite_topic : str or None
        The topic whose lite topics (RocketMQ 5.5) the group reads, where it is a group for these:
        every client then subscribes to lite topics of its own, which no reader of clusters sees.
    unknown : mapping of str to str
        What of ``clients``, ``subscriptions`` and ``owners`` (what clients own) is not known or
        known only in part, and why.
    """

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
        """Topics that the group or any of its clients subscribes to, those of the group first; the
        retry topic of the group only if the group has it.

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


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker that was asked.

    Attributes
    ----------
    broker_name : str
    address : str
        ``host:port``.
    role : {"MASTER", "SLAVE", "ACTING_MASTER"}
        A slave is asked only where the name server knows no master of that name. One that stands in
        for the master (RocketMQ's ``enableActingMaster``, if the name server has
        ``supportActingMaster``) takes care of offsets and locks meanwhile; nothing can be written
        there either.
    role_doubt : str or None
        Why it is not known whether it stands in for the master.
    is_silent : bool
        Whether it does not answer, be it that its connection is refused or that it takes longer
        than it may.
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
    """Something that an earlier reading of the cluster showed and this one does not; kept for an
    hour.

    Attributes
    ----------
    kind : {"broker", "topic", "queue", "group"}
        ``queue``: readable queues of a topic on a broker that is still listed.
    name : str
        Of the broker, the topic or the group.
    last_seen : str
        Time of the last reading that showed it, as ISO 8601 in UTC.
    cause : {"dead", "unlisted", "broker", "removed"}
        A broker is ``dead`` if no name server lists it and it does not answer, ``unlisted`` if no
        name server lists it and it answers or was not asked. Topics and groups left with their
        ``broker``, or were ``removed`` while their brokers stayed.
    broker_name : str or None
        Of ``queue``.
    queues : mapping of topic to int
        Readable queues that left with it.
    messages : int or None
        Messages that groups had not consumed from these queues at the last reading; None where not
        known.
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
    """Something that could not be asked or read, so that the snapshot is partial."""

    source: str
    request: str
    message: str


@dataclass(frozen=True, slots=True)
class ReadSource:
    """Lines of a file that a snapshot was read from.

    Attributes
    ----------
    file : str
    first_line, last_line : int
        From 1.
    what : str
        The kind of output, such as ``consumerProgress -g``.
    contents : str
        What it states, for people.
    left_out : str or None
        What of it is not in the snapshot, and why.
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


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A cluster at one moment.

    Attributes
    ----------
    topics : tuple of Topic
    groups : tuple of Group
    errors : tuple of SourceError
        What is missing, and why.
    fetched_at : str or None
        When, as ISO 8601 in UTC.
    source : str or None
        Where from, for people.
    brokers : tuple of Broker
        Brokers that were asked; none where the snapshot is not of a running cluster.
    unknown : mapping of str to str
        ``subscriptions`` and why, where there may be more groups; ``routes`` and why, where there
        may be more topics.
    sources : tuple of ReadSource
        What was read of which file, where outputs of tools were joined.
    departed : tuple of Departure
        What earlier readings showed within the last hour and this one does not; none where nothing
        was read before.
    """

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
        """Return the topic of that name, None where the snapshot does not have it."""
        return next((topic for topic in self.topics if topic.name == name), None)


def with_fields(part: T, **others: Any) -> T:
    """Return a part of a snapshot with other values of some fields.

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
