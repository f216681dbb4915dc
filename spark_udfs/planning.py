"""A planning job: any source cut into buckets, each planned and committed once, and the whole published at the end.

Killed at any point and run again, a job goes on with the buckets that are missing. Nothing needs more of Spark than Spark
Connect has.
"""

import hashlib
import json
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from rmqalloc import __version__
from rmqalloc.whatif.plan import PlanSpec
from rmqalloc.whatif.scenarios import to_data
from rmqalloc.whatif.totals import ByScenario
from spark_udfs import file_job, frame_job, layout, ranking, sources
from spark_udfs.errand import on_worker, tasks_at_once
from spark_udfs.places import Directory, Place, path_of, place_of
from spark_udfs.progress import Watch
from spark_udfs.session import session
from spark_udfs.sources import Source

try:
    from py4j.protocol import Py4JError
except ModuleNotFoundError:  # the client of Spark Connect alone has no bridge to Java
    Py4JError = PySparkException

# What Java sees of a worker that is gone depends on what it was doing with it.
_SIGNS_OF_A_LOST_WORKER = ("Python worker exited unexpectedly", "java.net.SocketException", "java.io.EOFException")

_AT_ONCE = 2
"""Buckets that are planned at once, so that the last tasks of one do not keep the processors waiting."""

_TASKS_PER_PROCESSOR = 4
"""Tasks that plan files: each costs some 35 ms whatever it does, but the last ones shall not keep others waiting."""


class JobError(RuntimeError):
    """The job could not be done; the message says why in one or two lines."""


class TooManyBadRowsError(JobError):
    """More of the plan's rows are bad than the job was to bear."""


class Outcome(NamedTuple):
    """What a job did.

    Attributes
    ----------
    plan_id : str
        Digest of what was planned, for which input, and how it was cut: equal jobs have equal ids.
    told : dict
        The summary, see `spark_udfs.ranking.summary`.
    was_complete : bool
        The plan was there already, and nothing was done.
    n_buckets, n_resumed : int
        Buckets, and how many of them an earlier run had done.
    seconds : float
        From reading to the plan in its place; starting Spark is not counted.
    jvm_peak, workers_peak : int
        Bytes, 0 where unknown; see `spark_udfs.progress.Watch`.
    """

    plan_id: str
    told: dict[str, Any]
    was_complete: bool = False
    n_buckets: int = 0
    n_resumed: int = 0
    seconds: float = 0.0
    jvm_peak: int = 0
    workers_peak: int = 0


class _Work(NamedTuple):
    """What there is to do: the input's identity, its buckets, how to plan some of them, and its rows where they are counted."""

    identity: Any
    n_buckets: int
    plan: Callable[[list[int]], None]
    n_units: int | None = None


def run(
    source: Source,
    target: str,
    spec: PlanSpec,
    *,
    master: str = "local[*]",
    by_files: bool | None = None,
    max_bad_fraction: float = 1.0,
    n_worst: int = ranking.WORST,
    force: bool = False,
) -> Outcome:
    """Plan every unit of a source with Spark.

    Parameters
    ----------
    source : Source
        What to read.
    target : str
        Output directory, as Spark names it; see `spark_udfs.layout` and, for what is no directory of the workers,
        `spark_udfs.places.Store`.
    spec : PlanSpec
        What to plan; its parameters are plain data.
    master : str
        As `spark_udfs.session.session`; not looked at if this process has a Spark session already, which is then used.
    by_files : bool, optional
        Whether the workers read and write Parquet files themselves; by default they do if they can.
    max_bad_fraction : float
        The most of the plan's rows that may be bad, 0 to 1.
    n_worst : int
        Groups of every scenario in the summary.
    force : bool
        Plan anew what is done already.

    Raises
    ------
    ValueError, TypeError
        If an argument is wrong, or a column is missing or of the wrong type.
    OSError
        If the input is missing, or the output holds files that are not ours.
    JavaNotFoundError
        If there is no Java for Spark.
    TooManyBadRowsError
        If there are; the plan is not published, but its buckets are kept.
    JobError
        If Spark fails.
    """
    plan_id_of(spec, None)
    if not 0 <= max_bad_fraction <= 1:
        raise ValueError(f"max_bad_fraction must be from 0 to 1, got {max_bad_fraction}")
    with _session(master) as spark, spark_errors(), Watch(spark) as watch:
        started = time.perf_counter()
        place = place_of(target, spark)
        work = _work(spark, source, place, spec, by_files)
        plan_id = plan_id_of(spec, work.identity)
        complete, done = place.begin(plan_id, force)
        published = f"{target}/{layout.plan_name(plan_id)}"
        if complete is not None:
            told = json.loads(complete)
            _check_bad(ranking.totals_in([told], spec), max_bad_fraction, published)
            return Outcome(plan_id, told, was_complete=True)
        if missing := [number for number in range(work.n_buckets) if number not in done]:
            with spark_errors("; what is done is kept, and the same command goes on from there"):
                work.plan(missing)
        totals = ranking.totals_in(place.done().values(), spec)
        _check_unchanged(source, totals, spec, work.n_units)
        _check_bad(totals, max_bad_fraction, place.buckets())
        told = ranking.summary(plan_id, spec, totals, place.worst(spec, work.n_buckets, n_worst))
        place.publish({layout.SUMMARY: ranking.as_json(told), layout.SUMMARY_TEXT: ranking.as_text(told)})
        seconds = time.perf_counter() - started
    return Outcome(plan_id, told, False, work.n_buckets, len(done), seconds, watch.jvm_peak, watch.workers_peak)


def plan_id_of(spec: PlanSpec, identity: Any) -> str:
    """Digest of what is planned for which input; TypeError if the spec holds what is no plain data.

    Examples
    --------
    >>> plan_id_of(PlanSpec("AVG"), []) == plan_id_of(PlanSpec("AVG", {}), [])
    True
    """
    what = {
        "rmqalloc": __version__,
        "strategy": spec.strategy,
        "params": dict(spec.params),
        **to_data(spec.scenarios),
        "output": spec.output,
        "best_by": spec.best_by,
        "input": identity,
    }
    # A letter comes first: a directory's name that looked like a number would be read as one.
    return "p" + hashlib.sha256(json.dumps(what, sort_keys=True, default=_plain).encode()).hexdigest()[:16]


def _plain(value: Any) -> Any:
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise TypeError(f"the parameters of a job must be plain data, which its plan is known by, got {value!r}")


def _work(spark: SparkSession, source: Source, place: Place, spec: PlanSpec, by_files: bool | None) -> _Work:
    """How the source is planned: by files where that is wanted and can be done."""
    path = path_of(source.path, spark) if source.path and not source.table else None
    _check_apart(path, place)
    plain = source.format == "parquet" and path is not None and not any(c in path for c in "*?[{")
    if by_files is not False and plain and isinstance(place, Directory):
        found = on_worker(spark, file_job.survey, path, spec)
        if found is not None:
            return _files_work(spark, file_job.Survey(*found), place, spec)
    if by_files:
        raise ValueError(
            f"a file job needs a directory of Parquet files without partitions, and an output directory, that the workers see; "
            f"{source} or the output is not"
        )
    return _frame_work(spark, source, place, spec)


def _files_work(spark: SparkSession, found: file_job.Survey, place: Directory, spec: PlanSpec) -> _Work:
    def plan(missing: list[int]) -> None:
        kernel = file_job.PlanFiles(spec, {number: found.buckets[number] for number in missing}, place.work)
        n_tasks = min(len(missing), _TASKS_PER_PROCESSOR * tasks_at_once(spark))
        spark.range(0, len(missing), 1, n_tasks).mapInArrow(kernel, "bucket bigint").collect()

    return _Work(["files", found.files], len(found.buckets), plan)


def _frame_work(spark: SparkSession, source: Source, place: Place, spec: PlanSpec) -> _Work:
    cut = sources.cut(source, spark)

    def plan_one(number: int) -> None:
        units = cut.bucket(number)
        places = place.tried(number)
        place.commit(number, frame_job.plan_bucket(spark, units, spec, places))

    def plan(missing: list[int]) -> None:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            try:
                for one in [pool.submit(plan_one, number) for number in missing]:
                    one.result()
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                raise

    return _Work(["frames", cut.identity], cut.n_buckets, plan, cut.n_units)


def _check_apart(source: str | None, place: Place) -> None:
    """What is written must not be read again by the next run."""
    if source is not None and isinstance(place, Directory) and f"{place.path}/".startswith(f"{source}/"):
        raise ValueError(f"the output directory {place.path} lies in the input {source}; give one apart from it")


def _check_unchanged(source: Source, totals: ByScenario, spec: PlanSpec, n_units: int | None) -> None:
    """A source that every bucket reads anew must not have changed meanwhile."""
    n_planned = sum(one.units for one in totals.values()) // (1 if spec.output == "best" else len(spec.names))
    if n_units is not None and n_planned != n_units:
        raise JobError(
            f"{source} changed while it was read: it had {n_units:,} rows, and {n_planned:,} were planned; run the job again, "
            f"on a snapshot if there are such"
        )


def _check_bad(totals: ByScenario, most: float, where: str) -> None:
    fraction = ranking.bad_fraction(totals)
    if fraction > most:
        n_bad = sum(one.bad_units for one in totals.values())
        table = ranking.totals_table({name: one._asdict() for name, one in totals.items()})
        raise TooManyBadRowsError(
            f"{n_bad:,} rows of the plan ({100 * fraction:.3g} %) are bad, more than the {100 * most:.3g} % allowed; see them "
            f"in {where}/{layout.QUARANTINE}\n{table}"
        )


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


@contextmanager
def spark_errors(advice: str = "") -> Iterator[None]:
    """Turn what Spark and its Java bridge raise into a JobError of readable length."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise JobError(_cause(error) + advice) from error


def _cause(error: Exception) -> str:
    """What names the cause, out of a report that may run to pages of stack traces."""
    if any(sign in str(error) for sign in _SIGNS_OF_A_LOST_WORKER):
        return "a Python worker was killed or crashed; if that repeats, look for a lack of memory on its machine"
    lines = [line.strip(" :") for line in str(error).splitlines()]
    # Spark names its own errors [LIKE_THIS]; Python's stand at the end of a trace; Java's own at the last "Caused by".
    said = [line for line in lines if re.search(r"\[[A-Z][A-Z_.]+\]", line)][:1]
    said += [line for line in lines if re.match(r"\w+(Error|Exception): ", line)][-1:]
    said += [line for line in lines if line.startswith("Caused by: ")][-1:]
    without_classes = (re.sub(r"^(Caused by: )?[\w.$]+\.\w+: ", "", line) for line in said or lines[:1])
    return "; ".join(dict.fromkeys(without_classes))
