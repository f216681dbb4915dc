"""The job into a Delta or Iceberg table, on the release of Spark whose interpreter runs this: drivers that die and sleep.

``table_runs.py SETTINGS threads EVERY CATALOG...`` tries steps in threads of one session; ``SETTINGS driver TABLE AT`` is one
driver, which kills itself at that step (0: at none). Both print JSON.
"""

import itertools
import json
import os
import signal
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import random_units as units
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from spark_udfs.job._planning_job import run_job
from spark_udfs.job.output import SharedDirectory

from rmqalloc.evaluation.batch_planning import PlanSpec
from rmqalloc.snapshot.synthetic import FLEET_SCHEMA
from spark_udfs.job import _into_table as into_table
from spark_udfs.job._sources import UnitSource

N_FILES, ROWS = 2, 40
SPEC = PlanSpec("AVG")
WHOLE = ((ROWS,), (N_FILES,))
NOTHING = ((), ())
STEPS = {
    SharedDirectory: ("begin", "records", "worst", "publish"),
    into_table.CommittedTable: ("version", "holds", "overwrite", "runs"),
    into_table.JobTables: ("staged", "put", "forget_staged"),
}
"""What is a step of a driver: it may die or sleep before each of them, and after each that writes."""
SHORT = 30
"""From here on, ``every`` means the short form: without --force, and without a source that changes."""

WRITES = ("publish", "overwrite", "put", "forget_staged")


class Killed(BaseException):
    """The driver dies here: no handler of the job may do anything more."""


class DriverSteps:
    """Counts the steps of the driver in this thread; at one of them it is told what to do."""

    here = threading.local()

    def __init__(self, at=0, what=None):
        self.at, self.what, self.seen = at, what, []

    def step(self, name):
        self.seen.append(name)
        if len(self.seen) == self.at:
            self.what()


def watch(kind, name):
    """Make a method a step."""
    real = getattr(kind, name)

    def stepped(self, *arguments, **how):
        steps = getattr(DriverSteps.here, "steps", None) or DriverSteps()
        which = f" of {self.name}" if kind is into_table.CommittedTable else ""
        steps.step(f"before {name}{which}")
        answer = real(self, *arguments, **how)
        if name in WRITES:
            steps.step(f"after {name}{which}")
        return answer

    setattr(kind, name, stepped)


for one, names in STEPS.items():
    for name in names:
        watch(one, name)


def die():
    raise Killed


def start(settings):
    """The session."""
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    spark.sql("CREATE NAMESPACE IF NOT EXISTS ice.db") if "spark.sql.catalog.ice" in settings else None
    return spark


def write_fleet(where):
    """Input of a few rows in each file, one of them bad."""
    where.mkdir(parents=True, exist_ok=True)
    for number in range(N_FILES):
        rows = [*units.synthetic(ROWS // N_FILES - 1, seed=number).to_pylist(), units.row("bad", client_ids=[])]
        pq.write_table(pa.Table.from_pylist(rows, schema=FLEET_SCHEMA), where / f"part-{number}.parquet")


def look(spark, table):
    """Rows of every plan, and of its bad rows, which whoever sees the plan must find."""

    def counts(name):
        if not spark.catalog.tableExists(name):
            return ()
        spark.catalog.refreshTable(name)
        return tuple(sorted(row["count"] for row in spark.table(name).groupBy("plan_id").count().collect()))

    plans = counts(table)
    return plans, counts(f"{table}_quarantine") if plans else ()


def job(source, table, steps=None, **how):
    """The job of one driver; True if it ended."""
    DriverSteps.here.steps = steps
    run_job(source if isinstance(source, UnitSource) else UnitSource(str(source)), "", SPEC, into=table, **how)
    return True


class TableDriver(threading.Thread):
    """A driver in a thread, that may sleep at a step."""

    def __init__(self, source, table, at=0, **how):
        super().__init__()
        self.asleep, self.awake, self.ended_well, self.error = threading.Event(), threading.Event(), False, None
        self._call = lambda: job(source, table, DriverSteps(at, self._sleep), **how)

    def _sleep(self):
        self.asleep.set()
        self.awake.wait()

    def run(self):
        try:
            self.ended_well = self._call()
        except BaseException as error:
            self.error = error
        finally:
            self.asleep.set()


class TableProof:
    """What was tried at the tables of one catalog, and what came of it; ``every`` takes each n-th step only."""

    def __init__(self, spark, fleet, catalog, every):
        self.spark, self.fleet, self.catalog, self.every = spark, fleet, catalog, every
        self.counts = {"lost": 0, "half": 0, "twice": 0, "looks": 0}
        self.rows = []
        self._numbers = itertools.count()

    def table(self):
        return f"{self.catalog}.t{next(self._numbers)}"

    def points(self, **how):
        """Steps to try, of a run that nothing happens to."""
        steps, table = DriverSteps(), self.table()
        if how:
            job(self.fleet, table)
        job(self.fleet, table, steps, **how)
        return list(range(1, len(steps.seen) + 1))[self.every // 2 :: self.every]

    def judge(self, seen, *allowed):
        """Count a look that saw what it must not see."""
        self.counts["looks"] += 1
        if seen not in allowed:
            n_plans = sum(seen[0])
            self.counts["twice" if n_plans > ROWS else "half"] += 1
            print(f"seen {seen}, not {allowed}", flush=True)

    def check(self, table, well=True):
        """The plan is there, once."""
        seen = look(self.spark, table)
        self.judge(seen, WHOLE)
        self.counts["lost"] += seen == NOTHING or not well

    @contextmanager
    def read(self, table, *allowed):
        """A reader looks while the block runs."""
        going, seen = threading.Event(), []

        def looking():
            while not going.is_set():
                seen.append(look(self.spark, table))
                time.sleep(0.2)

        reader = threading.Thread(target=looking)
        reader.start()
        try:
            yield
        finally:
            going.set()
            reader.join()
            for one in seen:
                self.judge(one, *allowed)

    def note(self, what, n_points, started):
        self.rows.append((what, n_points, time.monotonic() - started))
        print(f"{self.catalog}: {self.rows[-1]} {self.counts}", flush=True)


def killed(proof, **how):
    started = time.monotonic()
    before = WHOLE if how else NOTHING
    points = proof.points(**how)
    for at in points:
        table = proof.table()
        if how:
            job(proof.fleet, table)
        with proof.read(table, before, WHOLE):
            with suppress(Killed):
                job(proof.fleet, table, DriverSteps(at, die), **how)
            proof.judge(look(proof.spark, table), before, WHOLE)
            well = job(proof.fleet, table, **how)
        proof.check(table, well)
    proof.note(f"killed{' with --force' if how else ''}", len(points), started)


def overtaken(proof, what, *others, **how):
    started = time.monotonic()
    points = proof.points(**how)
    for at in points:
        table = proof.table()
        if how:
            job(proof.fleet, table)
        with proof.read(table, WHOLE if how else NOTHING, WHOLE):
            sleeper = TableDriver(proof.fleet, table, at, **how)
            sleeper.start()
            sleeper.asleep.wait()
            well = all(job(proof.fleet, table, **other) for other in others)
            proof.judge(look(proof.spark, table), WHOLE)
            sleeper.awake.set()
            sleeper.join()
        if sleeper.error is not None:
            print(f"the sleeper at {at} failed: {sleeper.error!r}", flush=True)
        proof.check(table, well and sleeper.ended_well)
    proof.note(what, len(points), started)


def together(proof, rounds, n_writers):
    started = time.monotonic()
    for _ in range(rounds):
        table = proof.table()
        with proof.read(table, NOTHING, WHOLE):
            drivers = [TableDriver(proof.fleet, table) for _ in range(n_writers)]
            for one in drivers:
                one.start()
            for one in drivers:
                one.join()
        for one in drivers:
            if one.error is not None:
                print(f"a writer failed: {one.error!r}", flush=True)
        proof.check(table, all(one.ended_well for one in drivers))
    proof.note(f"{n_writers} writers at once", rounds, started)


def changing_source(proof):
    """The source is a table of the same catalog, updated and added to while the job sleeps: the plan is of one version."""
    started = time.monotonic()
    points = proof.points()
    for at in points:
        source, table = f"{proof.table()}_source", proof.table()
        units_there = proof.spark.read.parquet(str(proof.fleet))
        kind = "iceberg" if proof.catalog.startswith("ice") else "delta"
        units_there.writeTo(source).using(kind).create()
        sleeper = TableDriver(UnitSource(table=source), table, at)
        sleeper.start()
        sleeper.asleep.wait()
        proof.spark.sql(f"UPDATE {source} SET client_ids = array('new') WHERE consumer_group <> 'bad'")
        units_there.limit(5).withColumn("topic", F.lit("new")).writeTo(source).append()
        sleeper.awake.set()
        sleeper.join()
        plan = proof.spark.table(table)
        seen = {row["n"]: row["count"] for row in plan.groupBy(F.col("n_clients").alias("n")).count().collect()}
        wanted = _clients(proof)
        proof.counts["half"] += seen != wanted
        if seen != wanted or not sleeper.ended_well:
            print(f"of a changing source: {seen}, not {wanted}; {sleeper.error!r}", flush=True)
        proof.check(table, sleeper.ended_well)
        proof.counts["lost"] += not job(UnitSource(table=source), table)
        proof.judge(
            look(proof.spark, table),
            ((ROWS, ROWS + 5), WHOLE[1] * 2),
            ((ROWS, ROWS + 5), (2, 3)),
            ((ROWS, ROWS + 5), (2, 4)),
        )
    proof.note("UPDATE and INSERT in the source meanwhile", len(points), started)


def _clients(proof):
    """Units by number of clients as they are in the fleet, as their plan has it."""
    table = proof.table()
    job(proof.fleet, table)
    rows = proof.spark.table(table).groupBy(F.col("n_clients").alias("n")).count().collect()
    return {row["n"]: row["count"] for row in rows}


def threads(settings, fleet, every, catalogs):
    """All of it in threads of one session."""
    spark = start(settings)
    found = []
    for catalog in catalogs:
        proof = TableProof(spark, fleet, catalog, every)
        killed(proof)
        overtaken(proof, "asleep while another runs", {})
        together(proof, max(1, 4 // every), 2)
        if every < SHORT:
            together(proof, max(1, 4 // every), 3)
            killed(proof, force=True)
            overtaken(proof, "asleep while another and --force run", {}, {"force": True})
            overtaken(proof, "--force asleep while another --force runs", {"force": True}, force=True)
            changing_source(proof)
        found.append({"catalog": catalog, "rows": proof.rows, **proof.counts})
    print(json.dumps({"steps": _names(fleet, catalogs[0]), "found": found}))


def _names(fleet, catalog):
    steps = DriverSteps()
    job(fleet, f"{catalog}.names", steps)
    return steps.seen


def driver(settings, fleet, table, at):
    """One driver: what is there before it, and after it unless it kills itself."""
    spark = start(settings)
    for one in (table, f"{table}_quarantine"):
        # A session without a metastore has to be told of the Delta tables of the one before.
        home = Path(settings["spark.sql.warehouse.dir"], one.partition(".")[2])
        if table.startswith("default.") and list(home.glob("_delta_log/*.json")):
            spark.sql(f"CREATE TABLE {one} USING delta LOCATION '{home}'")
    before = look(spark, table)
    job(fleet, table, DriverSteps(at, lambda: os.kill(os.getpid(), signal.SIGKILL)))
    print(json.dumps({"before": before, "after": look(spark, table)}))


def main():
    path, what, *more = sys.argv[1:]
    settings = json.loads(Path(path).read_text())
    fleet = Path(path).with_name("fleet")
    write_fleet(fleet) if not fleet.exists() else None
    if what == "threads":
        threads(settings, fleet, int(more[0]), more[1:])
    else:
        driver(settings, fleet, more[0], int(more[1]))


if __name__ == "__main__":
    main()
