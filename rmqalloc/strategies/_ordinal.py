"""``ORDINAL/1``: the fewest moves, by slot numbers that client ids carry. The definition is docs/strategies/ordinal.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rmqalloc._engine import names, slots
from rmqalloc.fleet import Fleet
from rmqalloc.fleet._columns import Index, Strings, utf8_of
from rmqalloc.strategies._base import ExclusiveStrategy, Owners
from rmqalloc.strategies._numbers import by_unit, own_slots, queue_numbers, topic_hashes, vacate, widened

from rmqalloc.strategies._parameters import Parameter
from rmqalloc.strategies._reasons import Queues, Reasons

DEFAULT_PATTERN = "-#"
"""Where the slot stands in an instance name: at its end, after a dash."""

NO_PART = -2
"""The slot of a client that takes no part, as the kernel takes it."""


class Ordinal(ExclusiveStrategy):
    """Queues stay with slot numbers that survive a restart; a slot that leaves moves its own queues and no others.

    Parameters
    ----------
    pattern : str
        What the instance name of a client id ends in: a text with one ``#`` where the slot number stands. Clients must use
        the same, or they own queues twice.
    tables : bool
        Go by tables for up to six slots: no excess move under any pattern of failures. See the page.

    Raises
    ------
    ValueError
        The pattern has no ``#`` or several, or a digit beside it.
    TypeError
        A parameter is of the wrong type.

    Notes
    -----
    No strategy of RocketMQ's. Clients need the class of the Java artifact or the function of the Go module; POP and gRPC
    groups cannot use it, for brokers divide their queues. The consumer group is not read.

    Examples
    --------
    >>> queues = [("T", "broker-a", i) for i in range(6)]
    >>> ids = ["10.0.0.7@web-0", "10.0.0.9@web-1", "10.0.0.8@web-2"]
    >>> before = Ordinal().assign(queues, ids).owners
    >>> after = Ordinal().assign(queues, [ids[0], ids[2]]).owners  # web-1 is restarted
    >>> [int(one) for one, other in zip(before, after) if one != [0, 2][other]]
    [1, 1]
    """

    parameters = (
        Parameter("pattern", "text", "Where the slot number stands at the end of an instance name", metavar="PATTERN"),
        Parameter("tables", "switch", "Go by tables, for up to six slots"),
    )
    guesses = ({},)
    _takes_empty = True

    def __init__(self, pattern: str = DEFAULT_PATTERN, tables: bool = False) -> None:
        if not isinstance(pattern, str):
            raise TypeError(f"pattern must be a text such as {DEFAULT_PATTERN!r}, got {pattern!r}")
        before, sharp, after = pattern.partition("#")
        if not sharp or "#" in after or before[-1:].isdigit() or after[:1].isdigit():
            raise ValueError(f"pattern must have one # and no digit beside it, such as {DEFAULT_PATTERN!r}, got {pattern!r}")
        if not isinstance(tables, bool | np.bool_):
            raise TypeError(f"tables must be True or False, got {tables!r}")
        self.pattern, self.tables = pattern, bool(tables)

    def get_name(self) -> str:
        """``ORDINAL/1``: the version is of the definition, since clients of different ones would own queues twice."""
        return "ORDINAL/1"

    def _slots(self, ids: Strings) -> Index:
        before, _, after = self.pattern.partition("#")
        found = np.empty(len(ids), np.int32)
        texts = [np.frombuffer(utf8_of(text), np.uint8) for text in (before, after)]
        names.find_slots(ids.values, ids.offsets, *texts, found)
        return found

    def _find_errors(self, fleet: Fleet, reasons: dict[int, str]) -> None:
        if self.tables and fleet.n_units:
            for unit, reason in table_errors(self._table_fleet(fleet)).items():
                reasons.setdefault(unit, reason)

    def _table_fleet(self, fleet: Fleet) -> TableFleet:
        return TableFleet.of(fleet, self._taking_part(fleet))

    def _taking_part(self, fleet: Fleet) -> Index:
        found = self._slots(fleet.client_lists.client_ids)
        found[~own_slots(fleet)] = NO_PART
        return found

    def _owners(self, fleet: Fleet, out: Owners, threads: int = 1) -> None:
        if fleet.is_sparse:
            fleet = fleet.own_lists()
        if fleet.empty_units.size:
            vacate(fleet, fleet.empty_units, out)
        if self.tables:
            self._table_fleet(fleet).own(out)
            return
        numbers, found = queue_numbers(fleet, threads), self._taking_part(fleet)
        columns = (
            fleet.queue_offsets[:-1], fleet.n_queues, fleet.queue_starts, fleet.slot_starts, fleet.n_clients,
            widened(topic_hashes(fleet)),
        )  # fmt: skip

        def make(most_queues: int, most_clients: int) -> Any:
            scratch = np.empty(slots.scratch_size(most_queues, most_clients), np.int32)

            def own(first: int, last: int) -> None:
                slots.own(*(column[first:last] for column in columns), numbers, found, scratch, out)

            return own

        by_unit(fleet.n_queues, fleet.n_clients, threads, make)

    def explain(self, queues: Queues, client_ids: Sequence[str], position: int) -> Reasons:
        """The number of the owner, and whether the queue is a stand-in's for a slot that is missing."""
        reasons = Reasons()
        owner = self.owner_of(queues, client_ids, position)
        numbers = client_numbers(self._slots(Strings.from_list(client_ids)), client_ids)
        n = max(numbers.values(), default=-1) + 1
        absent = n - len(numbers)
        reasons.say(
            f"{len(numbers)} clients have numbers, 0 to {n - 1}, {absent} of them missing; client {client_ids[owner]} has {numbers[owner]}",
            n_numbers=n, n_missing=absent, number=numbers[owner],
        )  # fmt: skip
        return reasons
