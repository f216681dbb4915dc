"""Values that all packages share: message queues, assignments, limits, and client ids.

This module imports only `rmqalloc.errors` and `rmqalloc.text`; every package may import it.
"""

from __future__ import annotations

import encodings.utf_16_le  # noqa: F401 (before threads: a child forked while one imports it waits for ever)
import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import count
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

from rmqalloc.errors import ArgumentError, ArgumentTypeError, Error
from rmqalloc.text import glob, is_pattern

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import (
        TypeVar,
    )  # the checker's own; with a default, `Assignment` needs no parameter

    Queue = TypeVar("Queue", default=Any)
else:
    from typing import TypeVar

    Queue = TypeVar("Queue")

__all__ = [
    "LMQ_PREFIX",
    "MAX_CHANNELS",
    "MAX_CLIENTS",
    "MAX_OF_ROW",
    "MAX_OWNERS",
    "MAX_PER_UNIT",
    "MAX_QUEUES",
    "MAX_READ_QUEUE_NUMS",
    "MAX_ROWS",
    "MAX_TEXT_BYTES",
    "MAX_VIRTUAL_NODES",
    "MOST_MEMBERS",
    "RETRY_PREFIX",
    "Assignment",
    "MessageQueue",
    "SharedAssignment",
    "TooManyQueuesError",
    "check_queue_count",
    "clients_meant",
    "host_of",
    "is_chosen",
    "java_name",
    "java_text",
    "joined",
    "new_id",
    "queue_fields",
    "queue_text",
]


LMQ_PREFIX = "%LMQ%"
"""Begins the name of a light topic, which has one queue on each broker and no route:
``MixAll.LMQ_PREFIX``.
"""

LOGICAL_BROKER_PREFIX = "__syslo__"
"""Begins the name of a logical broker: ``MixAll.LOGICAL_QUEUE_MOCK_BROKER_PREFIX``."""

RETRY_PREFIX = "%RETRY%"
"""Begins the name of the topic with what a group is to read again:
``MixAll.RETRY_GROUP_TOPIC_PREFIX``.
"""


class MessageQueue(NamedTuple):
    """One queue of a topic on a broker.

    Attributes
    ----------
    topic : str
        Name of the topic.
    broker_name : str
        Name of the broker that holds the queue.
    queue_id : int
        Number of the queue on its broker, a signed 32-bit integer.

    Notes
    -----
    ``org.apache.rocketmq.common.message.MessageQueue``; ``str()`` gives its ``toString()`` text.
    A topic of ``None`` is kept, as Java keeps a null field.

    Examples
    --------
    >>> str(MessageQueue("orders", "broker-a", 3))
    'MessageQueue [topic=orders, brokerName=broker-a, queueId=3]'
    """

    topic: str
    broker_name: str
    queue_id: int

    def __str__(self) -> str:
        return queue_text(self.topic, self.broker_name, self.queue_id)


def queue_text(topic: str | None, broker_name: str | None, queue_id: int) -> str:
    """Return Java's ``MessageQueue.toString()``, which is also the key a queue is hashed by; a null
    field reads ``null``.

    Examples
    --------
    >>> queue_text(None, "broker-a", -1)
    'MessageQueue [topic=null, brokerName=broker-a, queueId=-1]'
    """
    return f"MessageQueue [topic={java_text(topic)}, brokerName={java_text(broker_name)}, queueId={queue_id}]"


def java_name(name: str | None) -> str:
    """Return a name as Java's strings have it: ``null`` for None, surrogate halves joined."""
    return joined(java_text(name))


def java_text(name: str | None) -> str:
    """Return a name as Java's string concatenation shows it: ``null`` for None."""
    return "null" if name is None else name


def queue_fields(queue: Any) -> tuple[str | None, str | None, int]:
    """Return the topic, broker name and queue id of a queue in any accepted form.

    Examples
    --------
    >>> queue_fields({"topic": "orders", "brokerName": "broker-a", "queueId": 3})
    ('orders', 'broker-a', 3)
    """
    if isinstance(queue, tuple):
        if len(queue) != 3:
            raise ArgumentTypeError(
                f"a queue given as a tuple is (topic, broker_name, queue_id), got {len(queue)} items: {queue!r}"
            )
        topic, broker_name, queue_id = queue
    elif queue is None:
        raise ArgumentTypeError("a queue is null; every entry of mq_all must be a queue")
    else:
        topic = _field(queue, "topic", "topic")
        broker_name = _field(queue, "broker_name", "brokerName")
        queue_id = _field(queue, "queue_id", "queueId")
    _check(queue, topic, broker_name, queue_id)
    return topic, broker_name, queue_id


_MISSING: Any = object()


def _field(queue: Any, name: str, java_name: str) -> Any:
    """Return one field under either spelling, from a mapping or an object."""
    if isinstance(queue, Mapping):
        value = queue.get(name, queue.get(java_name, _MISSING))
    else:
        value = getattr(queue, name, _MISSING)
        if value is _MISSING:
            value = getattr(queue, java_name, _MISSING)
    if value is _MISSING:
        spelt = name if name == java_name else f"{name} (or {java_name})"
        raise ArgumentTypeError(
            f"a queue has no {spelt}: {queue!r}; give topic, broker_name and queue_id, or a 3-tuple of them"
        )
    return value


def _check(queue: Any, topic: Any, broker_name: Any, queue_id: Any) -> None:
    """Refuse fields of the wrong kind, in the caller's words."""
    for name, text in (("topic", topic), ("broker_name", broker_name)):
        if text is not None and not isinstance(text, str):
            raise ArgumentTypeError(
                f"the {name} of a queue must be a string, got {text!r} in {queue!r}"
            )
    try:
        number = queue_id.__index__()
    except AttributeError:
        raise ArgumentTypeError(
            f"the queue_id of a queue must be an integer, got {queue_id!r} in {queue!r}"
        ) from None
    if not -(2**31) <= number < 2**31:
        raise ArgumentError(
            f"the queue_id of a queue must be a signed 32-bit integer, got {queue_id!r} in {queue!r}"
        )


def joined(text: str) -> str:
    """Return the text with adjacent surrogate halves joined to one character, as in Java; lone
    halves stay.

    Examples
    --------
    >>> joined("\\ud83d\\ude00") == "\\U0001f600", joined("\\ude00") == "\\ude00"
    (True, True)
    """
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


class Assignment(NamedTuple, Generic[Queue]):
    """The owner of each queue of one group. For type checkers, ``Assignment[Queue]`` names the
    queue type.

    Attributes
    ----------
    owners : ndarray of int32, shape (n_queues,)
        ``owners[i]`` is the position in ``client_ids`` of the client that owns ``mq_all[i]``; -1
        marks an unowned queue.
    mq_all : sequence
        The queues, the caller's own objects.
    client_ids : sequence of str
        The clients.

    Methods raise IndexError if ``owners`` does not have one entry per queue, or has a position
    outside of ``client_ids``.

    Examples
    --------
    >>> from rmqalloc import strategy
    >>> a = strategy("AVG").assign([("t", "b", i) for i in range(4)], ["x", "y", "z"])
    >>> a.owners.tolist(), a.counts().tolist()
    ([0, 0, 1, 2], [2, 1, 1])
    """

    owners: NDArray[np.int32]
    mq_all: Sequence[Queue]
    client_ids: Sequence[str]

    def queues_of(self, client_id: str) -> list[Queue]:
        """Return queues that ``client_id`` owns, in the given order; empty for an unknown client."""
        if client_id not in self.client_ids:
            return []
        position = self.client_ids.index(client_id)
        return [self.mq_all[i] for i in (self._fitting_owners() == position).nonzero()[0].tolist()]

    def counts(self) -> NDArray[np.int64]:
        """Return queues per client, shape (n_clients,); a repeated id counts at its first position."""
        import numpy as np

        owners = self._fitting_owners()
        counts = np.bincount(owners[owners >= 0], minlength=len(self.client_ids))
        return counts.astype(np.int64, copy=False)  # NumPy's own are as wide as a pointer

    @property
    def unowned(self) -> list[Queue]:
        """Unowned queues."""
        return [self.mq_all[i] for i in (self._fitting_owners() < 0).nonzero()[0].tolist()]

    def _fitting_owners(self) -> NDArray[np.int32]:
        """Return the owners, which an assignment that others made may not have of its own lists."""
        owners, n, m = self.owners, len(self.mq_all), len(self.client_ids)
        if getattr(getattr(owners, "dtype", None), "kind", None) not in ("i", "u"):
            raise ArgumentTypeError(
                f"owners must be a numpy array of int32, got {getattr(owners, 'dtype', type(owners).__name__)}"
            )
        if owners.shape != (n,):
            raise IndexError(
                f"owners must have shape ({n},), one entry per queue, got {owners.shape}"
            )
        if n and (most := int(owners.max())) >= m:
            raise IndexError(
                f"owners names client {most}; positions in client_ids are 0 to {m - 1}, and -1 marks an unowned queue"
            )
        return owners


class SharedAssignment(NamedTuple, Generic[Queue]):
    """The queues of each client of one group, for strategies that may assign a queue to several
    clients or add queues (CONFIG, POP).

    Attributes
    ----------
    queues : list of (list or None)
        ``queues[i]`` is the result of the strategy's ``allocate`` for ``client_ids[i]``, with
        repeated queues; ``None`` if the result is null or an error.
    errors : dict of int to str
        Position of a client and the error its ``allocate`` raises.
    client_ids : sequence of str
        The clients.
    """

    queues: list[list[Queue] | None]
    errors: dict[int, str]
    client_ids: Sequence[str]

    @classmethod
    def by_client(
        cls, strategy: Any, mq_all: Sequence[Any], client_ids: Sequence[str]
    ) -> SharedAssignment[Any]:
        """Call a strategy once for every client."""
        queues: list[list[Any] | None] = []
        errors: dict[int, str] = {}
        for i, client_id in enumerate(client_ids):
            try:
                queues.append(strategy.allocate("", client_id, mq_all, client_ids))
            except Error as error:
                queues.append(None)
                errors[i] = str(error)
        return SharedAssignment(queues, errors, client_ids)


# --- Limits ---

# A reader of a file, a table or a server's answer refuses what is above these limits before it
# allocates anything, so damaged or hostile data cost no memory. A limit of one file alone stands in
# that file.

MAX_QUEUES = 1 << 20
"""Most queues of a topic where they are laid out one by one, and most of it on one broker in a
snapshot.
"""

MAX_OF_ROW = 1 << 24
"""Most queues, on one broker or in all, and most clients of a row of a table, where they are
numbers and not objects.
"""

MAX_PER_UNIT = 2**31 - 1
"""Most queues, and most clients, of one unit: places in its lists are int32 everywhere."""

MAX_OWNERS = 2**31 - 1
"""Most owners in a column: Arrow counts the entries of all its lists together in int32."""

MAX_ROWS = 1 << 20
"""Most rows of an output batch."""

MAX_CLIENTS = 100_000
"""Most clients that a scenario may add to a unit, or scale it to."""

MAX_READ_QUEUE_NUMS = 65_536
"""Most read queues that a scenario may give a topic on one broker, and an event on all of its
brokers together.
"""

MAX_CHANNELS = 1_024
"""Most channels of one client id: a client is listed once per channel, so a number becomes a list.
"""

MAX_VIRTUAL_NODES = 65_536
"""Most virtual nodes of a client."""

MAX_TEXT_BYTES = 64 * 1024
"""Longest client id, as UTF-8, in a table or a scenario, and longest text of any kind in a
scenario.
"""

MOST_MEMBERS = 5_000
"""Most clients that one group of a simulation may start with."""


class TooManyQueuesError(Error, ValueError):
    """A topic has more queues than `MAX_QUEUES`."""


def check_queue_count(topic: str, n: int) -> None:
    """Refuse a topic with more queues than `MAX_QUEUES`."""
    if n > MAX_QUEUES:
        raise TooManyQueuesError(
            f"topic {topic!r} has {n:,} queues; at most {MAX_QUEUES:,} can be checked"
        )


# --- Client ids: a host, ``@`` and a part that tells the clients of the host apart ---


def host_of(client_id: str) -> str:
    """Return the part of a client id before the first ``@``, an IP address by default.

    Examples
    --------
    >>> host_of("10.0.0.1@1009"), host_of("pod-1")
    ('10.0.0.1', 'pod-1')
    """
    return client_id.partition("@")[0]


_PARTS = ("@", "#")
"""What may follow an address in a client id: an instance name or unit, or what tells processes
apart.
"""


def clients_meant(target: str, client_ids: Iterable[str]) -> tuple[str, ...]:
    """Return the client ids that match the text of a user.

    The first kind of match counts: equal id, pattern of ids or hosts, id that starts with the text,
    host.

    Examples
    --------
    >>> ids = ["10.0.0.1@7#1", "10.0.0.1@8#2", "10.0.0.11@7"]
    >>> clients_meant("10.0.0.1@7", ids), clients_meant("10.0.0.1", ids)
    (('10.0.0.1@7#1',), ('10.0.0.1@7#1', '10.0.0.1@8#2'))
    >>> clients_meant("10.0.0.*", ids) == tuple(ids), clients_meant("10.0.0.2", ids)
    (True, ())
    """
    ids = dict.fromkeys(client_ids)
    if target in ids:
        return (target,)
    if is_pattern(target):
        matches = glob(target)
        return tuple(client for client in ids if matches(client) or matches(host_of(client)))
    begins = tuple(target + mark for mark in _PARTS)
    found = tuple(client for client in ids if "@" in target and client.startswith(begins))
    return found or tuple(client for client in ids if host_of(client) == target)


_GENERATED = re.compile(r"\d+(#\d+)?|DEFAULT", re.ASCII)
"""Instance names that clients make themselves: process ids, and since 4.9 a time behind them."""


def is_chosen(client_id: str) -> bool:
    """Return True if the instance name of a client id was configured, so that a restart keeps it.

    Examples
    --------
    >>> [is_chosen(name) for name in ("10.0.0.1@consumer-7", "10.0.0.1@1#281944", "10.0.0.1@7", "c1")]
    [True, False, False, False]
    """
    _, at, instance = client_id.partition("@")
    return bool(at) and _GENERATED.fullmatch(instance.partition("@")[0]) is None


def new_id(client_id: str, ids: str, taken: AbstractSet[str]) -> str:
    """Return the id of a client after a restart.

    Java's ids are ``ip@pid#nanoTime``. With "suffix", the number after the last ``#`` is replaced,
    or one is added, so the client nearly always keeps its position. With "address"
    the address is replaced by a hash of the id. A configured instance name stays; the id of such a
    client changes only with its address, or if both clients run at once, as with a surge.

    Examples
    --------
    >>> new_id("10.0.0.1@1#281944", "suffix", set())
    '10.0.0.1@1#900000000000001'
    >>> new_id("10.0.0.1@7", "suffix", {"10.0.0.1@7#900000000000001"})
    '10.0.0.1@7#900000000000002'
    >>> new_id("10.0.0.1@7", "address", set())
    '10.123.54.172@7#900000000000001'
    >>> new_id("10.0.0.1@consumer-7", "address", set()), new_id("10.0.0.1@consumer-7", "suffix", set())
    ('10.24.121.14@consumer-7', '10.0.0.1@consumer-7')
    """
    chosen = is_chosen(client_id)
    stem = client_id.rpartition("#")[0] if "#" in client_id and not chosen else client_id
    if ids == "address" or (chosen and stem in taken):
        import hashlib  # which plans that make no address do without

        _, at, rest = stem.partition("@")
        digest = hashlib.sha256(client_id.encode("utf-8", "surrogatepass")).digest()
        stem = f"10.{'.'.join(map(str, digest[:3]))}{at}{rest}"
    if chosen and stem not in taken:
        return stem
    return next(made for n in count(900_000_000_000_001) if (made := f"{stem}#{n}") not in taken)
