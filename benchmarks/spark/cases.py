"""What is measured: every table of the report as a list of cases."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from contenders import OURS, V2, Contender, contenders
from many_scenarios import SCENARIOS as THIRTY_TWO
from many_scenarios import planners
from measure import Case
from pyspark.sql import DataFrame, SparkSession
from uniform import write, write_one
from worker_rivals import N_SCENARIOS, PARAMS

from rmqalloc.evaluation.batch_planning import PlanSpec
from rmqalloc.evaluation.parquet_plan import plan_files
from spark_udfs import plan_table
from spark_udfs.transforms import assign

ONE_STRATEGY, SCENARIOS, ODD = "one strategy", "32 scenarios", "bad and giant units"
FILES, FILES_SCENARIOS = "Parquet to Parquet", "Parquet to Parquet, best of 32 scenarios"
ALIKE, ONE_BAD, ONE_GIANT = (
    "all units good and alike",
    "with one bad unit",
    "with one unit of a million queues",
)
FILE_JOB, THREADS = "file job", "no Spark: `plan_files`, two threads"

SMALL, FEW, CHECKED = 30_000, 3_000, 1_000
"""Units for those who need a tenth of a millisecond for one, for those who need milliseconds, and for comparison."""


class Units(NamedTuple):
    """A fleet as a table.

    Attributes
    ----------
    paths : list of Path
        Where it lies.
    frame : DataFrame
        What reads it.
    count : int
        Units of it.
    """

    paths: list[Path]
    frame: DataFrame
    count: int


class Fleets(NamedTuple):
    """All there is to measure on: everything, parts of it, the part that is compared, and the odd
    ones.
    """

    whole: Units
    part: Units
    small: Units
    few: Units
    checked: Units
    with_bad: Units
    with_giant: Units


def fleets(spark: SparkSession, where: Path, n_units: int) -> Fleets:
    """Write the units that are not there yet."""
    counts = [n_units, n_units // 4, min(SMALL, n_units), min(FEW, n_units), CHECKED]
    paths = [
        [write(where / f"fleet-{count}", count, 16 if count > SMALL else 4)] for count in counts
    ]
    brokers = [{"broker_name": f"broker-{i}", "read_queue_nums": 62_500} for i in range(16)]
    clients = [f"10.0.{i // 256}.{i % 256}@{i}#1" for i in range(1000)]
    paths.append(
        paths[0]
        + [write_one(where / "bad", [{"broker_name": None, "read_queue_nums": 8}], clients[:1])]
    )
    paths.append(paths[0] + [write_one(where / "giant", brokers, clients)])
    counts += [n_units + 1, n_units + 1]
    read = [spark.read.parquet(*(path.as_uri() for path in some)) for some in paths]
    return Fleets(*map(Units, paths, read, counts))


def noop(frame: DataFrame) -> None:
    """Have every row computed and thrown away."""
    frame.write.format("noop").mode("overwrite").save()


def parquet(path: Path, frame: DataFrame) -> None:
    """Have every row written."""
    frame.write.mode("overwrite").option("compression", "zstd").parquet(path.as_uri())


def one_strategy(found: Fleets) -> Iterator[Case]:
    """Everybody who can do a strategy, into the noop sink."""
    for name in PARAMS:
        for one in contenders(name):
            yield _case(ONE_STRATEGY, name, one, found, noop)


def many_scenarios(found: Fleets) -> Iterator[Case]:
    """Everybody who can try many scenarios, into the noop sink."""
    for name in ("AVG", "CONSISTENT_HASH"):
        for one in planners(name):
            yield _case(SCENARIOS, name, one, found, noop, N_SCENARIOS)


def files(found: Fleets, where: Path) -> Iterator[Case]:
    """From Parquet to Parquet."""
    for name in ("AVG", "CONSISTENT_HASH"):
        for one in contenders(name):
            if one.name in (OURS, V2):
                yield _case(FILES, name, one, found, partial(parquet, where / "written"))
        spec = PlanSpec(name, PARAMS[name], output="owners")
        yield from _without_rows(FILES, name, spec, found, where)
        tried = PlanSpec(name, PARAMS[name], THIRTY_TWO, "best")
        yield from _without_rows(FILES_SCENARIOS, name, tried, found, where)


def _without_rows(
    table: str, group: str, spec: PlanSpec, found: Fleets, where: Path
) -> Iterator[Case]:
    """Those of us that read Parquet in Python."""
    for name, plan in ((FILE_JOB, file_job), (THREADS, on_threads)):
        run, warm_up = (partial(plan, units, where, spec) for units in (found.whole, found.small))
        yield Case(table, group, name, found.whole.count, run, warm_up, max(len(spec.scenarios), 1))


def file_job(units: Units, where: Path, spec: PlanSpec) -> None:
    """The planning job whose workers read Parquet and whose JVM writes it, its summary and ranking
    included.
    """
    spark = SparkSession.active()
    plan_table(
        spark, str(units.paths[0]), spec, out=str(where / "job"), overwrite=True, in_workers=True
    )


def on_threads(units: Units, where: Path, spec: PlanSpec) -> None:
    """From Parquet to Parquet without Spark."""
    plan_files(units.paths[0], where / "threads", spec, threads=2)


def odd(found: Fleets) -> Iterator[Case]:
    """The transform where a unit is bad or giant."""
    for name, on in ((ALIKE, "whole"), (ONE_BAD, "with_bad"), (ONE_GIANT, "with_giant")):
        yield _case(ODD, "AVG", Contender(name, assign("AVG"), on), found, noop)


def _case(
    table: str,
    group: str,
    one: Contender,
    found: Fleets,
    sink: Callable[[DataFrame], None],
    scenarios: int = 1,
) -> Case:
    """A contender on its part of the units and into a sink."""
    units: Units = getattr(found, one.on)
    smaller = found.checked if one.on == "few" else found.small
    run, warm_up = (partial(sink, one.frame(some.frame)) for some in (units, smaller))
    return Case(table, group, one.name, units.count, run, warm_up, scenarios, one.every)
