"""Units before any change: those that can be assigned, and those that cannot but might be after a scenario."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rmqalloc.evaluation.assigner import Assigner, Owners
from rmqalloc.evaluation.rows import Bad, Units, empties, read_batch
from rmqalloc.scenarios import Changed, Scenario, apply
from rmqalloc.strategies import Strategy


class After(NamedTuple):
    """Units after a scenario.

    Attributes
    ----------
    changed : Changed
    owners : ndarray of int32
        Of all queues, as positions in the sorted client lists, -1 for nobody.
    bad : dict of int to Reason
        Units that could not be assigned.
    """

    changed: Changed
    owners: Owners
    bad: Bad

    @property
    def good(self) -> NDArray[np.int64]:
        """The other units."""
        return np.delete(np.arange(self.changed.fleet.n_units), list(self.bad))


class Before(NamedTuple):
    """Units before any change, all of which can be assigned, or none.

    Attributes
    ----------
    units : Units
    assigner : Assigner
        What assigns them, and what scenarios make of them.
    owners : ndarray of int32
        Of all queues; -1 for all where the units cannot be assigned, for then nobody owns anything.
    bad : dict of int to Reason
        Why they cannot, by unit; empty if they can.
    """

    units: Units
    assigner: Assigner
    owners: Owners
    bad: Bad

    def after(self, scenario: Scenario) -> After:
        """What a scenario makes of the units.

        That a good unit is left without clients or queues is an outcome; one that could not be assigned before needs both.

        Raises
        ------
        TypeError
            As `rmqalloc.scenarios.apply`.
        """
        changed = apply(scenario, self.units.fleet, self.units.rules)
        owners, bad = self.assigner.owners(changed.fleet, changed.rules)
        return After(changed, owners, bad | empties(changed.fleet) if self.bad else bad)


def read_before(batch: pa.RecordBatch, default: Strategy, too_large: dict[int, str]) -> tuple[list[Before], Bad]:
    """The units of a batch before any change, and why rows are bad whatever a scenario changes.

    Parameters
    ----------
    batch, default, too_large
        As for `rmqalloc.evaluation.rows.read_batch`.

    Returns
    -------
    list of Before
        At least one of units that can be assigned; at its end, if there are any, one of those that cannot.
    dict of int to Reason
        Rows that are in none of them.

    Raises
    ------
    TypeError
        As `rmqalloc.evaluation.rows.read_batch`.
    """
    read = read_batch(batch, default, too_large)
    found, unassigned = [], dict(read.unassigned)
    for units in read.units:
        assigner = Assigner(units.fleet)
        owners, refused = assigner.owners(units.fleet, units.rules)
        if refused:
            unassigned |= {int(units.rows[unit]): reason for unit, reason in refused.items()}
            units = units.without(list(refused))
            owners, _ = assigner.owners(units.fleet, units.rules)
        found.append(Before(units, assigner, owners, {}))
    if unassigned:
        units = read.again(list(unassigned))
        nobody = np.full(int(units.fleet.queue_offsets[-1]), -1, np.int32)
        bad = {unit: unassigned[row] for unit, row in enumerate(units.rows.tolist())}
        found.append(Before(units, Assigner(units.fleet), nobody, bad))
    return found, read.spoiled
