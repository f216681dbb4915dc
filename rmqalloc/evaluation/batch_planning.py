"""Plan many units at once: Arrow record batches in, the figures before and after every scenario
out.

This module reads and writes Arrow; `rmqalloc.evaluation.evaluate` works in between. A row is
converted once, whatever the number of scenarios; a bad row is reported in its own rows and never
raises.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rmqalloc.dataclass import dataclass
from rmqalloc.errors import ArgumentError
from rmqalloc.evaluation.batch_sizes import MAX_NAME_BYTES, MAX_TEXT_OF_COLUMN, Sizes
from rmqalloc.evaluation.carried import check_carried, with_carried
from rmqalloc.evaluation.evaluate import KeptOutcomes, evaluate
from rmqalloc.evaluation.figures_table import (
    BEST_BY,
    CRITERIA,
    PLAN_SCHEMA,
    FiguresTable,
    figures_schema,
)
from rmqalloc.evaluation.row_check import ErrCode, counts_only, read_batch
from rmqalloc.evaluation.row_strategies import OF_TABLES
from rmqalloc.model import MAX_OF_ROW
from rmqalloc.scenarios import CURRENT
from rmqalloc.strategies import Strategy
from rmqalloc.strategies.by_name import whole_rule
from rmqalloc.strategies.spelled import with_params

if TYPE_CHECKING:
    from rmqalloc.scenarios import Scenario

__all__ = [
    "BEST_BY",
    "CRITERIA",
    "MAX_QUEUES_PER_BATCH",
    "PLAN_SCHEMA",
    "ErrCode",
    "PlanSpec",
    "figures_schema",
    "plan_batch",
    "plan_stream",
]

OUTPUTS = ("metrics", "owners", "best")

MAX_QUEUES_PER_BATCH = MAX_OF_ROW
"""Queues of one output batch at most: far below the 2**31 of Arrow's list offsets, and about 1 GiB while it is made."""


@dataclass(frozen=True)
class PlanSpec:
    """A specification of a plan: plain data, which can be pickled.

    Attributes
    ----------
    strategy : str
        Strategy of rows without a strategy, as `rmqalloc.strategy`; parameters may follow, as in
        ``CANARY(share=0.05)``, and are moved to ``params``.
    params : mapping
        Its parameters.
    scenarios : tuple of Scenario
        Scenarios, also in the form of `rmqalloc.scenarios.scenarios_of`.
    output : {"metrics", "owners", "best"}
        Per unit: a row for the present state and for every scenario; the same with owners; or only
        the row of the best scenario.
    best_by : tuple of str
        Columns of the plan that the best scenario minimises, most important first. Of equal
        scenarios, the first is best.

    Raises
    ------
    ValueError, TypeError
        A field is wrong.

    Examples
    --------
    >>> PlanSpec("AVG", scenarios=[{"name": "8 pods", "changes": [{"scale_clients": {"to": 8}}]}]).scenarios[0].name
    '8 pods'
    """

    strategy: str = "AVG"
    params: Mapping[str, Any] = field(default_factory=dict)
    scenarios: tuple[Scenario, ...] = ()
    output: str = "metrics"
    best_by: tuple[str, ...] = BEST_BY

    if TYPE_CHECKING:  # wider than the fields are once it is made

        def __init__(
            self,
            strategy: str = "AVG",
            params: Mapping[str, Any] = ...,
            scenarios: Iterable[Scenario | Mapping[str, Any]] = (),
            output: str = "metrics",
            best_by: Iterable[str] = BEST_BY,
        ) -> None: ...

    def __post_init__(self) -> None:
        name, params = with_params(self.strategy, self.params)
        object.__setattr__(self, "strategy", name)
        object.__setattr__(self, "params", params)
        self.rule()
        if self.scenarios:
            from rmqalloc.scenarios import scenarios_of

            object.__setattr__(self, "scenarios", scenarios_of(self.scenarios))
        else:
            object.__setattr__(self, "scenarios", ())
        object.__setattr__(self, "best_by", tuple(self.best_by))
        if self.output not in OUTPUTS:
            raise ArgumentError(f"output must be one of {', '.join(OUTPUTS)}, got {self.output!r}")
        if not self.best_by or not set(self.best_by) <= set(CRITERIA):
            raise ArgumentError(
                f"best_by must be some of {', '.join(CRITERIA)}, got {self.best_by!r}"
            )

    def rule(self) -> Strategy:
        """Return a new object of the strategy."""
        return whole_rule(self.strategy, **self.params)

    @property
    def names(self) -> list[str]:
        """Names of all states of a unit: that before any change, and the scenarios."""
        return [CURRENT, *(scenario.name for scenario in self.scenarios)]

    @property
    def schema(self) -> pa.Schema:
        """Columns of the plan."""
        return figures_schema(self.output)


def plan_batch(batch: pa.RecordBatch, spec: PlanSpec, carry: Sequence[str] = ()) -> pa.RecordBatch:
    """Plan every unit of a batch.

    Parameters
    ----------
    batch : pyarrow.RecordBatch
        The columns `rmqalloc.Fleet.from_arrow` reads: consumer_group, topic, brokers or queues,
        client_ids, and optionally broker_rooms and client_rooms. Optionally also ``strategy``
        (string), which takes the place of the spec's with parameters of its own, behind its name or
        in ``strategy_params`` (string, a JSON object of these parameters), and ``virtual_nodes``
        (integer); null means the spec's. And ``unit_err_msg`` (string): why the row could not be
        made, null if it could, see `spark_udfs.joins.units`. Other columns are not read.
    spec : PlanSpec
        Specification of the plan.
    carry : sequence of str
        Columns of the batch, of any type, to append to the plan; every row of a unit has the unit's
        values.

    Returns
    -------
    pyarrow.RecordBatch
        Schema ``spec.schema``, and behind it the columns to carry. A unit has a row for the state
        before any change (scenario "current") and one for each scenario, all together, units in the
        order of the batch; with the output "best" it has the row of its best scenario alone, or of
        "current" if there are no scenarios. The figures are those after the scenario (`Balance`)
        and what it moves (`Movement`), ``mean_load`` is queues over clients (0.0 without clients),
        ``cross_room`` is null where the table has no machine rooms, ``owners[i]`` belongs to the
        ``i``-th of the *sorted* queues after and is a position in the *sorted* client list after,
        -1 for an unowned queue.

        ``err_code`` is an `ErrCode`, 0 in a good row. In a bad row, ``err_msg`` states the fault,
        and every column except the names is null. A text that is not UTF-8, which Parquet files and
        Arrow columns can hold, makes its row bad; names are put out as UTF-8, with ``\\xNN`` for
        every byte that is none. A unit without clients or queues after a scenario is a result, not
        an error.

        A unit that cannot be assigned before any change (no clients, no queues, a strategy that is
        not known or refuses it) is bad in the row "current", and in the rows of scenarios that do
        not repair it. If a scenario repairs the unit, its queues are unowned before, so every queue
        that gets an owner has moved. Faults of the table (a null, a repeated queue, a unit that is
        too large) cannot be repaired by a scenario.

    Raises
    ------
    TypeError
        A column is missing or has the wrong type; this is an error of the table, not of a row.
    ValueError
        The output is "owners", and more may have to be put out than one column of lists holds, or
        names or columns to carry repeat too often for one batch; use `plan_stream`. Or a column to
        carry has the name of a column of the plan.
    KeyError
        A column to carry does not exist.

    Examples
    --------
    >>> batch = pa.RecordBatch.from_pylist([{
    ...     "consumer_group": "g", "topic": "T",
    ...     "brokers": [{"broker_name": "b", "read_queue_nums": 4}], "client_ids": ["c2", "c1", "c3"]}])
    >>> spec = PlanSpec("AVG", scenarios=[{"name": "one less", "changes": [{"remove_clients": {"count": 1}}]}])
    >>> [(row["scenario"], row["max_load"], row["moved"]) for row in plan_batch(batch, spec).to_pylist()]
    [('current', 2, 0), ('one less', 2, 1)]
    """
    sizes = Sizes.of(batch, spec.scenarios)
    too_large = sizes.too_large(MAX_QUEUES_PER_BATCH)
    if spec.output == "owners":
        sizes.check_owners(too_large)
    check_carried(carry, spec.schema)
    made = list(_planned(batch, spec, too_large, carry, MAX_TEXT_OF_COLUMN))
    if len(made) > 1:
        what = "columns to carry" if carry else "names"
        raise ArgumentError(
            f"the {what} repeat too often for one batch: use plan_stream, which divides a batch"
        )
    return made[0]


def plan_stream(
    batches: Iterable[pa.RecordBatch],
    spec: PlanSpec,
    max_queues: int = MAX_QUEUES_PER_BATCH,
    carry: Sequence[str] = (),
    most_bytes: int = MAX_NAME_BYTES,
) -> Iterator[pa.RecordBatch]:
    """Plan a stream of batches; a batch of very many queues, clients, rows or names comes out in
    several pieces.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch
        As `plan_batch`.
    spec : PlanSpec
        Specification of the plan.
    max_queues : int
        Queues of a piece at most, those of all its rows together if owners are put out. A row that
        may have more in any scenario is bad.
    carry : sequence of str
        As `plan_batch`.
    most_bytes : int
        Most bytes of the names of a piece, unless the piece is one row.

    Yields
    ------
    pyarrow.RecordBatch
        As `plan_batch`; all rows, in order.

    Raises
    ------
    TypeError, ValueError, KeyError
        As `plan_batch`.
    """
    check_carried(carry, spec.schema)
    # Of a unit of which one row is put out each state costs a number or two, a fourth of a row at
    # most.
    per_unit = -(-len(spec.names) // 4) if spec.output == "best" else len(spec.names)
    for piece, too_large in pieces(
        batches, spec.scenarios, max_queues, spec.output == "owners", per_unit
    ):
        yield from _planned(piece, spec, too_large, carry, most_bytes)


def too_large_rows(batch: pa.RecordBatch, spec: PlanSpec) -> dict[int, str]:
    """Return the rows of a batch that would take too much memory, and why."""
    return Sizes.of(batch, spec.scenarios).too_large(MAX_QUEUES_PER_BATCH)


def pieces(
    batches: Iterable[pa.RecordBatch],
    scenarios: Sequence[Scenario],
    max_queues: int,
    with_owners: bool,
    per_unit: int | None = None,
    with_names: bool = False,
) -> Iterator[tuple[pa.RecordBatch, dict[int, str]]]:
    """Cut batches into pieces that can be evaluated at once; each comes with its rows that are too
    large, and the reasons.

    A unit counts as ``per_unit`` rows, by default one row for each state. With ``with_names``,
    names are kept in every scenario.
    """
    for batch in batches:
        sizes = Sizes.of(batch, scenarios, with_names)
        for start, stop in sizes.pieces(max_queues, with_owners, per_unit or len(scenarios) + 1):
            yield (
                batch.slice(start, stop - start),
                sizes.of_rows(start, stop).too_large(max_queues, with_owners),
            )


def _planned(
    batch: pa.RecordBatch,
    spec: PlanSpec,
    too_large: dict[int, str],
    carry: Sequence[str],
    most_bytes: int,
) -> Iterator[pa.RecordBatch]:
    """Plan a batch without the rows that are too large, and put columns behind the plan."""
    rule, kept = spec.rule(), None
    if rule.decided_by == "counts" and not spec.params:
        kept = _kept(spec.strategy, type(rule), spec.scenarios)
        rule = kept.rule
    shares_lists = bool(spec.scenarios) or not counts_only(batch, rule, OF_TABLES)
    read = read_batch(batch, rule, too_large, OF_TABLES, shares_lists)
    evaluation = evaluate(read, spec.scenarios, kept=kept)
    table = FiguresTable(evaluation, batch.num_rows, spec.names)
    for planned, units in table.batches(batch, spec.output, spec.best_by, most_bytes):
        yield from with_carried(planned, batch, units, carry)


@lru_cache(maxsize=1)
def _kept(strategy: str, kind: type[Strategy], scenarios: tuple[Scenario, ...]) -> KeptOutcomes:
    """Return the outcomes that all batches of a run share: those of every thread, and of every task
    of a Spark worker.
    """
    return KeptOutcomes(whole_rule(strategy), len(scenarios))
