"""``ORDINAL/1`` and ``ORDINAL/2``: few moves, by slot numbers of client ids.
docs/reference/ordinal.md defines both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc._engine import names, slots
from rmqalloc.errors import ArgumentError, ArgumentTypeError
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.columns import Index, Offsets, longest_of, offsets_of, utf8_of
from rmqalloc.strategies._numbers import (
    Kernel,
    MakeKernel,
    Numbers,
    by_unit,
    own_slots,
    queue_numbers,
    topic_hashes,
)
from rmqalloc.strategies._one_group import DividesOneGroup
from rmqalloc.strategies._reasons import EMPTY_ID, Queues, Reasons
from rmqalloc.strategies.base import Owners, group_fleet
from rmqalloc.strategies.owner_vectors import vacate
from rmqalloc.strategies.parameters import Parameter

DEFAULT_PATTERN = "-#"
"""Where the slot stands in an instance name: at its end, after a dash."""

NO_PART = -2
"""The slot of a client that takes no part, as the kernel takes it."""


# Tables: orders of up to six slots, for 1 to 60 queues, that balance every subset of the slots.
EVEN = 60
DIGITS = 6
FILE = "ordinal-tables.txt"


class _Numbered(NamedTuple):
    """The numbers of clients."""

    counts: Index  # of every client list, how many numbers it has
    of_entries: Index  # of every entry of the client lists, its number


class Ordinal(DividesOneGroup, name="ORDINAL/1"):
    """Queues stay with slot numbers that survive a restart; if a slot below the highest leaves,
    only its queues move.

    Parameters
    ----------
    pattern : str
        End of the instance name in a client id: a text with one ``#`` for the slot number. All
        clients must use the same pattern, or queues have several owners.
    tables : bool
        Use tables for up to six slots: no excess move under any pattern of failures. See the page.

    Raises
    ------
    ValueError
        The pattern has no ``#`` or several, or a digit beside it.
    TypeError
        A parameter is of the wrong type.

    Notes
    -----
    Not a strategy of RocketMQ. Clients need the class of the Java artifact or the function of the
    Go module; POP and gRPC groups cannot use it, because brokers divide their queues. The consumer
    group is not read.

    Examples
    --------
    >>> queues = [("T", "broker-a", i) for i in range(6)]
    >>> ids = ["10.0.0.7@web-0", "10.0.0.9@web-1", "10.0.0.8@web-2"]
    >>> before = Ordinal().assign(queues, ids).owners
    >>> after = Ordinal().assign(queues, [ids[0], ids[2]]).owners  # web-1 is restarted
    >>> [int(one) for one, other in zip(before, after) if one != [0, 2][other]]
    [1, 1]
    """

    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter(
            "pattern",
            "text",
            "Pattern of the slot number at the end of an instance name",
            metavar="PATTERN",
        ),
        Parameter("tables", "switch", "Go by tables, for up to six slots"),
    )
    guesses: ClassVar[tuple[Mapping[str, Any], ...]] = ({}, {"tables": True})
    weighed: ClassVar[tuple[Mapping[str, Any], ...]] = ({},)
    reads_slots = True
    _takes_empty = True
    _is_chained = False

    def __init__(self, pattern: str = DEFAULT_PATTERN, tables: bool = False) -> None:
        if not isinstance(pattern, str):
            raise ArgumentTypeError(
                f"pattern must be a text such as {DEFAULT_PATTERN!r}, got {pattern!r}"
            )
        before, sharp, after = pattern.partition("#")
        if not sharp or "#" in after or before[-1:].isdigit() or after[:1].isdigit():
            raise ArgumentError(
                f"pattern must have one # and no digit beside it, such as {DEFAULT_PATTERN!r}, got {pattern!r}"
            )
        if not isinstance(tables, bool | np.bool_):
            raise ArgumentTypeError(f"tables must be True or False, got {tables!r}")
        self.pattern, self.tables = pattern, bool(tables)
        self._around = utf8_of(before), utf8_of(after)

    def get_name(self) -> str:
        """``ORDINAL/1``: the version is that of the definition, because clients with different
        definitions would own queues twice.
        """
        return "ORDINAL/1"

    def _find_errors(self, fleet: Fleet, reasons: dict[int, str]) -> None:
        if not self.tables or not fleet.n_units:
            return
        numbered = self._numbered(fleet).counts[fleet.unit_client_list]
        most = tables().slots_for(fleet.n_queues)
        for unit in np.flatnonzero((numbered > most) & (fleet.n_queues > 0)).tolist():
            text = f"{fleet.n_queues[unit]} queues have a table of {most[unit]} slots, the highest is {numbered[unit] - 1}"
            reasons.setdefault(unit, text)

    def _taking_part(self, fleet: Fleet) -> Index:
        """Return the slot of every entry of the client lists."""
        ids = fleet.client_lists.client_ids
        found = np.empty(len(ids), np.int32)
        begins, ends = (np.frombuffer(text, np.uint8) for text in self._around)
        names.find_slots(ids.values, ids.offsets, begins, ends, found)
        found[~own_slots(fleet)] = NO_PART
        return found

    def _numbered(self, fleet: Fleet) -> _Numbered:
        lists = fleet.client_lists
        n_numbers, numbers = (
            np.empty(lists.offsets.size - 1, np.int32),
            np.empty(len(lists.client_ids), np.int32),
        )
        scratch = np.empty(slots.scratch_size(0, longest_of(lists.offsets)), np.int32)
        slots.number(lists.offsets, self._taking_part(fleet), scratch, n_numbers, numbers)
        return _Numbered(n_numbers, numbers)

    def _owners(self, fleet: Fleet, out: Owners, threads: int = 1) -> None:
        if fleet.is_sparse:
            fleet = fleet.own_lists()
        if fleet.empty_units.size:
            vacate(fleet, fleet.empty_units, out)
        seeds, found = topic_hashes(fleet), self._taking_part(fleet)
        by_unit(
            fleet,
            threads,
            (self._by_tables if self.tables else self._by_draws)(fleet, seeds, found, threads, out),
        )

    def _by_draws(
        self, fleet: Fleet, seeds: Numbers, found: Index, threads: int, out: Owners
    ) -> MakeKernel:
        numbers = queue_numbers(fleet, threads, np.uint64)
        starts = fleet.queue_offsets[:-1]

        def make(most_queues: int, most_clients: int) -> Kernel:
            scratch = np.empty(slots.scratch_size(most_queues, most_clients), np.int32)
            return lambda units: slots.own(
                starts[units], fleet.n_queues[units], fleet.queue_starts[units], fleet.slot_starts[units],
                fleet.n_clients[units], seeds[units], numbers, found, scratch, out, self._is_chained,
            )  # fmt: skip

        return make

    def _by_tables(
        self, fleet: Fleet, seeds: Numbers, found: Index, threads: int, out: Owners
    ) -> MakeKernel:
        starts, orders = fleet.queue_offsets[:-1], tables()

        def make(most_queues: int, most_clients: int) -> Kernel:
            scratch = np.empty(slots.scratch_size(0, most_clients), np.int32)
            return lambda units: slots.by_orders(
                starts[units], fleet.n_queues[units], fleet.slot_starts[units], fleet.n_clients[units], seeds[units],
                found, orders.digits, orders.starts, orders.n_slots, scratch, out,
            )  # fmt: skip

        return make

    def _divide(
        self,
        queues: tuple[Any, ...],
        client_ids: tuple[str, ...],
        position: int,
        out: Owners | None,
    ) -> list[Any] | int | None:
        return (
            None
            if self.tables
            else slots.own_group(queues, client_ids, *self._around, self._is_chained, position, out)
        )

    def _explain(self, queues: Queues, client_ids: Sequence[str], position: int) -> Reasons:
        """Return the numbers of the clients, and whether the queue stands in for one that is
        missing.
        """
        reasons, owner = Reasons(), self.owner_of(queues, client_ids, position)
        fleet = group_fleet(queues, client_ids)
        numbered = self._numbered(fleet)
        n = int(numbered.counts[fleet.unit_client_list[0]])
        numbers = numbered.of_entries.tolist()
        if owner < 0:
            reasons.say(EMPTY_ID)
            return reasons
        missing = sorted(set(range(n)) - set(numbers))
        holes = f", of which {len(missing)} are missing" if missing else ""
        reasons.say(f"the clients have numbers 0 to {n - 1}{holes}", n_numbers=n, missing=missing)
        if missing:
            full = [f"x@{i}{self.pattern.replace('#', str(i))}" for i in range(n)]
            at_home = self.owner_of(queues, full, position)
            where = (
                "which is present"
                if at_home not in missing
                else "which is missing: its queues go to present numbers by their draws"
            )
            reasons.say(
                f"with all numbers present, the queue belongs to number {at_home}, {where}",
                home=at_home,
            )
        reasons.say(f"number {numbers[owner]} is client {client_ids[owner]}", number=numbers[owner])
        return reasons


class Ordinal2(Ordinal, name="ORDINAL/2"):
    """Queues stay with slot numbers; if any slot leaves, only its queues move.

    Lost brokers and added queues move more than under ``ORDINAL/1`` if a group has unusually few or
    many slots for its queues: see the page. ``ORDINAL`` without a version is ``ORDINAL/1``.

    Parameters
    ----------
    pattern : str
        As for `Ordinal`.

    Raises
    ------
    ValueError
        The pattern has no ``#`` or several, or a digit beside it.
    TypeError
        The pattern is of the wrong type.

    Examples
    --------
    >>> queues = [("T", "broker-a", i) for i in range(24)]
    >>> ids = [f"10.0.0.{i}@web-{i}" for i in range(5)]
    >>> before, after = Ordinal2().assign(queues, ids).owners, Ordinal2().assign(queues, ids[:4]).owners
    >>> sorted({int(one) for one, other in zip(before, after) if one != other})
    [4]
    """

    parameters = Ordinal.parameters[:1]
    guesses = ({},)
    weighed = ()
    named_in_full = True
    _is_chained = True

    def __init__(self, pattern: str = DEFAULT_PATTERN) -> None:
        super().__init__(pattern)

    def get_name(self) -> str:
        """``ORDINAL/2``."""
        return "ORDINAL/2"


class OrderTables(NamedTuple):
    """Orders for 1 to 60 queues."""

    digits: NDArray[
        np.uint8
    ]  # uint8, shape (6 * n_orders,): Those past the slots of an order are 255
    starts: Offsets  # int64, shape (61,): First order of the table for so many queues
    n_slots: Index  # int32, shape (61,)

    def slots_for(self, n_queues: Index) -> Index:
        """Return how many slots the table for so many queues has."""
        rest = n_queues % EVEN
        return self.n_slots[np.where(rest == 0, EVEN, rest)]


@cache
def tables() -> OrderTables:
    """Return the tables of this package.

    Examples
    --------
    >>> tables().slots_for(np.array([2, 3, 60, 120])).tolist()
    [6, 4, 6, 6]
    """
    from importlib.resources import files  # brings tempfile and more, for one strategy

    lines = files(__package__).joinpath(FILE).read_text("ascii").splitlines()
    n_slots, digits = np.zeros(EVEN + 1, np.int32), []
    for n_queues, line in enumerate(lines, 1):
        _, k, *orders = line.split()
        n_slots[n_queues] = int(k)
        digits += [order.ljust(DIGITS, "~") for order in orders]
    found = np.frombuffer("".join(digits).encode(), np.uint8)
    in_order = np.where(found == ord("~"), 255, found - ord("0")).astype(np.uint8)
    return OrderTables(in_order, offsets_of(range(EVEN + 1))[:-1], n_slots)
