"""Parquet in, Parquet out: ``python -m spark_udfs.job --input fleet --output owners --strategy AVG``.

Reads units, assigns them and writes one row per unit (`rmqalloc.whatif.plan.plan_schema`). On one machine the
output directory is replaced as a whole once the job is done, and only if it is empty or an earlier result; anywhere
else it must not exist. The summary goes to standard output, progress to standard error. Exit codes: 0 done, 1 failed,
64 wrong usage, 130 interrupted.
"""

import argparse
import logging
import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from rmqalloc.snapshot.directory import check_replaceable, replaced_directory
from rmqalloc.whatif.bulk import PLAN_KIND
from rmqalloc.whatif.flags import strategy_params
from rmqalloc.whatif.plan import PlanSpec
from rmqalloc.whatif.totals import Totals, two_columns
from spark_udfs.progress import Watch
from spark_udfs.requirements import JavaNotFoundError
from spark_udfs.session import session
from spark_udfs.transforms import assign

EXIT_FAILED = 1
EXIT_USAGE = 64
EXIT_INTERRUPTED = 130

_NOTHING_TO_READ = "holds no Parquet file"


class JobError(RuntimeError):
    """The job could not be done; the message says why in one or two lines."""


class Outcome(NamedTuple):
    """What a job did.

    Attributes
    ----------
    totals : Totals
        Figures of all units.
    seconds : float
        From reading to the last file in place; starting Spark is not counted.
    jvm_peak, workers_peak : int
        Bytes, 0 where unknown; see `spark_udfs.progress.Watch`.
    """

    totals: Totals
    seconds: float
    jvm_peak: int
    workers_peak: int

    def rows(self) -> Iterator[tuple[str, str]]:
        """Label and value of every line of a summary."""
        yield from self.totals.rows(self.seconds)
        for name, peak in (("driver JVM", self.jvm_peak), ("Python workers", self.workers_peak)):
            if peak:
                yield f"peak memory, {name}", f"{peak / 2**20:,.0f} MiB"


def run(source: str, target: str, strategy: str, params: dict[str, Any], master: str = "local[*]") -> Outcome:
    """Assign every unit of a Parquet table with Spark.

    Parameters
    ----------
    source, target : str
        Input and output directory, as Spark names them.
    strategy : str
        RocketMQ's name of the strategy.
    params : dict
        Its parameters, as `rmqalloc.strategy` takes them.
    master : str
        As `spark_udfs.session.session`; not looked at if this process has a Spark session already, which is then used.

    Raises
    ------
    ValueError, TypeError
        If the strategy or a parameter is wrong, or a column is missing or of the wrong type.
    OSError
        If the input is missing, or the output holds files that are not ours.
    JavaNotFoundError
        If there is no Java for Spark.
    JobError
        If Spark fails.
    """
    PlanSpec(strategy, params)
    here = master.startswith("local") and "://" not in target
    if master.startswith("local") and "://" not in source:
        _check_source(source)
    if here:
        check_replaceable(target, PLAN_KIND)
    with _session(master) as spark, _spark_errors(), Watch(spark) as watch:
        started = time.perf_counter()
        units = spark.read.parquet(source).transform(assign(strategy, **params))
        totals = _write_here(units, target) if here else _write(units, target, "errorifexists")
        seconds = time.perf_counter() - started
    return Outcome(totals, seconds, watch.jvm_peak, watch.workers_peak)


@contextmanager
def _session(master: str) -> Iterator[SparkSession]:
    """The session that is there already, or one of our own that ends with the block."""
    running = SparkSession.getActiveSession()
    spark = running or session(master)
    try:
        yield spark
    finally:
        if running is None:
            spark.stop()


def _check_source(source: str) -> None:
    """Say plainly what Spark would say at length."""
    path = Path(source)
    if not path.exists():
        raise FileNotFoundError(f"{source} does not exist; give a Parquet file or a directory of them")
    if path.is_dir() and not any(not name.startswith(("_", ".")) for name in os.listdir(path)):
        raise FileNotFoundError(f"{source} {_NOTHING_TO_READ}")


def _write_here(units: DataFrame, target: str) -> Totals:
    """Write beside the target and put the new directory in its place when it is complete."""
    with replaced_directory(target, PLAN_KIND) as new:
        return _write(units, new.as_uri(), "append")


def _write(units: DataFrame, target: str, mode: str) -> Totals:
    """Write the units, and add them up on the way: `observe` needs no second pass."""
    seen = Observation("totals")
    observed = units.observe(
        seen,
        F.count(F.lit(1)).alias("units"),
        F.count_if(F.col("err_code") != 0).alias("bad_units"),
        *[F.coalesce(F.sum(name), F.lit(0)).alias(total) for name, total in _SUMS.items()],
        F.coalesce(F.max("skew"), F.lit(0.0)).alias("max_skew"),
    )
    observed.write.mode(mode).option("compression", "zstd").parquet(target)
    return Totals(**seen.get)


_SUMS = {"n_queues": "queues", "unowned": "unowned", "idle": "idle", "moved": "moved"}


@contextmanager
def _spark_errors() -> Iterator[None]:
    """Turn what Spark and its Java bridge raise into a JobError of readable length."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise JobError(_cause(error)) from error


def _cause(error: Exception) -> str:
    """What names the cause, out of a report that may run to pages of stack traces."""
    lines = [line.strip(" :") for line in str(error).splitlines()]
    # Spark names its own errors [LIKE_THIS]; Python's stand at the end of a trace; Java's own at the last "Caused by".
    said = [line for line in lines if re.search(r"\[[A-Z][A-Z_.]+\]", line)][:1]
    said += [line for line in lines if re.match(r"\w+(Error|Exception): ", line)][-1:]
    said += [line for line in lines if line.startswith("Caused by: ")][-1:]
    without_classes = (re.sub(r"^(Caused by: )?[\w.$]+\.\w+: ", "", line) for line in said or lines[:1])
    return "; ".join(dict.fromkeys(without_classes))


class _Parser(argparse.ArgumentParser):
    """A parser that leaves with the code for wrong usage."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(EXIT_USAGE, f"{self.prog}: {message}\n")


def main(argv: list[str] | None = None) -> int:
    """Run the job from a command line and return the exit code."""
    parser = _Parser(prog="python -m spark_udfs.job", description="Assign the queues of many consumer groups.")
    parser.add_argument("--input", required=True, help="Parquet file or directory of units")
    parser.add_argument("--output", required=True, help="directory for the result")
    parser.add_argument("--strategy", required=True, help="RocketMQ's name, such as AVG or CONSISTENT_HASH")
    parser.add_argument("--virtual-nodes", type=int, help="ring positions per client, for CONSISTENT_HASH")
    parser.add_argument("--machine-rooms", help="comma-separated machine rooms, for MACHINE_ROOM")
    parser.add_argument("--master", default="local[*]", help="Spark master (default: %(default)s)")
    given = parser.parse_args(argv)
    try:
        params = strategy_params(given.strategy, given.virtual_nodes, given.machine_rooms)
        PlanSpec(given.strategy, params)
    except (ValueError, TypeError) as error:
        parser.error(str(error))
    return run_and_report(given.input, given.output, given.strategy, params, given.master)


def run_and_report(source: str, target: str, strategy: str, params: dict[str, Any], master: str) -> int:
    """As `run`, but prints the summary or the error and returns the exit code."""
    # Unless the caller has set up logging, the Java bridge would print an interrupt with its stack trace.
    logging.basicConfig(level=logging.CRITICAL)
    try:
        outcome = run(source, target, strategy, params, master)
    except KeyboardInterrupt:
        print("interrupted; the output is as it was before", file=sys.stderr)
        return EXIT_INTERRUPTED
    except (OSError, ValueError, TypeError, JavaNotFoundError, JobError) as error:
        print(f"rmqalloc: {error}", file=sys.stderr)
        return EXIT_FAILED
    print(two_columns(outcome.rows()))
    print(f"Parquet of {strategy} owners: {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
