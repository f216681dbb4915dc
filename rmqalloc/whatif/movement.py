"""What a change costs: the queues of every unit that get another owner, and how few could have."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rmqalloc._engine import tally
from rmqalloc.fleet import Fleet
from rmqalloc.fleet.columns import Strings, distinct_strings, list_positions, ranges
from rmqalloc.whatif.metrics import checked_owners


class Movement(NamedTuple):
    """Figures of every unit; each field is an int32 array of length ``n_units``.

    Attributes
    ----------
    moved : int32
        Queues whose owner's client id changes; one that only one side leaves to nobody has moved.
    least_moves : int32
        The fewest moves of any allocation that owns every queue and whose loads differ by one at most.
    """

    moved: NDArray[np.int32]
    least_moves: NDArray[np.int32]


def movement(
    before: Fleet, owners_before: NDArray[np.int32], after: Fleet, owners_after: NDArray[np.int32]
) -> Movement:
    """Compare two allocations of the same units and queues to client lists that may differ.

    Parameters
    ----------
    before, after : Fleet
        The same units with the same queues, each in one order.
    owners_before, owners_after : int32 arrays
        What ``Strategy.assign_fleet`` answers for each.

    Raises
    ------
    ValueError
        If the fleets differ in their units or queues, or owners do not fit their fleet.

    Examples
    --------
    >>> from rmqalloc import Fleet, strategy
    >>> queues = [("broker-a", i) for i in range(24)]
    >>> before, after = (Fleet.from_groups([("g", "T", queues, ids)]) for ids in (["1", "2", "3", "4"], ["1", "3", "4"]))
    >>> avg = strategy("AVG")
    >>> figures = movement(before, avg.assign_fleet(before), after, avg.assign_fleet(after))
    >>> int(figures.moved[0]), int(figures.least_moves[0])
    (8, 6)
    """
    if not np.array_equal(before.n_queues, after.n_queues):
        raise ValueError(
            f"the two fleets must have the same units with the same queues, got {before.n_units} units of "
            f"{before.queue_offsets[-1]} queues before and {after.n_units} of {after.queue_offsets[-1]} after"
        )
    owners_before, owners_after = checked_owners(before, owners_before), checked_owners(after, owners_after)
    moved, least = np.zeros((2, before.n_units), np.int32)
    if owners_before.size:
        offsets, slots, renamed = before.queue_offsets, before.client_offsets[:-1], _renamed(before, after)
        scratch = np.empty(int(before.n_clients.max()) + 1, np.int32)
        tally.moved(offsets, owners_before, owners_after, slots, renamed, moved)
        tally.least_moves(offsets, owners_before, before.n_clients, slots, renamed, after.n_clients, scratch, least)
    return Movement(moved, least)


def _renamed(before: Fleet, after: Fleet) -> NDArray[np.int32]:
    """First position after of each client before (units laid end to end), -1 where it is gone; never empty."""
    columns = [fleet.client_lists.client_ids for fleet in (before, after)]
    codes, names = distinct_strings(Strings.joined(columns))
    n_before = len(columns[0])
    wanted, have = (
        np.repeat(np.arange(fleet.n_units), fleet.n_clients) * (len(names) + 1)
        + own[ranges(fleet.slot_starts, fleet.n_clients)]
        for fleet, own in ((before, codes[:n_before]), (after, codes[n_before:]))
    )
    order = np.argsort(have, kind="stable")
    # A last entry that nobody asks for, so that there is always something to find.
    have = np.append(have[order], np.iinfo(np.int64).max)
    at = np.searchsorted(have, wanted)
    positions = np.append(list_positions(after.client_offsets)[order], -1)
    return np.append(np.where(have[at] == wanted, positions[at], -1), -1).astype(np.int32)
