"""A planning job: any source is cut into buckets, each is planned and recorded, and the whole is published at the end.

Goals, in this order: what is published is one complete plan of one state of its source; a job that was killed at any point and
is run again plans only the buckets that are missing; it works through Spark Connect. `spark_udfs.job._published` has the rules
of publishing.
"""

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from rmqalloc.errors import ArgumentError, Error
from rmqalloc.evaluation.batch_planning import PlanSpec
from rmqalloc.evaluation.totals import ByScenario
from spark_udfs.job import (
    _into_table as into_table,
)
from spark_udfs.job import (
    _plan_summary as plan_summary,
)
from spark_udfs.job import (
    _published as manifests,
)
from spark_udfs.job._job_work import JobWork, work_of
from spark_udfs.job._plan_id import plan_id_of
from spark_udfs.job._progress import Watch
from spark_udfs.job._published import PublishError
from spark_udfs.job._sources import UnitSource
from spark_udfs.job.job_options import WORST
from spark_udfs.job.output import (
    Manifest,
    Output,
    Records,
    output_of,
)
from spark_udfs.session import running_session

try:
    from py4j.protocol import Py4JError
except ModuleNotFoundError:  # the client of Spark Connect alone has no bridge to Java
    Py4JError = PySparkException

try:
    from grpc import RpcError
except ModuleNotFoundError:  # no client of Spark Connect
    RpcError = PySparkException

# How Java reports a lost worker depends on what it was doing with it.
_SIGNS_OF_A_LOST_WORKER = ("Python worker exited unexpectedly", "java.net.SocketException", "java.io.EOFException")

_NAMED = r"(?:[\w$]+\.)+(?P<name>[\w$]*(?:Error|Exception))"
_JAVA = rf"^(?:Caused by: )?(?:{_NAMED.replace('?P<name>', '?:')}: )*{_NAMED}(?P<rest>: |$)"
"""A line of Java's with the full class name of an exception; ``name`` is the innermost if one wraps others."""

_OF_JARS = (
    "NoClassDefFoundError|ClassNotFoundException|NoSuchMethodError|NoSuchFieldError|AbstractMethodError|"
    "IncompatibleClassChangeError|UnsupportedClassVersionError"
)
"""What Java raises for a jar that is missing, or does not fit the release of the others."""


class JobError(Error, RuntimeError):
    """The job could not be done; the message says why in one or two lines."""


class TooManyBadRowsError(JobError):
    """More of the plan's rows are bad than the job was to bear."""


class JobResult(NamedTuple):
    """The result of a job."""

    plan_id: str  # digest of the spec and the input: equal jobs have equal ids
    summary: dict[str, Any]  # the summary, see `summary`
    shown: str  # where people find the plan: a plain path on a disk, elsewhere its manifest
    was_complete: bool = False  # the plan was complete already, or another run was first; that plan is unchanged
    # Buckets, and how many of them an earlier run had done
    n_buckets: int = 0
    n_resumed: int = 0
    seconds: float = 0.0  # from reading to publishing; starting Spark does not count
    # Bytes, 0 where unknown; see `Watch`
    jvm_peak: int = 0
    workers_peak: int = 0


def run_job(
    source: UnitSource,
    target: str,
    spec: PlanSpec,
    *,
    master: str = "local[*]",
    by_files: bool | None = None,
    max_bad_fraction: float = 1.0,
    n_worst: int = WORST,
    force: bool = False,
    into: str = "",
) -> JobResult:
    """Plan every unit of a source with Spark."""
    plan_id_of(spec, None)
    if not 0 <= max_bad_fraction <= 1:
        raise ArgumentError(f"max_bad_fraction must be from 0 to 1, got {max_bad_fraction}")
    if not target and not into:
        raise ArgumentError("give an output directory, a table to put the plan into, or both")
    with spark_errors(), running_session(master) as spark, Watch(spark) as watch:
        started = time.perf_counter()
        tables = into_table.JobTables(spark, into, spec, source) if into else None
        at = target or (tables.staging if tables else "")
        output = output_of(at, spark)
        work = work_of(spark, source, output, spec, by_files, n_worst)
        plan_id = plan_id_of(spec, work.identity)
        run = _JobRun(spark, source, at, output, spec, work, plan_id, max_bad_fraction, n_worst)
        done = _put(run, tables, force, staging=not target) if tables else _published_files(run, force)[0]
        seconds = time.perf_counter() - started
    summary = {name: value for name, value in done.summary.items() if name != "text"}
    if not done.won:
        return JobResult(plan_id, summary, done.shown, was_complete=True)
    return JobResult(
        plan_id, summary, done.shown, False, work.n_buckets, done.n_resumed, seconds, watch.jvm_peak, watch.workers_peak
    )


class _JobRun(NamedTuple):
    """What a run of a job plans, from where, to where; ``target`` is the output directory as people name it."""

    spark: SparkSession
    source: UnitSource
    target: str
    output: Output
    spec: PlanSpec
    work: JobWork
    plan_id: str
    max_bad_fraction: float
    n_worst: int


class _Done(NamedTuple):
    """A complete plan: whether it is this run that completed it, its summary, and where people find it."""

    won: bool
    summary: Mapping[str, Any]
    shown: str
    n_resumed: int = 0


def _published_files(run: _JobRun, force: bool) -> tuple[_Done, Manifest]:
    """Complete the plan in the output directory unless it is; return it with its manifest."""
    won = False
    manifest, done = run.output.begin(run.plan_id, force)
    if manifest is None:
        won, manifest = _planned(run, done)
    shown = f"{run.target}/{run.output.shown(manifest)}"
    bad_in = shown + (f"/_{manifests.QUARANTINE}" if not shown.endswith(".json") else " under quarantine")
    _check_bad(run, plan_summary.totals_in([manifest["summary"]], run.spec), bad_in)
    return _Done(won, manifest["summary"], shown, len(done)), manifest


def _put(run: _JobRun, tables: into_table.JobTables, force: bool, staging: bool) -> _Done:
    """Put the plan into a table, unless it is there, by way of the output directory."""
    if force or not tables.plans.holds(run.plan_id):
        before = tables.plans.runs(run.plan_id) if force else set()
        try:
            done, manifest = _published_files(run, force)
            if (rows := tables.staged(run.output, manifest)) is None:
                # Another run put it into the table and has removed the files, or somebody did.
                done, manifest = _published_files(run, True)
                rows = tables.staged(run.output, manifest)
            with spark_errors("; the plan is staged, and the same command goes on from there"):
                won = tables.put(run.plan_id, rows, force)
            if staging:
                tables.forget_staged(manifest)
            if won:
                return done._replace(won=True, shown=tables.shown(run.plan_id))
        except (JobError, PublishError, OSError):
            if not tables.plans.holds(run.plan_id) or (force and not tables.plans.runs(run.plan_id) - before):
                raise
    if staging:
        tables.sweep_staged(run.plan_id)
    summary = tables.summary(run.plan_id, run.n_worst)
    _check_bad(run, plan_summary.totals_in([summary], run.spec), str(tables.bad.name))
    return _Done(False, summary, tables.shown(run.plan_id))


def _planned(run: _JobRun, done: Records) -> tuple[bool, Manifest]:
    """Plan the missing buckets and publish all; returns what `publish` returns."""
    source, output, spec, work = run.source, run.output, run.spec, run.work
    try:
        if missing := [number for number in range(work.n_buckets) if number not in done]:
            with spark_errors("; what is done is kept, and the same command goes on from there"):
                work.plan(missing)
        records = output.records()
        _check_unchanged(source, work, records)
        totals = plan_summary.totals_in(records.values(), spec)
        _check_bad(run, totals, f"{output.uri(manifests.data_folder(run.plan_id))}/*/{manifests.QUARANTINE}")
        worst = plan_summary.kept_worst([*records.values()], spec, run.n_worst)
        if worst is None:
            worst = output.worst(spec, records, run.n_worst)
            # Ranking has read the plan again and may have taken long, so the check for a changed source comes last.
            _check_unchanged(source, work, records)
        summary = plan_summary.summary(run.plan_id, spec, totals, worst)
        return output.publish(work.n_buckets, records, summary)
    except (JobError, PublishError, OSError):
        # A run that was overtaken by another one of the same plan may find its files gone; then that plan is the result.
        manifest = output.current(run.plan_id)
        if manifest is None or manifest["generation"] < output.run.generation:
            raise
        return False, manifest


def _check_unchanged(source: UnitSource, work: JobWork, records: Records) -> None:
    """Raise JobError if the source changed: a plan is of one state of its source."""
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


def _check_bad(run: _JobRun, totals: ByScenario, where: str) -> None:
    fraction, most = plan_summary.bad_fraction(totals), run.max_bad_fraction
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
    """Return the lines that name the cause, from a report that may be pages of stack traces."""
    if any(sign in str(error) for sign in _SIGNS_OF_A_LOST_WORKER):
        return "a Python worker was killed or crashed; if that repeats, look for a lack of memory on its machine"
    lines = [line.strip(" :") for line in str(error).splitlines()]
    # Spark's own errors are named [LIKE_THIS]; Python's are at the end of a trace; Java's after the last "Caused by" or, if
    # there is none, at the top, below the bridge's own line.
    unfit = [line for line in lines if re.search(_OF_JARS, line) and re.match(_JAVA, line)][:1]
    said = [line for line in lines if re.search(r"\[[A-Z][A-Z_.]+\]", line)][:1] + unfit
    said += [line for line in lines if re.match(r"\w+(Error|Exception): ", line)][-1:]
    said += [line for line in lines if line.startswith("Caused by: ")][-1:]
    said = said or [line for line in lines if re.match(_JAVA, line)][:1] or lines[:1]
    # The class of a Spark error adds nothing to the name in brackets; of other errors the class often is the only clue.
    plain = (re.sub(_JAVA, "" if "[" in line else r"\g<name>\g<rest>", line, count=1) for line in said)
    advice = "; a jar is missing from the session, or is of a release that does not fit Spark's" if unfit else ""
    return "; ".join(dict.fromkeys(plain)) + advice
