"""Functions for ``DataFrame.transform``."""

import os
from collections.abc import Callable, Iterable
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema
from pyspark.sql.types import StructField, StructType

from rmqalloc.errors import ArgumentError, ArgumentTypeError
from rmqalloc.evaluation.batch_planning import BEST_BY, PlanSpec
from rmqalloc.evaluation.parquet_plan import refuse_schema
from rmqalloc.evaluation.unit_files import INPUT_COLUMNS, read_columns
from rmqalloc.scenarios import Scenario, read_scenarios, scenarios_of
from rmqalloc.snapshot.examples import PREFIX, find
from rmqalloc.strategies import STRATEGIES
from spark_udfs._carried_columns import Carry, carried_fields, checked_carry, through_arrow
from spark_udfs._read_columns import readable
from spark_udfs.map_in_arrow import ClientLoads, ExpandOwners, PlanBatches
from spark_udfs.sent import Sent

__all__ = ["assign", "client_load", "expand_owners", "plan"]

Transform = Callable[[DataFrame], DataFrame]
Scenarios = str | os.PathLike[str] | Iterable[Any]


def plan(
    scenarios: Scenarios = (),
    strategy: str = "AVG",
    output: str = "metrics",
    best_by: Iterable[str] = BEST_BY,
    *,
    carry: Carry = True,
    **params: Any,
) -> Transform:
    """Plan scenarios for every row's consumer group and topic.

    Parameters
    ----------
    scenarios : path or iterable
        A file of scenarios on the driver (`rmqalloc.scenarios.read_scenarios`), or
        ``example:NAME``; or scenarios for `rmqalloc.scenarios.scenarios_of`. They are sent to the
        workers without a cross join or a shuffle.
    strategy : str
        RocketMQ's name of the strategy for rows without a name in the column ``strategy``.
    output : {"metrics", "owners", "best"}
        See `rmqalloc.evaluation.PlanSpec`, like ``best_by``.
    carry : bool or iterable of str
        Columns of the table to append to those of the plan, of any type, unchanged and in every
        row of their unit: all columns that the plan does not read, none, or the named columns,
        which may include columns that it reads, such as ``client_ids``. A plan has a column
        ``strategy`` of its own with the strategy that was used.
    **params
        Parameters of the strategy, e.g. ``virtual_nodes=160``.

    Returns
    -------
    callable
        Maps a table with the columns that `rmqalloc.evaluation.plan_batch` reads to its result. A
        bad row becomes a row with an ``err_code``, and keeps its further columns. Names of columns
        and fields match without regard to case, unless ``spark.sql.caseSensitive`` is set.

    Raises
    ------
    ValueError, TypeError
        The strategy, a parameter or a scenario is wrong (raised at once); or the table lacks
        columns, or a carried column has the name of a column of the plan or a type that Arrow in
        Python does not have (raised when the table is given).
    OSError
        The file of scenarios cannot be read.

    Examples
    --------
    >>> from spark_udfs.transforms import plan
    >>> one_less = {"name": "one less", "changes": [{"remove_clients": {"count": 1}}]}
    >>> plans = spark.read.parquet("fleet").transform(plan([one_less], "AVG"))  # doctest: +SKIP
    """
    return mapped(
        PlanBatches(spec_of(scenarios, strategy, output, tuple(best_by), params)),
        checked_carry(carry),
    )


def assign(strategy: str = "AVG", *, carry: Carry = True, **params: Any) -> Transform:
    """Assign the queues of every row's consumer group: `plan` without scenarios, with its owners.

    Unused columns of the table are appended to the result, see ``carry`` of `plan`.

    Examples
    --------
    >>> from spark_udfs.transforms import assign
    >>> owners = spark.read.parquet("fleet").transform(assign("AVG"))  # doctest: +SKIP
    """
    return plan(strategy=strategy, output="owners", carry=carry, **params)


def expand_owners(
    scenarios: Scenarios = (), strategy: str = "AVG", *, carry: Carry = True, **params: Any
) -> Transform:
    """Name the owner of every queue, see `rmqalloc.evaluation.expand_owners`; same arguments as
    `plan`.
    """
    return mapped(
        ExpandOwners(spec_of(scenarios, strategy, "metrics", BEST_BY, params)), checked_carry(carry)
    )


def client_load(
    scenarios: Scenarios = (), strategy: str = "AVG", by: str = "client_id", **params: Any
) -> Transform:
    """Count the queues of every client or host, over all topics and groups, see
    `rmqalloc.evaluation.sum_loads`.

    Only sums are shuffled. Arguments are those of `plan`.

    Raises
    ------
    ValueError, TypeError, OSError
        See `plan`; or ``by`` is neither "client_id" nor "host".
    """
    if by not in ("client_id", "host"):
        raise ArgumentError(f'by must be "client_id" or "host", got {by!r}')
    parts = mapped(ClientLoads(spec_of(scenarios, strategy, "metrics", BEST_BY, params)))
    keys = ["scenario", "host", "client_id"] if by == "client_id" else ["scenario", "host"]
    sums = [F.sum(name).alias(name) for name in ("n_units", "n_queues")]
    return lambda units: parts(units).groupBy(*keys).agg(*sums)


def spec_of(
    scenarios: Scenarios,
    strategy: str,
    output: str,
    best_by: tuple[str, ...],
    params: dict[str, Any],
) -> PlanSpec:
    """Return the spec of a plan, checked on the driver."""
    for name, given in (("scenarios", scenarios), ("strategy", strategy)):
        if isinstance(given, DataFrame):
            made = "plan()" if name == "scenarios" else "assign()"
            raise ArgumentTypeError(
                f"{name} must be {_WANTED[name]}, got a table; call it: transform({made})"
            )
        if isinstance(given, Column):
            other = (
                "put it in a column `strategy`"
                if name == "strategy"
                else "scenarios are the same for all rows"
            )
            raise ArgumentTypeError(f"{name} must be {_WANTED[name]}, got a Column; {other}")
    if not isinstance(strategy, str):
        raise ArgumentTypeError(f"strategy must be {_WANTED['strategy']}, got {strategy!r}")
    return PlanSpec(strategy, params, _tried(scenarios), output, best_by)


_WANTED = {"scenarios": "a file, example:NAME or a list", "strategy": "a name"}


def _tried(scenarios: Scenarios) -> tuple[Scenario, ...]:
    """Read scenarios from whatever names or holds them."""
    if isinstance(scenarios, str) and scenarios in STRATEGIES:
        raise ArgumentTypeError(
            f"scenarios must be {_WANTED['scenarios']}, got the strategy {scenarios}: give strategy={scenarios!r}"
        )
    if isinstance(scenarios, str | os.PathLike):
        is_example = isinstance(scenarios, str) and scenarios.startswith(PREFIX)
        return read_scenarios(find(str(scenarios), "scenarios").path if is_example else scenarios)
    if not isinstance(scenarios, Iterable):
        raise ArgumentTypeError(f"scenarios must be {_WANTED['scenarios']}, got {scenarios!r}")
    given = tuple(scenarios)
    return scenarios_of(given) if given else ()


def mapped(kernel: PlanBatches, carry: bool | tuple[str, ...] = False) -> Transform:
    """Return a transform that sends only the columns that are used or carried through the
    workers.
    """
    own = [StructField(field.name, from_arrow_type(field.type)) for field in kernel.schema]

    def send(sent: DataFrame, names: list[str], fields: list[StructField]) -> DataFrame:
        schema = StructType([*own, *fields])
        return sent.mapInArrow(Sent(type(kernel)(kernel.spec, names)), schema)

    def transform(units: DataFrame) -> DataFrame:
        units, read = checked_units(units, kernel.spec)
        return through_arrow(units, read, carried_fields(units, carry, kernel.schema), send)

    return transform


def checked_units(units: DataFrame, spec: PlanSpec) -> tuple[DataFrame, list[str]]:
    """Return a table whose columns have the expected names, and these names; raise an error if it
    cannot be planned.
    """
    units = readable(units, INPUT_COLUMNS)
    read = read_columns(units.columns)
    refuse_schema(to_arrow_schema(units.select(read).schema), spec)
    return units, read
