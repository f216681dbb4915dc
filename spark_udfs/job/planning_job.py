"""A planning job: any source cut into buckets, each planned and recorded, and the whole published at the end.

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

from rmqalloc.errors import Error
from rmqalloc.evaluation.plan_batch import PlanSpec
from rmqalloc.evaluation.totals import ByScenario
from rmqalloc.scenarios import to_data
from rmqalloc.version import __version__
from spark_udfs.job import by_file, by_frame, manifests, plan_summary, sources
from spark_udfs.job.job_options import WORST
from spark_udfs.job.manifests import PublishError
from spark_udfs.job.on_worker import on_worker, tasks_at_once
from spark_udfs.job.output import (
    Directory,
    Manifest,
    Place,
    Records,
    path_of,
    place_of,
    tried,
)
from spark_udfs.job.progress import Watch
from spark_udfs.job.sources import Source
from spark_udfs.session import running_session

try:
    from py4j.protocol import Py4JError
except ModuleNotFoundError:  # the client of Spark Connect alone has no bridge to Java
    Py4JError = PySparkException

try:
    from grpc import RpcError
except ModuleNotFoundError:  # no client of Spark Connect
    RpcError = PySparkException

# What Java sees of a worker that is gone depends on what it was doing with it.
_SIGNS_OF_A_LOST_WORKER = ("Python worker exited unexpectedly", "java.net.SocketException", "java.io.EOFException")

_NAMED = r"(?:[\w$]+\.)+(?P<name>[\w$]*(?:Error|Exception))"
_JAVA = rf"^(?:Caused by: )?(?:{_NAMED.replace('?P<name>', '?:')}: )*{_NAMED}(?P<rest>: |$)"
"""A line of Java's that names an exception by its whole class; the name is that of the innermost where one wraps others."""

_OF_JARS = (
    "NoClassDefFoundError|ClassNotFoundException|NoSuchMethodError|NoSuchFieldError|AbstractMethodError|"
    "IncompatibleClassChangeError|UnsupportedClassVersionError"
)
"""What Java raises for a jar that is not there, or is of another release than those beside it."""

_AT_ONCE = 2
"""Buckets that are planned at once, so that the last tasks of one do not keep the processors waiting."""

_TASKS_PER_PROCESSOR = 4
"""Tasks that plan files: each costs some 35 ms whatever it does, but the last ones shall not keep others waiting."""


class JobError(Error, RuntimeError):
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
        The summary, see `spark_udfs.job.plan_summary.summary`.
    shown : str
        Where people find the plan: a plain path on a disk, elsewhere its manifest.
    was_complete : bool
        The plan was there already, or another run was first; that plan is as it was.
    n_buckets, n_resumed : int
        Buckets, and how many of them an earlier run had done.
    seconds : float
        From reading to the plan in its place; starting Spark is not counted.
    jvm_peak, workers_peak : int
        Bytes, 0 where unknown; see `spark_udfs.job.progress.Watch`.
    """

    plan_id: str
    told: dict[str, Any]
    shown: str
    was_complete: bool = False
    n_buckets: int = 0
    n_resumed: int = 0
    seconds: float = 0.0
    jvm_peak: int = 0
    workers_peak: int = 0


class _Work(NamedTuple):
    """What there is to do: the input's identity and buckets, how to plan some of them; the rest as
    `spark_udfs.job.sources.Cut`."""

    identity: Any
    n_buckets: int
    plan: Callable[[list[int]], None]
    now: Callable[[], Any]
    content: dict[str, str] | None = None


def run(
    source: Source,
    target: str,
    spec: PlanSpec,
    *,
    master: str = "local[*]",
    by_files: bool | None = None,
    max_bad_fraction: float = 1.0,
    n_worst: int = WORST,
    force: bool = False,
) -> Outcome:
    """Plan every unit of a source with Spark.

    Parameters
    ----------
    source : Source
        What to read.
    target : str
        Output directory, as Spark names it; see `spark_udfs.job.manifests`.
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
        Plan anew what is done already; the earlier plan stays until then.

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
    with spark_errors(), running_session(master) as spark, Watch(spark) as watch:
        started = time.perf_counter()
        place = place_of(target, spark)
        work = _work(spark, source, place, spec, by_files)
        plan_id = plan_id_of(spec, work.identity)
        manifest, done = place.begin(plan_id, force)
        if manifest is None:
            won, manifest = _planned(spark, source, place, spec, work, done, (max_bad_fraction, n_worst), plan_id)
        else:
            won = False
        told = {name: value for name, value in manifest["summary"].items() if name != "text"}
        shown = f"{target}/{place.shown(manifest)}"
        bad_in = shown + (f"/_{manifests.QUARANTINE}" if not shown.endswith(".json") else " under quarantine")
        _check_bad(plan_summary.totals_in([told], spec), max_bad_fraction, bad_in)
        seconds = time.perf_counter() - started
    if not won:
        return Outcome(plan_id, told, shown, was_complete=True)
    return Outcome(plan_id, told, shown, False, work.n_buckets, len(done), seconds, watch.jvm_peak, watch.workers_peak)


def _planned(
    spark: SparkSession,
    source: Source,
    place: Place,
    spec: PlanSpec,
    work: _Work,
    done: Records,
    bounds: tuple[float, int],
    plan_id: str,
) -> tuple[bool, Manifest]:
    """Plan what is missing, and publish all; as `spark_udfs.job.manifests.publish`."""
    max_bad_fraction, n_worst = bounds
    try:
        if missing := [number for number in range(work.n_buckets) if number not in done]:
            with spark_errors("; what is done is kept, and the same command goes on from there"):
                work.plan(missing)
        records = place.records()
        _check_unchanged(source, work, records)
        totals = plan_summary.totals_in(records.values(), spec)
        _check_bad(totals, max_bad_fraction, f"{place.uri(manifests.data_folder(plan_id))}/*/{manifests.QUARANTINE}")
        told = plan_summary.summary(plan_id, spec, totals, place.worst(spec, records, n_worst))
        # Ranking reads the plan once more and may take long; a change of the source is looked for last.
        _check_unchanged(source, work, records)
        return place.publish(work.n_buckets, records, told)
    except (JobError, PublishError, OSError):
        # Whoever is overtaken by a run of the same plan may find its files gone: that plan is what was asked for.
        manifest = place.current(plan_id)
        if manifest is None or manifest["generation"] < place.run.generation:
            raise
        return False, manifest


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
        found = on_worker(spark, by_file.survey, path, spec)
        if found is not None:
            return _files_work(spark, str(path), by_file.Survey(*found), place, spec)
    if by_files:
        raise ValueError(
            f"a file job needs a directory of Parquet files without partitions, and an output directory, that the workers see; "
            f"{source} or the output is not"
        )
    return _frame_work(spark, source, place, spec)


def _files_work(spark: SparkSession, path: str, found: by_file.Survey, place: Directory, spec: PlanSpec) -> _Work:
    def plan(missing: list[int]) -> None:
        buckets = {number: found.buckets[number] for number in missing}
        kernel = by_file.PlanFiles(spec, buckets, place.path, place.run)
        n_tasks = min(len(missing), _TASKS_PER_PROCESSOR * tasks_at_once(spark))
        spark.range(0, len(missing), 1, n_tasks).mapInArrow(kernel, "bucket bigint").collect()

    def now() -> Any:
        return ["files", on_worker(spark, by_file.listed, path)]

    return _Work(["files", found.files], len(found.buckets), plan, now)


def _frame_work(spark: SparkSession, source: Source, place: Place, spec: PlanSpec) -> _Work:
    cut = sources.cut(source, spark)

    def plan_one(number: int) -> None:
        attempt, *places = tried(place, place.run.plan_id, number)
        by_content = cut.content is not None
        record = by_frame.plan_bucket(spark, cut.bucket(number), spec, (places[0], places[1]), by_content)
        place.commit(number, attempt, record)

    def plan(missing: list[int]) -> None:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            try:
                for one in [pool.submit(plan_one, number) for number in missing]:
                    one.result()
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                raise

    return _Work(["frames", cut.identity], cut.n_buckets, plan, lambda: ["frames", cut.now()], cut.content)


def _check_apart(source: str | None, place: Place) -> None:
    """What is written must not be read again by the next run."""
    if source is not None and isinstance(place, Directory) and f"{place.path}/".startswith(f"{source}/"):
        raise ValueError(f"the output directory {place.path} lies in the input {source}; give one apart from it")


def _check_unchanged(source: Source, work: _Work, records: Records) -> None:
    """A plan is of one state of its source; raise JobError if the source is not what it was."""
    advice = "nothing is published; run the job again, on a snapshot if there are such"
    if work.identity != work.now():
        raise JobError(f"{source} changed while it was read; {advice}")
    if work.content is None:
        return
    read = [record["read"] for record in records.values()]
    found = {name: str(sum(int(one[name]) for one in read)) for name in work.content}
    if found != work.content:
        raise JobError(
            f"{source} changed while it was read: it had {int(work.content['rows']):,} rows, and {int(found['rows']):,} were "
            f"planned{', not the same ones' if found['rows'] == work.content['rows'] else ''}; {advice}"
        )


def _check_bad(totals: ByScenario, most: float, where: str) -> None:
    fraction = plan_summary.bad_fraction(totals)
    if fraction > most:
        n_bad = sum(one.bad_units for one in totals.values())
        table = plan_summary.totals_table({name: one._asdict() for name, one in totals.items()})
        raise TooManyBadRowsError(
            f"{n_bad:,} rows of the plan ({100 * fraction:.3g} %) are bad, more than the {100 * most:.3g} % allowed; see them "
            f"in {where}\n{table}"
        )


@contextmanager
def spark_errors(advice: str = "") -> Iterator[None]:
    """Turn what Spark and its Java bridge raise into a JobError of readable length."""
    try:
        yield
    except (PySparkException, Py4JError, RpcError) as error:
        raise JobError(_cause(error) + advice) from error
    except PublishError as error:
        raise JobError(str(error)) from error


def _cause(error: Exception) -> str:
    """What names the cause, out of a report that may run to pages of stack traces."""
    if any(sign in str(error) for sign in _SIGNS_OF_A_LOST_WORKER):
        return "a Python worker was killed or crashed; if that repeats, look for a lack of memory on its machine"
    lines = [line.strip(" :") for line in str(error).splitlines()]
    # Spark names its own errors [LIKE_THIS]; Python's stand at the end of a trace; Java's own at the last "Caused by", or, with
    # no cause of their own, at the top, below what the bridge says.
    unfit = [line for line in lines if re.search(_OF_JARS, line) and re.match(_JAVA, line)][:1]
    said = [line for line in lines if re.search(r"\[[A-Z][A-Z_.]+\]", line)][:1] + unfit
    said += [line for line in lines if re.match(r"\w+(Error|Exception): ", line)][-1:]
    said += [line for line in lines if line.startswith("Caused by: ")][-1:]
    said = said or [line for line in lines if re.match(_JAVA, line)][:1] or lines[:1]
    # Spark's own class says no more than the name in brackets; any other is often all there is to go by.
    plain = (re.sub(_JAVA, "" if "[" in line else r"\g<name>\g<rest>", line, count=1) for line in said)
    advice = "; a jar is missing from the session, or is of a release that does not fit Spark's" if unfit else ""
    return "; ".join(dict.fromkeys(plain)) + advice
