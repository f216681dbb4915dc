"""Many groups as ragged columns."""

from __future__ import annotations

import weakref
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from rmqalloc.dataclass import dataclass
from rmqalloc.errors import ArgumentTypeError, installation_hint
from rmqalloc.fleet.checked_columns import check_kind, check_rows, replaced, unchecked
from rmqalloc.fleet.columns import (
    Index,
    Offsets,
    Strings,
    distinct,
    distinct_rows,
    offsets_of,
    ranges,
)
from rmqalloc.fleet.irregular import IrregularUnits
from rmqalloc.fleet.lists import ClientLists, QueueLists
from rmqalloc.fleet.positions import counted_owners, position, positions
from rmqalloc.fleet.unit_errors import UnitError
from rmqalloc.fleet.unit_sizes import unit_sizes
from rmqalloc.lazy import lazy_property
from rmqalloc.model import MessageQueue
from rmqalloc.results.tabular import Rows, Tabular
from rmqalloc.text import counted

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False, repr=False)
class Fleet(Tabular):
    """Many *units*, a unit being one consumer group on one topic.

    Client lists and queue lists are stored once, and a unit refers to one of each. So a topic read
    by ten thousand groups, or a group of fifty topics, is stored, sorted and hashed once. Build a
    fleet with `from_groups` or `from_arrow`; the constructor takes columns, and raises TypeError or
    ValueError if they do not fit together.

    Attributes
    ----------
    consumer_groups : Strings, n_units rows
    topics, brokers, rooms : Strings
        Tables that units and routes refer to.
    unit_topic, unit_queue_list, unit_client_list : ndarray of int32, shape (n_units,)
    queue_lists : QueueLists
    client_lists : ClientLists
    errors : tuple of UnitError
        Units that are malformed (a null, a missing list); they have no queues or no clients.

    Examples
    --------
    >>> from rmqalloc import strategy
    >>> fleet = Fleet.from_groups([
    ...     ("g1", "orders", [("broker-a", 0), ("broker-a", 1), ("broker-a", 2)], ["x", "y"]),
    ...     ("g2", "orders", [("broker-a", 0), ("broker-a", 1), ("broker-a", 2)], ["z"]),
    ... ])
    >>> strategy("AVG").assign_fleet(fleet), fleet.queue_offsets
    (array([0, 0, 1, 0, 0, 0], dtype=int32), array([0, 3, 6]))
    >>> fleet
    <Fleet of 2 groups, 6 queues, 3 clients>
    """

    TABLES = ("units",)

    consumer_groups: Strings
    topics: Strings
    brokers: Strings
    rooms: Strings
    unit_topic: Index
    unit_queue_list: Index
    unit_client_list: Index
    queue_lists: QueueLists
    client_lists: ClientLists
    errors: tuple[UnitError, ...] = ()

    def __post_init__(self) -> None:
        tables = {
            "consumer_groups": Strings,
            "topics": Strings,
            "brokers": Strings,
            "rooms": Strings,
        }
        for name, kind in (
            tables | {"queue_lists": QueueLists, "client_lists": ClientLists}
        ).items():
            check_kind(getattr(self, name), kind, name)
        check_kind(self.errors, tuple, "errors")
        for error in self.errors:
            check_kind(error, UnitError, "errors")
            position(error.position, len(self.consumer_groups), "unit")
        n_units, queues, clients = len(self.consumer_groups), self.queue_lists, self.client_lists
        check_rows(self.unit_topic, n_units, len(self.topics), "unit_topic")
        check_rows(self.unit_queue_list, n_units, queues.offsets.size - 1, "unit_queue_list")
        check_rows(self.unit_client_list, n_units, clients.offsets.size - 1, "unit_client_list")
        check_rows(queues.route_topic, None, len(self.topics), "route_topic")
        check_rows(queues.route_broker, None, len(self.brokers), "route_broker")
        for name, room in (("route_room", queues.route_room), ("slot_room", clients.slot_room)):
            if room is not None:
                check_rows(room, None, len(self.rooms), name, least=-1)

    @classmethod
    def from_groups(
        cls, groups: Iterable[Any], on_error: Literal["raise", "report"] = "raise"
    ) -> Fleet:
        """Build a fleet from Python objects.

        Parameters
        ----------
        groups : iterable of (consumer_group, topic, queues, client_ids)
            ``queues`` holds queues in any form that `rmqalloc.model.queue_fields` takes, or pairs
            ``(broker_name, queue_id)`` that take the unit's topic; ``client_ids`` holds strings.
        on_error : {"raise", "report"}
            Raise an error for a malformed unit, or keep it without queues or clients and list it in
            ``errors``.

        Raises
        ------
        FleetError
            A unit is malformed and ``on_error`` is "raise". A unit of more than `MAX_PER_UNIT`
            queues or clients is malformed, too.
        TypeError
            An item is not a 4-tuple.
        """
        from rmqalloc.fleet.groups import columns_from_groups

        return unchecked(cls, **columns_from_groups(groups, on_error))

    @classmethod
    def from_arrow(cls, data: Any, on_error: Literal["raise", "report"] = "raise") -> Fleet:
        """Build a fleet from Arrow columns, without touching Python objects.

        Parameters
        ----------
        data : object with ``__arrow_c_stream__`` or ``__arrow_c_array__``
            A pyarrow, polars, pandas or DuckDB table. Columns: ``consumer_group`` and ``topic``
            (string), ``client_ids`` (list of string) and one of ``queues`` (list of struct
            ``broker_name, queue_id``) and ``brokers`` (list of struct ``broker_name,
            read_queue_nums``: ids 0 to n-1 of each). Optional ``client_rooms`` and
            ``broker_rooms``: lists of string beside the clients and beside the queues or brokers.
            Any string type; a unit with a text that is not UTF-8 is malformed.
        on_error : {"raise", "report"}
            Raise an error for a malformed unit, or keep it without queues or clients and list it in
            ``errors``.

        Raises
        ------
        FleetError
            A unit is malformed and ``on_error`` is "raise"; as `from_groups`.
        TypeError
            A column is missing or of the wrong type.
        """
        with installation_hint():
            from rmqalloc.fleet.arrow import columns_from_arrow

        return unchecked(cls, **columns_from_arrow(data, on_error))

    def to_arrow(  # type: ignore[override]
        self, owners: NDArray[np.int32] | str = "units"
    ) -> pa.Table:
        """Return owners as an Arrow table, one row per unit; without owners, the units and their
        sizes.

        Parameters
        ----------
        owners : ndarray of int32, shape (queue_offsets[-1],), optional
            What `rmqalloc.Strategy.assign_fleet` returns, or the name of the table without owners.

        Returns
        -------
        pyarrow.Table
            ``consumer_group``, ``topic`` and ``owners`` (list of int32), or ``n_queues`` and
            ``n_clients`` (int32) in place of the owners.

        Raises
        ------
        ArgumentError
            There is no table of that name.
        ArgumentTypeError, ArgumentError
            The owners are not one int32 per queue.
        ModuleNotFoundError
            pyarrow is not installed.
        """
        if isinstance(owners, str):
            return super().to_arrow(owners)
        with installation_hint():
            from rmqalloc.fleet.arrow import owners_table

        return owners_table(
            self._names_of_units(),
            self.queue_offsets,
            counted_owners(owners, int(self.queue_offsets[-1])),
        )

    def _table_of(self, name: str) -> pa.Table:
        from rmqalloc.fleet.arrow import units_table

        return units_table(self._names_of_units(), self.n_queues, self.n_clients)

    def _names_of_units(self) -> dict[str, Strings]:
        return {
            "consumer_group": self.consumer_groups,
            "topic": self.topics.take_unchecked(self.unit_topic),
        }

    def _in_short(self) -> str:
        of_unit, first_units = distinct_rows(
            self.consumer_groups.values, self.consumer_groups.offsets
        )
        n_lists = self.client_lists.offsets.size
        client_lists = distinct(of_unit.astype(np.int64) * n_lists + self.unit_client_list)
        n_clients = int(np.diff(self.client_lists.offsets)[client_lists % n_lists].sum())
        parts = [
            counted(first_units.size, "group"),
            counted(int(self.queue_offsets[-1]), "queue"),
            counted(n_clients, "client"),
        ]
        if self.errors:
            parts.append(counted(len(self.errors), "malformed unit"))
        return f"Fleet of {', '.join(parts)}"

    def _first_rows(self, most: int) -> tuple[Rows, int]:
        rows = []
        for unit in range(min(most, self.n_units)):
            group, topic = self.names_of(unit)
            sizes = {"n_queues": int(self.n_queues[unit]), "n_clients": int(self.n_clients[unit])}
            rows.append({"consumer_group": group, "topic": topic, **sizes})
        return rows, self.n_units

    @property
    def n_units(self) -> int:
        """Number of units."""
        return self.unit_queue_list.size

    @lazy_property
    def n_queues(self) -> Index:
        """Queues of each unit, int32, shape (n_units,)."""
        return unit_sizes(self.queue_lists.offsets, self.unit_queue_list, "queues", self.names_of)

    @lazy_property
    def n_clients(self) -> Index:
        """Clients of each unit, repeats counted, int32, shape (n_units,)."""
        return unit_sizes(
            self.client_lists.offsets, self.unit_client_list, "clients", self.names_of
        )

    @lazy_property
    def queue_offsets(self) -> Offsets:
        """Start of each unit's queues in an owners vector, int64, shape (n_units + 1,)."""
        return offsets_of(self.n_queues)

    @lazy_property
    def client_offsets(self) -> Offsets:
        """Start of each unit's clients in the concatenation of all client lists, int64, shape
        (n_units + 1,).
        """
        return offsets_of(self.n_clients)

    @lazy_property
    def queue_starts(self) -> Offsets:
        """First queue of each unit's list in `queue_lists`, int64, shape (n_units,)."""
        return self.queue_lists.offsets[self.unit_queue_list]

    @lazy_property
    def slot_starts(self) -> Offsets:
        """First slot of each unit's list in `client_lists`, int64, shape (n_units,)."""
        return self.client_lists.offsets[self.unit_client_list]

    @lazy_property
    def extent(self) -> tuple[int, int]:
        """Number of client slots and queues, in the lists or in the units, whichever is larger."""
        n_slots = max(int(self.client_lists.offsets[-1]), int(self.client_offsets[-1]))
        return n_slots, max(int(self.queue_lists.offsets[-1]), int(self.queue_offsets[-1]))

    @lazy_property
    def is_sparse(self) -> bool:
        """True if the units use less than half of the lists, as after a selection: see `own_lists`.

        A list counts once for every unit that uses it.
        """
        n_slots, n_queues = int(self.client_lists.offsets[-1]), int(self.queue_lists.offsets[-1])
        return (
            2 * int(self.client_offsets[-1]) < n_slots or 2 * int(self.queue_offsets[-1]) < n_queues
        )

    @lazy_property
    def empty_units(self) -> NDArray[np.int64]:
        """Units without queues or without clients."""
        return np.flatnonzero((self.n_queues == 0) | (self.n_clients == 0))

    @lazy_property
    def is_regular(self) -> bool:
        """True if no client id of any list is repeated or empty."""
        return not self.client_lists.irregular.any()

    @lazy_property
    def irregular(self) -> IrregularUnits:
        """Units with a repeated or empty client id."""
        return IrregularUnits.of(self.client_lists, self.unit_client_list)

    def irregular_alone(self) -> Fleet:
        """Return a fleet of only the irregular units and their lists."""
        odd = self.irregular
        rows, unit_queue_list = np.unique(self.unit_queue_list[odd.units], return_inverse=True)
        return replaced(
            units_alone(self, odd.units),
            unit_queue_list=unit_queue_list.astype(np.int32),
            unit_client_list=odd.unit_list,
            queue_lists=self.queue_lists.taken(rows.astype(np.int64)),
            client_lists=odd.lists,
        )

    def shares_memory(self, array: NDArray[Any]) -> bool:
        """Return True if an array shares memory with an array of this fleet."""
        if not isinstance(array, np.ndarray):
            raise ArgumentTypeError(f"array must be a numpy array, got {type(array).__name__}")
        # An array that was found apart stays so while it lives: whatever the fleet computes later
        # gets memory of its own.
        kept = self.__dict__
        apart, held = kept.get("_apart"), kept.get("_held")
        if apart is not None and apart() is array:
            return False
        if held is None or not held.is_current(self):
            kept.update(_apart=None, _held=None)  # so that they are counted
            held = kept["_held"] = HeldMemory(
                self, (Strings, QueueLists, ClientLists, IrregularUnits)
            )
        if held.overlaps(array):
            return True
        kept["_apart"] = weakref.ref(array)
        return False

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: value for name, value in self.__dict__.items() if name not in ("_apart", "_held")
        }

    # Units by position, below: as in a Python list, a negative one counts from the end, and none
    # out of bounds is taken.

    def consumer_group(self, unit: int) -> str:
        """Return the name of a unit's consumer group."""
        return self.consumer_groups[unit]

    def topic(self, unit: int) -> str:
        """Return the name of a unit's topic."""
        return self.topics[int(self.unit_topic[position(unit, self.n_units, "unit")])]

    def names_of(self, unit: int) -> tuple[str, str]:
        """Return names of a unit's consumer group and topic."""
        return self.consumer_group(unit), self.topic(unit)

    def client_ids_of(self, unit: int) -> list[str]:
        """Return the client ids of a unit, in the order of its list."""
        unit = position(unit, self.n_units, "unit")
        start = int(self.slot_starts[unit])
        return self.client_lists.client_ids.to_list(start, start + int(self.n_clients[unit]))

    def queues_of(self, unit: int) -> list[MessageQueue]:
        """Return queues of a unit, in the order of its list."""
        unit = position(unit, self.n_units, "unit")
        lists, start = self.queue_lists, int(self.queue_starts[unit])
        places = range(start, start + int(self.n_queues[unit]))
        return [
            MessageQueue(*self._names(lists.queue_route[i]), int(lists.queue_ids[i]))
            for i in places
        ]

    def _names(self, route: int) -> tuple[str, str]:
        lists = self.queue_lists
        return self.topics[lists.route_topic[route]], self.brokers[lists.route_broker[route]]

    def queue_places(self) -> Offsets:
        """Return the place in `queue_lists` of every queue of every unit, int64, shape
        (queue_offsets[-1],).
        """
        return ranges(self.queue_starts, self.n_queues)

    def select(self, units: NDArray[Any] | Sequence[int] | slice) -> Fleet:
        """Return a fleet of only the given units, over the same lists.

        Parameters
        ----------
        units : array or sequence of int, mask of bool, or slice
            Any NumPy index of a vector of ``n_units`` entries; units may repeat.

        Raises
        ------
        IndexError
            A unit is out of bounds, a mask does not have ``n_units`` entries, or the index is a
            scalar.

        Examples
        --------
        >>> fleet = Fleet.from_groups([(name, "orders", [("broker-a", 0)], ["x"]) for name in ("g1", "g2", "g3")])
        >>> fleet.select([-1, 0]).consumer_groups.to_list(), fleet.select(fleet.n_queues > 1).n_units
        (['g3', 'g1'], 0)
        """
        return units_alone(self, positions(units, self.n_units, "unit"))

    def own_lists(self) -> Fleet:
        """Return the same units over only the lists that they use."""
        client_rows, unit_client_list = np.unique(self.unit_client_list, return_inverse=True)
        queue_rows, unit_queue_list = np.unique(self.unit_queue_list, return_inverse=True)
        return replaced(
            self,
            unit_queue_list=unit_queue_list.astype(np.int32),
            unit_client_list=unit_client_list.astype(np.int32),
            queue_lists=self.queue_lists.taken(queue_rows.astype(np.int64)),
            client_lists=self.client_lists.taken(client_rows.astype(np.int64)),
        )

    def sorted(self) -> Fleet:
        """Return the same fleet in Java's sort order: queues by topic, broker name and id, clients
        by id.

        Notes
        -----
        ``MessageQueue.compareTo`` and ``String.compareTo``: text by UTF-16 code units, ids as
        signed integers. Stable, so equal queues and equal ids keep their order. Lists already in
        order are not copied.
        """
        queue_lists = self.queue_lists.sorted(self.topics, self.brokers)
        return with_lists(self, queue_lists, self.client_lists.sorted())


def with_lists(fleet: Fleet, queue_lists: QueueLists, client_lists: ClientLists) -> Fleet:
    """Return the same units over different lists of the same lengths."""
    counts = ("n_queues", "n_clients", "queue_offsets", "client_offsets")
    known = {name: fleet.__dict__[name] for name in counts if name in fleet.__dict__}
    return replaced(fleet, queue_lists=queue_lists, client_lists=client_lists, **known)


def listed_queues(fleet: Fleet) -> list[MessageQueue]:
    """Return every queue of the queue lists, in their order."""
    lists = fleet.queue_lists
    names = [fleet._names(route) for route in range(lists.route_topic.size)]
    rows: Iterable[tuple[int, int]] = zip(
        lists.queue_route.tolist(), lists.queue_ids.tolist(), strict=True
    )
    return [MessageQueue(*names[route], queue_id) for route, queue_id in rows]


def units_alone(fleet: Fleet, units: NDArray[Any]) -> Fleet:
    """`Fleet.select` without checks, for callers inside rmqalloc: positions from 0 to ``n_units -
    1``.
    """
    return replaced(
        fleet,
        consumer_groups=fleet.consumer_groups.take_unchecked(units),
        unit_topic=fleet.unit_topic[units],
        unit_queue_list=fleet.unit_queue_list[units],
        unit_client_list=fleet.unit_client_list[units],
        errors=(),
    )


# Which memory a fleet holds, so that nobody writes owners into it.


class HeldMemory:
    """The memory of every array that an object currently holds.

    Attributes of the object are only added, never replaced, so an equal number of attributes means
    equal attributes.

    Examples
    --------
    >>> class Column: ...
    >>> column = Column()
    >>> column.numbers = np.arange(6)
    >>> held = HeldMemory(column, (Column,))
    >>> held.overlaps(column.numbers[2:4]), held.overlaps(np.arange(6)), held.is_current(column)
    (True, False, True)
    >>> column.squares = column.numbers ** 2
    >>> held.is_current(column)
    False
    """

    def __init__(self, holder: object, kinds: tuple[type, ...]) -> None:
        self._n = len(
            vars(holder)
        )  # before they are looked at: other threads may keep more meanwhile
        # Without the holder's own, which would be a cycle and keep its memory until the next
        # collection.
        self._inner: list[dict[str, Any]] = []
        self._arrays: list[NDArray[Any]] = []
        for value in _values(holder):
            if isinstance(value, np.ndarray):
                self._arrays.append(value)
            elif isinstance(value, kinds) and value is not holder:
                inner = HeldMemory(value, kinds)
                self._inner += [vars(value), *inner._inner]
                self._n += inner._n
                self._arrays += inner._arrays
        bounds = sorted(
            (*_bounds(array), at) for at, array in enumerate(self._arrays) if array.size
        )
        self._starts, self._ends, self._at = (
            (list(column) for column in zip(*bounds, strict=True)) if bounds else ([], [], [])
        )
        self._longest = max((end - start for start, end, _ in bounds), default=0)

    def is_current(self, holder: object) -> bool:
        """Return True if no attribute was added to the holder since."""
        return len(vars(holder)) + sum(map(len, self._inner)) == self._n

    def overlaps(self, array: NDArray[Any]) -> bool:
        """Return True if an array shares memory with any of these arrays."""
        if not array.size:
            return False
        start, end = _bounds(array)
        # Whatever begins at or after the end, or so early that the longest of all would not reach
        # here, lies apart.
        near = range(
            bisect_right(self._starts, start - self._longest), bisect_right(self._starts, end - 1)
        )
        return any(
            self._ends[i] > start and np.shares_memory(self._arrays[self._at[i]], array)
            for i in near
        )


def _values(holder: object) -> Iterator[Any]:
    for value in list(vars(holder).values()):
        yield from value if isinstance(value, tuple) else (value,)


def _bounds(array: NDArray[Any]) -> tuple[int, int]:
    """Return first byte of an array, and the one after its last."""
    start = array.__array_interface__["data"][0]
    if array.flags.c_contiguous:
        return start, start + array.nbytes
    spans = [(n - 1) * stride for n, stride in zip(array.shape, array.strides, strict=True)]
    return start + sum(span for span in spans if span < 0), start + sum(
        span for span in spans if span > 0
    ) + array.itemsize
