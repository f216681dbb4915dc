"""``POP``: how the broker shares queues among clients that pop messages."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from rmqalloc.errors import ArgumentError, ArgumentTypeError
from rmqalloc.fleet import Fleet, FleetError
from rmqalloc.fleet.columns import offsets_of, order_keys, ranges
from rmqalloc.fleet.fleet import units_alone
from rmqalloc.fleet.groups import check_client_ids
from rmqalloc.fleet.unit_errors import check_on_error
from rmqalloc.model import MessageQueue, Queue, SharedAssignment, queue_fields
from rmqalloc.strategies.base import (
    NO_CLIENTS,
    NO_CURRENT,
    NO_QUEUES,
    ExclusiveStrategy,
    Inner,
    SharingStrategy,
    Strategy,
    WrappingStrategy,
    as_of_now,
    in_order,
    position_of,
)
from rmqalloc.strategies.config import Config
from rmqalloc.strategies.parameters import Parameter

Listed = TypeVar("Listed")  # a queue of a list of CONFIG

WHOLE_BROKER = -1  # Java's queue id for "any queue of this broker"


class FleetShares(NamedTuple):
    """The queues that every client of every unit pops.

    Attributes
    ----------
    offsets : ndarray of int64, shape (fleet.client_offsets[-1] + 1,)
        Client slot ``s`` (of the unit by ``fleet.client_offsets``) pops
        ``queues[offsets[s]:offsets[s + 1]]``.
    queues : ndarray of int32
        Positions in the unit's list of queues, in Java's order, with repeats.
    whole_broker : ndarray of bool, shape (n_units,)
        Units in which every client pops every broker of the topic (queue id -1); their slots list
        nothing.
    refused : ndarray of bool, shape (fleet.client_offsets[-1],)
        Slots whose call Java refuses (``currentCID is empty``); they list nothing.
    """

    offsets: NDArray[np.int64]
    queues: NDArray[np.int32]
    whole_broker: NDArray[np.bool_]
    refused: NDArray[np.bool_]


class Pop(WrappingStrategy[Inner], SharingStrategy, name="POP"):
    """Each client gets its own share and the shares of the ``pop_share_queue_num`` clients after
    it.

    Parameters
    ----------
    inner : Strategy
        Splits the queues; the broker itself supports only AVG and AVG_BY_CIRCLE.
    pop_share_queue_num : int
        With 0 or less, or at least the number of clients minus 1, every client gets every broker as
        a whole.

    Raises
    ------
    TypeError
        ``inner`` is not a strategy, or ``pop_share_queue_num`` is not an integer.

    Notes
    -----
    ``QueryAssignmentProcessor.allocate4Pop`` of the broker. With more clients than queues, each
    client gets one queue, independent of the inner strategy and the share. The broker then makes a
    set of the list, which removes repeats.

    Examples
    --------
    >>> from rmqalloc import strategy
    >>> s = strategy("POP", inner=strategy("AVG"), pop_share_queue_num=1)
    >>> s.allocate("g", "a", [("t", "b", i) for i in range(4)], ["a", "b", "c", "d"])
    [('t', 'b', 0), ('t', 'b', 1)]
    """

    parameters = (
        Parameter("inner", "strategy", "Strategy that splits the queues", is_needed=True),
        Parameter(
            "pop_share_queue_num",
            "count",
            "Clients whose shares a client reads in addition to its own",
            default=-1,
        ),
    )
    _instead = "POP gives a queue to several clients, so it has no single owner; use share_fleet"

    def __init__(self, inner: Inner, pop_share_queue_num: int = -1) -> None:
        if not isinstance(inner, Strategy):
            raise ArgumentTypeError(f"inner must be a strategy, got {inner!r}")
        if isinstance(pop_share_queue_num, bool) or not hasattr(pop_share_queue_num, "__index__"):
            raise ArgumentTypeError(
                f"pop_share_queue_num must be an integer, got {pop_share_queue_num!r}"
            )
        super().__init__(inner)
        self.pop_share_queue_num = int(pop_share_queue_num)

    def _over(self, inner: Any) -> Strategy:
        return type(self)(inner, self.pop_share_queue_num)

    def get_name(self) -> str:
        """``POP``; in Java it is a mode of the broker, not a named strategy."""
        return "POP"

    def _is_whole(self, n_clients: Any) -> Any:
        return (self.pop_share_queue_num <= 0) | (n_clients - 1 <= self.pop_share_queue_num)

    @overload
    def allocate(
        self: Pop[ExclusiveStrategy],
        consumer_group: str,
        current_cid: str,
        mq_all: Sequence[Queue],
        cid_all: Sequence[str],
    ) -> list[Queue | MessageQueue]: ...
    @overload
    def allocate(
        self: Pop[Config[Listed]],
        consumer_group: str,
        current_cid: str,
        mq_all: Sequence[Queue],
        cid_all: Sequence[str],
    ) -> list[Queue | Listed | MessageQueue]: ...
    @overload
    def allocate(
        self, consumer_group: str, current_cid: str, mq_all: Sequence[Any], cid_all: Sequence[str]
    ) -> list[Any]: ...
    def allocate(
        self, consumer_group: str, current_cid: str, mq_all: Sequence[Any], cid_all: Sequence[str]
    ) -> list[Any]:
        """Return queues that one client pops; new ``MessageQueue(topic, broker_name, -1)`` if it
        gets whole brokers.
        """
        mq_all, cid_all = as_of_now(mq_all), as_of_now(cid_all)
        if mq_all is None or (cid_all is None and self.pop_share_queue_num > 0):
            missing = "mq_all is null; give a list of queues"
            raise ArgumentTypeError(
                missing if mq_all is None else "cid_all is null; give a list of client ids"
            )
        if self.pop_share_queue_num <= 0 or self._is_whole(len(cid_all)):
            return [MessageQueue(*queue_fields(queue)[:2], WHOLE_BROKER) for queue in mq_all]  # type: ignore[arg-type]
        if len(cid_all) > len(mq_all):
            return _one_queue(current_cid, mq_all, cid_all)
        result = list(self._inner_share(consumer_group, current_cid, mq_all, cid_all))
        position = position_of(current_cid, mq_all, cid_all)
        if position >= 0:
            for step in range(1, self.pop_share_queue_num + 1):
                next_cid = cid_all[(position + step) % len(cid_all)]
                result += self._inner_share(consumer_group, next_cid, mq_all, cid_all)
        return result

    def _inner_share(
        self, consumer_group: str, client_id: str, mq_all: Sequence[Any], cid_all: Sequence[str]
    ) -> list[Any]:
        share = self.inner.allocate(consumer_group, client_id, mq_all, cid_all)
        if share is None:
            raise ArgumentTypeError(
                f"the inner strategy {self.inner.get_name()} answered null for client {client_id!r}"
            )
        return share

    @overload
    def assign(
        self: Pop[ExclusiveStrategy],
        mq_all: Sequence[Queue],
        cid_all: Sequence[str],
        sort: bool = False,
    ) -> SharedAssignment[Queue | MessageQueue]: ...
    @overload
    def assign(
        self: Pop[Config[Listed]],
        mq_all: Sequence[Queue],
        cid_all: Sequence[str],
        sort: bool = False,
    ) -> SharedAssignment[Queue | Listed | MessageQueue]: ...
    @overload
    def assign(
        self, mq_all: Sequence[Any], cid_all: Sequence[str], sort: bool = False
    ) -> SharedAssignment[Any]: ...
    def assign(
        self, mq_all: Sequence[Any], cid_all: Sequence[str], sort: bool = False
    ) -> SharedAssignment[Any]:
        """Return the queues that every client of one group pops; see `SharedAssignment`."""
        mq_all, cid_all = in_order(mq_all, cid_all, sort)
        check_client_ids(cid_all)
        return SharedAssignment.by_client(self, mq_all, cid_all)

    def _find_errors(self, fleet: Fleet, reasons: dict[int, str]) -> None:
        """Accept units that pop whole brokers without queues or clients; Java looks at neither."""
        malformed = {error.position for error in fleet.errors}
        whole = self._is_whole(fleet.n_clients)
        for unit in [unit for unit in reasons if whole[unit] and unit not in malformed]:
            del reasons[unit]
        self.inner._find_errors(self.inner._prepared(fleet), reasons)

    def share_fleet(
        self, fleet: Fleet, on_error: Literal["raise", "report"] = "raise"
    ) -> FleetShares:
        """Return the queues that every client of every unit pops.

        Parameters
        ----------
        fleet : Fleet
            Sorted by the caller.
        on_error : {"raise", "report"}
            With "report", the units of `fleet_errors` pop nothing.

        Returns
        -------
        FleetShares

        Raises
        ------
        FleetError
            A unit cannot be assigned and ``on_error`` is "raise".
        """
        check_on_error(on_error)
        errors = self.fleet_errors(fleet)
        if errors and on_error == "raise":
            raise FleetError(errors, fleet.n_units)
        bad = np.zeros(fleet.n_units, bool)
        bad[[error.position for error in errors]] = True
        whole = ~bad & self._is_whole(fleet.n_clients)
        single = ~bad & ~whole & (fleet.n_clients > fleet.n_queues)
        windowed = ~bad & ~whole & ~single
        unit, place = (
            np.repeat(np.arange(fleet.n_units), fleet.n_clients),
            ranges(fleet.slot_starts, fleet.n_clients),
        )
        slots = _Slots(
            unit, place, fleet.client_offsets[:-1][unit] + fleet.client_lists.first[place]
        )
        starts, lengths = np.zeros(
            (2, unit.size, 1 + self.pop_share_queue_num if windowed.any() else 1), np.int64
        )
        shares = _Shares(
            starts, lengths, np.zeros(unit.size, bool), np.arange(int(fleet.queue_offsets[-1]))
        )
        _take_one(fleet, slots, single[slots.unit], shares)
        _take_windows(fleet, slots, windowed, self.inner, shares)
        return FleetShares(*shares.flattened(slots, fleet), whole, shares.refused)


class _Slots(NamedTuple):
    """Every client slot of every unit."""

    unit: NDArray[np.int64]
    place: NDArray[np.int64]  # in the fleet's client lists
    first: NDArray[np.int64]  # the slot, numbered as here, where its client id first occurs


class _Shares(NamedTuple):
    """What the slots get: stretches of a pool that holds every unit's queues, side by side in
    ``width`` columns.
    """

    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    refused: NDArray[np.bool_]
    pool: NDArray[np.int64]

    def flattened(self, slots: _Slots, fleet: Fleet) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return offsets per slot, and the queues as places in their unit's list."""
        lengths = np.where(self.refused[:, None], 0, self.lengths)
        queues = self.pool[ranges(self.starts.reshape(-1), lengths.reshape(-1))]
        per_slot = lengths.sum(axis=1)
        places = queues - np.repeat(fleet.queue_offsets[:-1][slots.unit], per_slot)
        return offsets_of(per_slot), places.astype(np.int32)


def _take_one(fleet: Fleet, slots: _Slots, chosen: NDArray[np.bool_], shares: _Shares) -> None:
    """Give each client one queue, round and round, where there are more clients than queues; refuse
    a blank id.
    """
    unit = slots.unit[chosen]
    position = slots.first[chosen] - fleet.client_offsets[:-1][unit]
    shares.starts[chosen, 0] = fleet.queue_offsets[:-1][unit] + position % fleet.n_queues[unit]
    shares.lengths[chosen, 0] = 1
    ids = fleet.client_lists.client_ids
    first_byte = ids.values[np.minimum(ids.offsets[:-1][slots.place], ids.values.size - 1)]
    suspects = chosen & (
        fleet.client_lists.empty_id[slots.place] | (first_byte <= 0x20) | (first_byte >= 0x80)
    )
    for slot in np.flatnonzero(suspects).tolist():
        shares.refused[slot] = _is_blank(ids[int(slots.place[slot])])


def _take_windows(
    fleet: Fleet, slots: _Slots, units: NDArray[np.bool_], inner: Strategy, shares: _Shares
) -> None:
    """Give each client the inner share of its own and of the clients that follow it, round the
    list.
    """
    if not units.any():
        return
    owners = np.zeros(shares.pool.size, np.int32)
    mine = np.repeat(units, fleet.n_queues)
    owners[mine] = inner.assign_fleet(units_alone(fleet, np.flatnonzero(units)))
    # Queues grouped by owner, those of nobody first, so that a share is one stretch of the pool.
    base = np.repeat(fleet.queue_offsets[:-1], fleet.n_queues)
    shares.pool[:] = base + order_keys((owners + 1).astype(np.uint64), fleet.queue_offsets)
    owned = mine & (owners >= 0)
    owner_slots = (np.repeat(fleet.client_offsets[:-1], fleet.n_queues) + owners)[owned]
    loads = np.bincount(owner_slots, minlength=slots.unit.size)
    n_unowned = np.bincount(
        np.repeat(np.arange(fleet.n_units), fleet.n_queues)[mine & (owners < 0)],
        minlength=fleet.n_units,
    )
    before = offsets_of(loads)
    begins = (fleet.queue_offsets[:-1] + n_unowned - before[fleet.client_offsets[:-1]])[
        slots.unit
    ] + before[:-1]
    chosen = np.flatnonzero(units[slots.unit])
    unit, empty = slots.unit[chosen], fleet.client_lists.empty_id[slots.place]
    bottom, size = fleet.client_offsets[:-1][unit], fleet.n_clients[unit]
    for step in range(shares.starts.shape[1]):
        asked = bottom + (slots.first[chosen] - bottom + step) % size
        holder = slots.first[asked]
        shares.starts[chosen, step] = begins[holder]
        shares.lengths[chosen, step] = loads[holder]
        shares.refused[chosen] |= empty[asked]


def _one_queue(current_cid: str | None, mq_all: Sequence[Any], cid_all: Sequence[str]) -> list[Any]:
    """Return exactly one queue, where there are more clients than queues."""
    if current_cid is None or _is_blank(current_cid):
        raise ArgumentError(NO_CURRENT)
    if not mq_all:
        raise ArgumentError(NO_QUEUES)
    if not cid_all:
        raise ArgumentError(NO_CLIENTS)
    position = position_of(current_cid, mq_all, cid_all)
    return [mq_all[position % len(mq_all)]] if position >= 0 else []


def _is_blank(text: str) -> bool:
    """Return whether a text is white space to Java alone: no-break spaces do not count, the
    separators U+001C to U+001F do.

    Examples
    --------
    >>> [_is_blank(text) for text in ("", " \\t", "\\u3000", "\\u00a0", "a")]
    [True, True, True, False, False]
    """
    return all(
        c in "\t\n\x0b\f\r\x1c\x1d\x1e\x1f"
        or (unicodedata.category(c)[0] == "Z" and c not in "\u00a0\u2007\u202f")
        for c in text
    )
