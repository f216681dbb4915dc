"""Plan a table: units in, workers plan them, and Spark writes the rows."""

import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping
from functools import partial
from operator import methodcaller
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from rmqalloc.documents import DocumentError, json_text
from rmqalloc.errors import ArgumentError, ArgumentTypeError
from rmqalloc.evaluation.batch_planning import PlanSpec
from rmqalloc.evaluation.totals import ByScenario, Totals
from rmqalloc.scenarios import to_data
from rmqalloc.text import without_secrets
from rmqalloc.version import __version__
from spark_udfs.job import _plan_summary as plan_summary
from spark_udfs.job._hadoop import HadoopFolder, bridge, driver_pid, literally
from spark_udfs.job._into_table import CommittedTable, committed_table
from spark_udfs.job._on_worker import WorkerFolder, worker_path
from spark_udfs.job._pinned_units import PinnedUnits, Source, say, units_of
from spark_udfs.job._plan_directory import (
    SUCCESS,
    SUMMARY,
    SUMMARY_TEXT,
    DiskFolder,
    Place,
    clear,
    damage_of,
    described,
    listed,
    publish,
    stage_of,
    writer_here,
    writing,
)
from spark_udfs.job._plan_kernels import (
    DIGEST,
    MAX_COLLECTED,
    MAX_KEPT,
    PART,
    PART_ROWS,
    PLAN_ID,
    Digest,
    DigestRows,
    DigestUnits,
    PlanAndDigest,
    WritePart,
    digest_columns,
)
from spark_udfs.job._sources import UnitSource
from spark_udfs.job._spark_errors import JobError, spark_errors
from spark_udfs.job._tables import parse_name, plain_path
from spark_udfs.map_in_arrow import ddl
from spark_udfs.sent import Sent

_WRITTEN = {
    "compression": "zstd",
    # Without dictionaries and histograms of list lengths writing takes an eighth less, and files
    # are an eighth larger.
    "parquet.enable.dictionary": "false",
    "parquet.size.statistics.enabled": "false",
    # The job writes `_SUCCESS` when it has seen that the source is what it was.
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}
"""Options of Spark's writer."""

_MARKED = {**_WRITTEN, "mapreduce.fileoutputcommitter.marksuccessfuljobs": "true"}
"""Options where the job cannot write `_SUCCESS` itself."""


class TooManyBadRowsError(JobError):
    """More of the plan's rows are bad than the job was to bear."""


class PlanResult(NamedTuple):
    """The result of a job.

    Attributes
    ----------
    plan_id : str
        Digest of the spec and the input: equal jobs have equal ids.
    summary : dict
        Totals of every scenario, and the worst groups; the content of ``_summary.json``.
    shown : str
        Place of the plan, for people.
    was_complete : bool
        The plan existed already, from any writer, and is unchanged.
    seconds : float
        From the look at the source to the summary, without starting Spark.
    """

    plan_id: str
    summary: dict[str, Any]
    shown: str
    was_complete: bool = False
    seconds: float = 0.0

    @property
    def totals(self) -> ByScenario:
        """Return the totals of every scenario by its name."""
        return {name: Totals(**figures) for name, figures in self.summary["totals"].items()}


def plan_table(
    spark: SparkSession,
    source: Source,
    spec: PlanSpec,
    *,
    out: str = "",
    into: str = "",
    bad: str = "",
    overwrite: bool = False,
    max_bad_fraction: float = 1.0,
    n_worst: int = 20,
    in_workers: bool | None = None,
) -> PlanResult:
    """Plan every unit of a source with Spark, and write the plan once.

    Parameters
    ----------
    spark : SparkSession
        The session, classic or of Spark Connect.
    source : str, UnitSource or DataFrame
        What to plan: a path of Parquet as described in docs/data/tables.md, a `UnitSource` for other
        formats and tables, or a DataFrame with the columns that `rmqalloc.evaluation.plan_batch`
        reads. A DataFrame, and a source with neither files nor versions, is read three times: to
        identify it, to plan it, and to check that it has not changed.
    spec : PlanSpec
        Settings of the plan.
    out : str
        Directory for the plan: Parquet with ``plan_id`` and the columns of ``spec.schema``. The plan
        is complete when ``_SUCCESS`` exists.
    into : str
        Delta or Iceberg table that gets the plan in one commit; created if it does not exist.
        With ``out`` it gets the rows of that directory.
    bad : str
        Directory for the bad rows of the plan, like ``out``.
    overwrite : bool
        Replace an existing plan. Until the new plan is complete, the directory holds no plan.
    max_bad_fraction : float
        If a greater part of the plan's rows is bad, no row is written. Below 1, units are checked
        in a separate pass.
    n_worst : int
        Groups of each scenario in the summary.
    in_workers : bool, optional
        Whether workers read Parquet themselves; by default if each worker sees the files.

    Returns
    -------
    PlanResult
        The plan's id, summary and place.

    Raises
    ------
    ValueError, TypeError
        An argument or a column is wrong, or a table cannot accept plans.
    FileExistsError
        The directory holds files that are not this plan.
    RuntimeError
        Too many rows are bad, another program writes there, the source changed, or Spark failed:
        `JobError`, `ClaimedError`, `IncompleteError`.

    Examples
    --------
    >>> import spark_udfs
    >>> from rmqalloc.evaluation import PlanSpec
    >>> done = spark_udfs.plan_table(spark, "fleet", PlanSpec("AVG", output="owners"), out="plans")  # doctest: +SKIP
    >>> spark.read.parquet("plans").where("err_code <> 0").show()  # doctest: +SKIP
    """
    plan_id_of(spec, None)
    if not 0 <= max_bad_fraction <= 1:
        raise ArgumentError(f"max_bad_fraction must be from 0 to 1, got {max_bad_fraction}")
    if not out and not into:
        raise ArgumentError("give an output directory, a table for the plan, or both")
    started = time.perf_counter()
    with spark_errors(lambda: "nothing is written"):
        units = units_of(spark, source, in_workers)
        plan_id = plan_id_of(spec, units.identity)
        job = _Job(spark, source, units, spec, plan_id, overwrite, max_bad_fraction, n_worst)
        for target in filter(None, (out, bad)):
            others = [path for path in (out, bad) if path and path is not target]
            _check_apart(job, target, others)
        targets = {path: _Target.of(spark, path) for path in (out, bad) if path}
    with spark_errors(lambda: _what_is_there(job, targets, into)):
        done = _in_directory(job, out) if out else None
        if into:
            done = _in_table(job, into, done)
        assert done is not None
        if bad:
            _write_bad(job, bad, done)
    seconds = time.perf_counter() - started
    result = PlanResult(plan_id, done.summary, done.shown, not done.won, seconds)
    _check_bad(result.totals, max_bad_fraction, f"they are in {done.shown}")
    return result


class _Job(NamedTuple):
    """What is planned, and how."""

    spark: SparkSession
    source: Source
    units: PinnedUnits
    spec: PlanSpec
    plan_id: str
    overwrite: bool
    max_bad_fraction: float
    n_worst: int

    @property
    def n_kept(self) -> int:
        """How many of the worst units of a scenario each task ranks; 0 if the plan is ranked when
        it is written.
        """
        return self.n_worst if self.n_worst * len(self.spec.names) <= MAX_KEPT else 0

    def rows(self) -> "_Rows":
        """Return the rows of the plan."""
        seen = Observation()
        made = self.units.through(PlanAndDigest(self.spec, self.n_kept))
        # As one text: before Spark 4.1 an observed list arrives as an object of Scala's.
        digests = F.concat_ws("\n", F.collect_list(DIGEST)).alias(DIGEST)
        observed = made.observe(seen, digests).where(F.col(DIGEST).isNull())
        plan_id = F.lit(self.plan_id).alias(PLAN_ID)
        return _Rows(observed.select(plan_id, *self.spec.schema.names), seen)

    def digest(self, texts: list[str], n_worst: int) -> Digest:
        """Add up digests."""
        return Digest.of_texts(texts, self.spec, n_worst)

    def digest_of(self, plan: DataFrame) -> Digest:
        """Digest a plan that is there."""
        kernel = DigestRows(self.spec, self.n_worst)
        n_tasks = MAX_COLLECTED // max(self.n_worst * len(self.spec.names), 1)
        columns = plan.select(*digest_columns(self.spec)).coalesce(max(n_tasks, 1))
        found = columns.mapInArrow(Sent(kernel), ddl(kernel.schema)).collect()
        return self.digest([row[DIGEST] for row in found], self.n_worst)

    def check_units(self) -> None:
        """Raise TooManyBadRowsError before anything is written, if not all rows may be bad."""
        if self.max_bad_fraction < 1:
            kernel = DigestUnits(self.spec, 0)
            found = self.units.through(kernel).collect()
            _check_bad(
                self.digest([row[DIGEST] for row in found], 0).totals,
                self.max_bad_fraction,
                "no row is written",
            )
            if self.units.is_changed():
                raise JobError(
                    f"{_shown_source(self.source)} changed while it was checked; no row is written, run the job again"
                )


class _Rows(NamedTuple):
    """Rows of a plan on their way, and what is seen of them."""

    frame: DataFrame
    seen: Observation

    def texts(self) -> list[str]:
        """Return the digests of all tasks, when the rows are written."""
        text: str = self.seen.get[DIGEST]
        return [line for line in text.split("\n") if line]


class _Done(NamedTuple):
    """A complete plan: whether it is this run that completed it, its summary, where people find it,
    and its rows.
    """

    won: bool
    summary: dict[str, Any]
    shown: str
    rows: Callable[[], DataFrame]


class _Target(NamedTuple):
    """A directory as this process, Spark and people see it."""

    folder: Place
    uri: str
    shown: str

    @classmethod
    def of(cls, spark: SparkSession, target: str) -> "_Target | None":
        """Return a directory, None where Spark alone sees it."""
        path, is_classic = worker_path(target, spark), bridge(spark) is not None
        if path is None:
            folder = HadoopFolder(spark, target)
            return cls(folder, target, without_secrets(target)) if is_classic else None
        disk = DiskFolder(path)
        place = disk if is_classic else WorkerFolder(spark, disk)
        return cls(place, f"file:{path}", without_secrets(target))


def _in_directory(job: _Job, out: str) -> _Done:
    """Write the plan to a directory unless it is complete there."""
    there = _Target.of(job.spark, out)
    if there is None:
        rows = job.rows()
        job.check_units()
        rows.frame.write.mode("error").options(**_MARKED).parquet(out)
        plan = partial(_read, job, [out])
        digest = _ranked(job, rows.texts(), plan)
        summary = plan_summary.summary(job.plan_id, job.spec, digest)
        return _Done(True, summary, without_secrets(out), plan)
    folder, _, shown = there
    texts: list[str] = []
    with writing(folder, shown, job.plan_id, job.overwrite, _writer(job.spark)) as claim:
        if claim:
            if damage := damage_of(claim):
                say(f"the plan in {shown} is not complete, so it is written again: {damage}")
            job.check_units()
            folder.run(clear, shown, claim)
            texts = _written(job, there, claim)
    plan = partial(_read_complete, job, there)
    return _Done(bool(claim), _summary(job, folder, texts, plan), shown, plan)


def _written(job: _Job, there: _Target, claim: str) -> list[str]:
    """Write the plan to a directory that is clear, and complete it; return the digests of all tasks.

    Workers that read files by themselves, and see the directory, write their parts, too; Spark's
    writer takes all other rows.
    """
    folder = there.folder
    if isinstance(folder, HadoopFolder) or not job.units.are_files:
        rows = job.rows()
        n_rows = _written_by_spark(rows.frame, there, claim)
        names, texts = None, rows.texts()
    else:
        folder.run(DiskFolder.open_stage, stage_of(claim))
        stage = f"{there.uri.removeprefix('file:')}/{stage_of(claim)}"
        made = job.units.through(WritePart(job.spec, job.n_kept, job.plan_id, stage)).collect()
        n_rows = sum(row[PART_ROWS] for row in made)
        names, texts = [row[PART] for row in made], [row[DIGEST] for row in made]
    if job.units.is_changed():
        raise JobError(
            f"{_shown_source(job.source)} changed while it was read; run the job again, on a snapshot if any"
        )
    folder.run(publish, there.shown, claim, n_rows, names)
    return texts


def _written_by_spark(rows: DataFrame, there: _Target, claim: str) -> int:
    """Let Spark's writer write rows, on a disk to a place of this run; return their number."""
    seen = Observation()
    counted = rows.observe(seen, F.count(F.lit(1)).alias("rows"))
    is_disk = not isinstance(there.folder, HadoopFolder)
    into = f"{there.uri}/{stage_of(claim)}" if is_disk else there.uri
    counted.write.mode("append").options(**_WRITTEN).parquet(into)
    return int(seen.get["rows"])


def _summary(
    job: _Job, folder: Place, texts: list[str], plan: Callable[[], DataFrame]
) -> dict[str, Any]:
    """Return the summary of a complete plan; it is made, and written, if it is not there."""
    try:
        found = json_text.loads(folder.run(methodcaller("text", SUMMARY)) or "{}")
    except DocumentError:
        found = {}
    if isinstance(found, dict) and found.get("plan") == job.plan_id:
        return found
    made = plan_summary.summary(job.plan_id, job.spec, _ranked(job, texts, plan))
    folder.run(methodcaller("write", SUMMARY_TEXT, plan_summary.as_text(made)))
    folder.run(methodcaller("write", SUMMARY, json.dumps(made, indent=1) + "\n"))
    return made


def _ranked(job: _Job, texts: list[str], plan: Callable[[], DataFrame]) -> Digest:
    """Return the digest that the tasks have sent; the plan is read where they sent none, or have
    not ranked its units.
    """
    if not texts or job.n_kept < job.n_worst:
        return job.digest_of(plan())
    return job.digest(texts, job.n_worst)


def _in_table(job: _Job, into: str, written: _Done | None) -> _Done:
    """Put the plan into a table unless it is there: the rows of a directory, if they were written
    to one.
    """
    source = UnitSource(job.source) if isinstance(job.source, str) else job.source
    table = committed_table(
        job.spark, into, job.spec, None if isinstance(source, DataFrame) else source
    )
    sent: list[_Rows] = []

    def rows() -> DataFrame:
        if written is not None:
            return written.rows().select(PLAN_ID, *job.spec.schema.names)
        sent.append(job.rows())
        return sent[-1].frame

    won = False
    if job.overwrite or not table.holds(job.plan_id):
        if written is None:
            job.check_units()
        won = table.put(job.plan_id, rows, job.overwrite)
        if won and written is None and job.units.is_changed():
            raise JobError(
                f"{_shown_source(job.source)} changed while it was read, so {table.shown(job.plan_id)} may mix states of "
                "it: delete these rows and run the job again, on a snapshot if any"
            )
    if written is not None:
        return written._replace(won=won, shown=table.shown(job.plan_id))
    return _of_table(job, table, won, sent[-1].texts() if won else [])


def _of_table(job: _Job, table: CommittedTable, won: bool, texts: list[str]) -> _Done:
    digest = _ranked(job, texts, lambda: table.rows(job.plan_id))
    made = plan_summary.summary(job.plan_id, job.spec, digest)
    return _Done(won, made, table.shown(job.plan_id), lambda: table.rows(job.plan_id))


def _write_bad(job: _Job, bad: str, done: _Done) -> None:
    """Write the bad rows of a complete plan to a directory of their own."""
    there = _Target.of(job.spark, bad)
    rows = done.rows().where(F.col("err_code") != 0)
    if there is None:
        rows.write.mode("error").options(**_MARKED).parquet(bad)
        return
    folder, _, shown = there
    overwrite = job.overwrite or done.won
    with writing(folder, shown, job.plan_id, overwrite, _writer(job.spark)) as claim:
        if claim:
            folder.run(clear, shown, claim)
            n_rows = _written_by_spark(rows, there, claim)
            folder.run(publish, shown, claim, n_rows)


def _read_complete(job: _Job, there: _Target) -> DataFrame:
    """Return the rows of the parts that ``_SUCCESS`` lists."""
    names = there.folder.run(listed, there.shown, job.plan_id)
    return _read(job, [f"{there.uri}/{name}" for name in names] or [there.uri])


def _read(job: _Job, paths: list[str]) -> DataFrame:
    """Return the rows of a plan in a directory or in files."""
    schema = f"{PLAN_ID} string, {ddl(job.spec.schema)}"
    # Whatever the session is set to, a file that is gone or damaged must not pass for an empty one.
    reader = job.spark.read.options(ignoreMissingFiles="false", ignoreCorruptFiles="false")
    return reader.schema(schema).parquet(*map(literally, paths))


def _what_is_there(job: _Job, targets: Mapping[str, _Target | None], into: str) -> str:
    """Return which places of a plan hold it, as far as they can be looked at."""
    found = []
    for path, there in targets.items():
        shown = without_secrets(path)
        try:
            if there is None:
                raise OSError("only Spark sees it")
            found.append(f"{shown} holds {there.folder.run(described, job.plan_id)}")
        except Exception:
            found.append(f"{shown} could not be read; it holds a complete plan if it has {SUCCESS}")
    if into:
        try:
            is_there = CommittedTable(job.spark, parse_name(into), "").holds(job.plan_id)
        except Exception:
            found.append(
                f"{into} could not be read; it holds the plan if it has rows of {PLAN_ID} {job.plan_id}"
            )
        else:
            found.append(f"{into} holds {'' if is_there else 'no '}rows of {PLAN_ID} {job.plan_id}")
    return "; ".join(found)


def _check_bad(totals: ByScenario, most: float, where: str) -> None:
    fraction = plan_summary.bad_fraction(totals)
    if fraction > most:
        bad = {name or "no scenario": figures.bad_units for name, figures in totals.items()}
        counts = ", ".join(f"{n_bad:,} of {name}" for name, n_bad in bad.items() if n_bad)
        raise TooManyBadRowsError(
            f"{sum(bad.values()):,} rows of the plan ({100 * fraction:.3g} %) are bad, more than the {100 * most:.3g} % "
            f"allowed: {counts}; {where}"
        )


def _check_apart(job: _Job, target: str, others: list[str]) -> None:
    """Refuse a directory that the job reads, or that lies in one, or in another output."""
    at, named = _place(job.spark, target), f"the output directory {without_secrets(target)}"
    source = UnitSource(job.source) if isinstance(job.source, str) else job.source
    places = [] if isinstance(source, DataFrame) else source.places(job.spark) or [source.path]
    for what, path in [
        *(("input", path) for path in places),
        *(("other output", path) for path in others),
    ]:
        if path and f"{at}/".startswith(f"{_place(job.spark, path)}/"):
            raise ArgumentError(
                f"{named} is inside the {what} {without_secrets(path)}; give a separate directory"
            )
    if any(_place(job.spark, file).startswith(f"{at}/") for file in job.units.files()):
        raise ArgumentError(f"{named} contains the input; give a separate directory")


def _place(spark: SparkSession, path: str) -> str:
    """Return a path in the one form by which two can be compared."""
    local = worker_path(path, spark)
    return os.path.realpath(local) if local is not None else plain_path(path)


def _writer(spark: SparkSession) -> dict[str, Any]:
    """Return who writes: this process and the driver's Java, which may outlive it and go on; a
    server's are not known.
    """
    return writer_here() if bridge(spark) is None else writer_here(os.getpid(), driver_pid(spark))


def _shown_source(source: Source) -> str:
    return "the DataFrame" if isinstance(source, DataFrame) else without_secrets(str(source))


# --- The id of a plan: a digest of its spec and its input ---


def plan_id_of(spec: PlanSpec, identity: Any) -> str:
    """Return the digest of the spec and the input; TypeError if the spec has values that are not
    plain data.

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
    text = json.dumps(what, sort_keys=True, default=_plain)
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    # Starts with a letter: Spark would read a directory name that looks like a number as one.
    return f"p{digest}"


def _plain(value: Any) -> Any:
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise ArgumentTypeError(
        f"the parameters of a job must be plain data, because they identify its plan, got {value!r}"
    )
