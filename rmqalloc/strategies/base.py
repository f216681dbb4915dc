"""Base class of strategies: RocketMQ's interface for one client, and interfaces for a whole group
and a whole fleet.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from rmqalloc.errors import ArgumentError, ArgumentTypeError
from rmqalloc.fleet import Fleet, FleetError, UnitError
from rmqalloc.fleet.columns import Offsets
from rmqalloc.fleet.fleet import units_alone
from rmqalloc.fleet.groups import check_client_ids
from rmqalloc.fleet.positions import position as checked_position
from rmqalloc.fleet.unit_errors import check_on_error
from rmqalloc.model import Assignment, Queue, SharedAssignment, java_text, joined, queue_fields
from rmqalloc.strategies._parallel import n_threads
from rmqalloc.strategies._reasons import Queues, Reasons
from rmqalloc.strategies._unit_parts import UnitParts
from rmqalloc.strategies.formula import Formula
from rmqalloc.strategies.ordering import sort_client_ids, sort_queues
from rmqalloc.strategies.owner_vectors import check_out, fresh_owners
from rmqalloc.strategies.parameters import Parameter

Owners = NDArray[np.int32]
DecidedBy = Literal["counts", "positions", "positions in rooms", "ids", "anything"]

_LISTS = (tuple, list)

REGISTERED: dict[str, type[Strategy]] = {}
"""Classes by the name that they were declared with; `rmqalloc.strategies.STRATEGIES` has an order."""

# What says something of the owners that `_owners` writes, or finds them in another way.
_OF_THE_HOOK = (
    *("decided_by", "formula", "has_shared_points", "is_listed", "is_shared", "is_server_side"),
    *("reads_topic", "_takes_empty", "_explain", "allocate", "assign", "assign_fleet", "by_room"),
    *("owner_of", "_divide", "_group_owners", "_owners_by_count", "_queues_of"),
)

NO_CURRENT = "currentCID is empty"
NO_QUEUES = "mqAll is null or mqAll empty"
NO_CLIENTS = "cidAll is null or cidAll empty"


class Strategy(ABC):
    """A rule that splits message queues among the clients of a consumer group.

    A strategy holds its parameters and no state. Subclasses write one hook, `_owners`. Strategies
    do not sort: RocketMQ's rebalance sorts queues and clients before the call, and so must the
    caller here (`sort_queues`, `sort_client_ids`, ``sort=True``, `Fleet.sorted`).

    A class of this package joins `STRATEGIES` by a keyword, ``class Rotated(..., name="ROTATED/1")``.
    A class that overrides the hook does not inherit anything that depends on the hook of its base:
    neither faster paths nor declarations.

    All further properties of a strategy are declared by its class, so that no package tests for its
    name. All defaults are safe.

    Attributes
    ----------
    decided_by : str
        Inputs that determine the owners of a unit with distinct, non-empty client ids. "counts":
        the numbers of queues and clients (with a `formula`). "positions": the queues and the number
        of clients, not their ids. "positions in rooms": the same for every machine room separately
        (see `by_room`). "ids": for each queue the ids of the clients; if a client leaves, only its
        queues move (some of its queues if the id is listed twice). "anything": further inputs.
    formula : Formula or None
        The owner of a queue by counts alone.
    virtual_nodes : int or None
        Points per client on the ring, None without a ring.
    has_shared_points : bool
        True if owners depend only on `hash_ids` and ``md5_queues``, so that a caller may keep these
        hashes between calls.
    is_listed : bool
        True if the queues are listed by client id.
    is_shared : bool
        True if a queue may go to several clients, so that a vector of owners cannot represent the
        result.
    reads_topic, reads_rooms : bool
        True if it reads the topic of queues, or the machine rooms of brokers and clients.
    parameters : tuple of Parameter
        Parameters of the constructor.
    guesses : tuple of mapping
        Parameters to try, most likely first, if the strategy of a group is inferred.
    weighed : tuple of mapping
        Parameters with which it is compared with the present strategy of a group.
    reads_slots : bool
        True if it reads slot numbers in client ids.
    is_server_side : bool
        True if RocketMQ's brokers support it.
    names_inner : bool
        True if its name ends with a dash and the name of the inner strategy.
    default_inner : str or None
        Default name of the inner strategy.
    named_in_full : bool
        True if it is used only if its version is given.
    dialect : str
        Client that computes it: "java", or "go" if client-go computes another allocation under the
        same name.
    """

    decided_by: DecidedBy = "anything"
    formula: ClassVar[Formula | None] = None
    virtual_nodes: int | None = None
    has_shared_points: bool = False
    is_listed: bool = False
    is_shared: bool = False
    reads_topic: bool = True
    reads_rooms: bool = False
    parameters: ClassVar[tuple[Parameter, ...]] = ()
    guesses: ClassVar[tuple[Mapping[str, Any], ...]] = ()
    weighed: ClassVar[tuple[Mapping[str, Any], ...]] = ()
    reads_slots: ClassVar[bool] = False
    is_server_side: ClassVar[bool] = False
    names_inner: ClassVar[bool] = False
    default_inner: ClassVar[str | None] = None
    named_in_full: ClassVar[bool] = False
    dialect: ClassVar[str] = "java"

    _takes_empty = False  # whether `_owners` also takes units that lack queues or clients, and leaves those queues unowned

    def __init_subclass__(cls, name: str | None = None) -> None:
        super().__init_subclass__()
        if name is not None:
            REGISTERED[name] = cls
        hooks = (cls._owners, Strategy._owners)
        for attribute in _OF_THE_HOOK:
            holders = [base for base in cls.__mro__ if attribute in vars(base)]
            fitting = [base for base in holders if getattr(base, "_owners", hooks[1]) in hooks]
            if fitting != [] and fitting[0] is not holders[0]:
                setattr(cls, attribute, vars(fitting[0])[attribute])

    @abstractmethod
    def get_name(self) -> str:
        """Return Java's ``getName()`` text."""

    @abstractmethod
    def _owners(self, fleet: Fleet, out: Owners, threads: int = 1) -> None:
        """Write the owner of every queue of every unit; each unit has at least one queue and one
        client, or none is asked.
        """

    def allocate(
        self, consumer_group: str, current_cid: str, mq_all: Sequence[Queue], cid_all: Sequence[str]
    ) -> list[Queue]:
        """Return the queues of one client, as in RocketMQ's interface.

        Parameters
        ----------
        consumer_group : str
            Not read by any strategy.
        current_cid : str
            Client id of the calling client.
        mq_all : sequence of queues
            Queues in Java's order: objects with ``topic``, ``broker_name``/``brokerName`` and
            ``queue_id``/``queueId``, mappings, or 3-tuples.
        cid_all : sequence of str
            Client ids in Java's order, repeats kept.

        Returns
        -------
        list
            The caller's own queue objects, in the order Java returns them; empty if ``current_cid``
            is not in ``cid_all``. Only CONFIG returns the queues of its list, or None without a
            list; see the types of `Config` and `ConfigByClient`.

        Raises
        ------
        ValueError
            Where Java raises ``IllegalArgumentException``, with its text.
        TypeError
            Where Java raises ``NullPointerException``, or where an argument is of the wrong type.

        Notes
        -----
        ``AllocateMessageQueueStrategy.allocate`` of ``org.apache.rocketmq.client.consumer``.
        """
        mq_all, cid_all = as_of_now(mq_all), as_of_now(cid_all)
        position = position_of(current_cid, mq_all, cid_all)
        return self._queues_of(position, mq_all, cid_all) if position >= 0 else []

    def _queues_of(
        self, position: int, mq_all: Sequence[Queue], cid_all: Sequence[str]
    ) -> list[Queue]:
        """Return the queues of the client at a place of a list of client ids that may hold
        anything.
        """
        check_client_ids(cid_all)
        owners = self._group_owners(mq_all, cid_all).tolist()
        return [queue for queue, owner in zip(mq_all, owners, strict=True) if owner == position]

    def assign(
        self, mq_all: Sequence[Any], cid_all: Sequence[str], sort: bool = False
    ) -> Assignment[Any] | SharedAssignment[Any]:
        """Return the owners of all queues of one group.

        Parameters
        ----------
        mq_all, cid_all
            As for `allocate`.
        sort : bool
            Sort both in Java's order first; the result then refers to the sorted lists.

        Returns
        -------
        Assignment
            ``owners[i]`` is the first position in ``cid_all`` of the client that owns queue ``i``,
            -1 if unowned.

        Raises
        ------
        ValueError
            A list is empty.
        TypeError
            A client id is null or not a string; a queue lacks a field.
        """
        mq_all, cid_all = in_order(mq_all, cid_all, sort)
        check_lists(mq_all, cid_all)
        check_client_ids(cid_all)
        return Assignment(self._group_owners(mq_all, cid_all), mq_all, cid_all)

    def _group_owners(self, mq_all: Sequence[Any], cid_all: Sequence[str]) -> Owners:
        fleet = self._prepared(group_fleet(mq_all, cid_all))
        for error in self._errors(fleet):
            raise ArgumentError(error.reason)
        out = np.empty(len(mq_all), np.int32)
        self._owners(fleet, out)
        return out

    def assign_fleet(
        self,
        fleet: Fleet,
        out: Owners | None = None,
        on_error: Literal["raise", "report"] = "raise",
        threads: int | None = None,
    ) -> Owners:
        """Return owners of all queues of all units of a fleet.

        Parameters
        ----------
        fleet : Fleet
            Sorted by the caller (`Fleet.sorted`).
        out : ndarray of int32, shape (fleet.queue_offsets[-1],), optional
            Written and returned. Reuse it: new memory costs more than the computation. It must not
            overlap an array of the fleet.
        on_error : {"raise", "report"}
            With "report", the units of `fleet_errors` are left unowned (-1) and the remaining units
            are assigned.
        threads : int, optional
            Number of threads; by default the environment variable RMQALLOC_THREADS, else 1. The
            result does not depend on it.

        Returns
        -------
        ndarray of int32
            Unit ``u`` has entries ``fleet.queue_offsets[u]`` to ``fleet.queue_offsets[u + 1]``:
            first positions in its client list, -1 if unowned.

        Raises
        ------
        FleetError
            A unit cannot be assigned and ``on_error`` is "raise".
        ValueError, TypeError
            ``out`` does not fit, or ``threads`` is not above 0.
        """
        check_on_error(on_error)
        threads = n_threads(threads)
        out = fresh_owners(fleet) if out is None else check_out(out, fleet)
        fleet = self._prepared(fleet)
        errors = self._errors(fleet)
        if errors and on_error == "raise":
            raise FleetError(errors, fleet.n_units)
        bad = [error.position for error in errors]
        if bad and not (
            self._takes_empty and not np.minimum(fleet.n_queues[bad], fleet.n_clients[bad]).any()
        ):
            self._owners_but(bad, fleet, out, threads)
        elif out.size:
            self._owners(fleet, out, threads)
        return out

    def _owners_but(self, bad: list[int], fleet: Fleet, out: Owners, threads: int) -> None:
        """Assign all units but the bad ones, whose queues are left unowned."""
        good = np.ones(fleet.n_units, bool)
        good[bad] = False
        part = units_alone(fleet, np.flatnonzero(good))
        out.fill(-1)
        if part.queue_offsets[-1]:
            owners = fresh_owners(part)
            self._owners(part, owners, threads)
            out[np.repeat(good, fleet.n_queues)] = owners

    def fleet_errors(self, fleet: Fleet) -> list[UnitError]:
        """Return the units that this strategy cannot assign, by position: malformed units and units
        that Java refuses.
        """
        return self._errors(self._prepared(fleet))

    def _prepared(self, fleet: Fleet) -> Fleet:
        """Return the fleet with what this strategy has to ask its caller for, asked once."""
        return fleet

    def _errors(self, fleet: Fleet) -> list[UnitError]:
        reasons: dict[int, str] = {}
        if fleet.errors:
            reasons.update((error.position, error.reason) for error in fleet.errors)
        if fleet.empty_units.size:
            for unit in fleet.empty_units.tolist():
                reasons.setdefault(unit, NO_CLIENTS if fleet.n_queues[unit] else NO_QUEUES)
        self._find_errors(fleet, reasons)
        if not reasons:  # nearly always; a fleet of one unit is asked in a few microseconds
            return []
        return [
            UnitError(u, fleet.consumer_group(u), fleet.topic(u), reasons[u])
            for u in sorted(reasons)
        ]

    def _find_errors(self, fleet: Fleet, reasons: dict[int, str]) -> None:  # noqa: B027 (most strategies add none)
        """Add units that this strategy in particular refuses."""

    def owner_of(self, queues: Queues, client_ids: Sequence[str], position: int) -> int:
        """Return the position of the owner of one queue, -1 for none; errors as `assign`, and of
        the position as `explain`.
        """
        position = checked_position(position, len(queues), "queue")
        assigned = self.assign(queues, client_ids)
        if not isinstance(assigned, Assignment):
            raise ArgumentTypeError(
                f"{self.get_name()} may give a queue to several clients, so it has no single owner"
            )
        return int(assigned.owners[position])

    def explain(self, queues: Queues, client_ids: Sequence[str], position: int) -> Reasons:
        """Return the reasons for the owner of a queue.

        Parameters
        ----------
        queues : sequence of MessageQueue
            All queues, in Java's order.
        client_ids : sequence of str
            At least one, in Java's order.
        position : int
            Position of the queue; a negative position counts from the end.

        Returns
        -------
        Reasons
            Empty if the strategy has none.

        Raises
        ------
        IndexError, TypeError
            There is no queue at that position, or it is not an integer.
        """
        return self._explain(queues, client_ids, checked_position(position, len(queues), "queue"))

    def _explain(self, queues: Queues, client_ids: Sequence[str], position: int) -> Reasons:
        """Return the reasons; the position is one of a queue, from 0 on."""
        return Reasons()

    def _owners_by_count(
        self, queue_offsets: Offsets, n_clients: NDArray[np.int32], out: Owners
    ) -> None:
        """Write the owners of units of distinct client ids from numbers alone, by the `formula`.

        The counts are checked: ``queue_offsets`` ascend from 0 to ``out.size``, and every unit that
        has queues has a client.
        """
        assert self.formula is not None, f"{self.get_name()} reads names"
        self.formula.write(queue_offsets, n_clients, out)

    def _has_hook_of(self, made: type[Strategy]) -> bool:
        """Return False in a subclass that overrides the hook."""
        return type(self)._owners is made._owners

    def with_virtual_nodes(self, virtual_nodes: int) -> Strategy:
        """Return the same strategy with another number of points per client; itself if it has no
        ring.
        """
        return self

    def with_rooms(
        self, broker_room: Mapping[str, str] | None, client_room: Mapping[str, str] | None
    ) -> Strategy:
        """Return the same strategy with the machine rooms of brokers and clients by name; itself if
        it reads no rooms.
        """
        return self

    def by_room(self, fleet: Fleet) -> tuple[UnitParts, Strategy]:
        """Return units of one machine room each, and the strategy that divides these, where
        positions in rooms decide.
        """
        raise ArgumentTypeError(f"strategy {self.get_name()} does not divide by machine room")


if TYPE_CHECKING:
    from typing_extensions import TypeVar  # the checker's own

    Inner = TypeVar("Inner", bound=Strategy, default=Strategy, covariant=True)
else:
    from typing import TypeVar

    Inner = TypeVar("Inner", bound=Strategy, covariant=True)  # of a strategy over another one


class ExclusiveStrategy(Strategy):
    """A strategy that gives every queue to at most one client, and only returns the caller's queue
    objects.
    """

    if TYPE_CHECKING:  # the method of `Strategy`, in a narrower type

        def assign(
            self, mq_all: Sequence[Queue], cid_all: Sequence[str], sort: bool = False
        ) -> Assignment[Queue]:
            """Return owners of all queues of one group; see `Strategy.assign`."""


class SharingStrategy(Strategy):
    """A strategy that may give a queue to several clients, so that a vector of owners cannot
    represent it.
    """

    is_shared = True

    _instead: str  # what to use, after the reason

    def assign_fleet(
        self,
        fleet: Fleet,
        out: Owners | None = None,
        on_error: Literal["raise", "report"] = "raise",
        threads: int | None = None,
    ) -> NoReturn:
        """Refused: a queue may go to several clients.

        Raises
        ------
        TypeError
            Always; the message names the method to use.
        """
        raise ArgumentTypeError(self._instead)

    def _owners(self, fleet: Fleet, out: Owners, threads: int = 1) -> None:
        self.assign_fleet(fleet, out)


class WrappingStrategy(Strategy, Generic[Inner]):
    """A strategy that wraps an inner strategy and takes over its properties where they hold."""

    def __init__(self, inner: Inner) -> None:
        self.inner = inner
        self.virtual_nodes, self.is_listed = inner.virtual_nodes, inner.is_listed
        self.is_shared = self.is_shared or inner.is_shared
        self.reads_rooms = self.reads_rooms or inner.reads_rooms

    @abstractmethod
    def _over(self, inner: Strategy) -> Strategy:
        """Return the same over another strategy."""

    def with_virtual_nodes(self, virtual_nodes: int) -> Strategy:
        """Return the same over the inner strategy with other virtual nodes."""
        return self._over(self.inner.with_virtual_nodes(virtual_nodes))

    def with_rooms(
        self, broker_room: Mapping[str, str] | None, client_room: Mapping[str, str] | None
    ) -> Strategy:
        """Return the same over the inner strategy with its machine rooms."""
        return self._over(self.inner.with_rooms(broker_room, client_room))


def as_of_now(items: Any) -> Any:
    """Copy a list, so that no other thread can change it; return anything else as it is."""
    return items.copy() if isinstance(items, list) else items


def in_order(mq_all: Any, cid_all: Any, sort: bool) -> tuple[Any, Any]:
    """Return the queues and client ids given to ``assign``, in Java's order if asked for."""
    return (
        (sort_queues(mq_all), sort_client_ids(cid_all))
        if sort
        else (as_of_now(mq_all), as_of_now(cid_all))
    )


def check_lists(mq_all: Sequence[Any] | None, cid_all: Sequence[str] | None) -> None:
    """Check the two lists as Java does, in its order and with its texts."""
    if type(mq_all) not in _LISTS or type(cid_all) not in _LISTS:
        _check_sequences(mq_all, cid_all)
    if not mq_all:
        raise ArgumentError(NO_QUEUES)
    if not cid_all:
        raise ArgumentError(NO_CLIENTS)


def _check_sequences(mq_all: Any, cid_all: Any) -> None:
    """Refuse arrays, sets and whatever else is not read by position as a list is."""
    for name, given in (("mq_all", mq_all), ("cid_all", cid_all)):
        if given is not None and not hasattr(given, "index"):
            raise ArgumentTypeError(
                f"{name} must be a sequence, such as a list, got {type(given).__name__}"
            )


def position_of(
    current_cid: str | None, mq_all: Sequence[Any] | None, cid_all: Sequence[str] | None
) -> int:
    """Return first place of a client, -1 if it is not there, after the checks all strategies begin
    with.

    ``AbstractAllocateMessageQueueStrategy.check`` and ``List.indexOf``.
    """
    if type(mq_all) not in _LISTS or type(cid_all) not in _LISTS:
        _check_sequences(mq_all, cid_all)
    if not current_cid:
        raise ArgumentError(NO_CURRENT)
    if not mq_all:
        raise ArgumentError(NO_QUEUES)
    if not cid_all:
        raise ArgumentError(NO_CLIENTS)
    if current_cid.isascii():
        try:
            return cid_all.index(current_cid)
        except ValueError:
            return -1
    # Two Python strings may be one to Java: a character above U+FFFF and its two surrogate halves.
    same = [
        client_id is not None and joined(client_id) == joined(current_cid) for client_id in cid_all
    ]
    return same.index(True) if True in same else -1


def group_fleet(mq_all: Sequence[Any], cid_all: Sequence[str]) -> Fleet:
    """Return one group as a fleet of one unit; a null topic or broker name reads ``null``, as in
    Java's text of a queue.
    """
    fields = map(queue_fields, mq_all)
    named = [
        (java_text(topic), java_text(broker_name), queue_id)
        for topic, broker_name, queue_id in fields
    ]
    return Fleet.from_groups([("", named[0][0], named, cid_all)])
