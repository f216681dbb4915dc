"""The job on a real S3 interface: moto's server, S3A, one Spark session, drivers that die and sleep in threads."""

import itertools
import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import random_units as units
from pyarrow import fs as pafs

from rmqalloc.evaluation.batch_planning import PlanSpec
from rmqalloc.snapshot.synthetic import FLEET_SCHEMA

BUCKET = "plans"
N_FILES = 3
ROWS = 600
SPEC = PlanSpec("AVG")
WHOLE = (ROWS, N_FILES)
NOTHING = (0, 0)
OTHERS = ("slf4j", "commons-", "netty-buffer", "netty-c", "netty-h", "netty-r", "netty-t")
"""Jars that Spark has itself."""


def jars(name):
    """Jars of one of our projects, from Maven Central."""
    project = Path(__file__).with_name("jars") / name
    target = project / "target"
    if not target.is_dir():
        command = ["mvn", "-B", "-q", "-f", str(project / "pom.xml"), "dependency:copy-dependencies"]
        subprocess.run([*command, f"-DoutputDirectory={target}", "-DincludeScope=runtime"], check=True)
    return [str(path) for path in sorted(target.glob("*.jar")) if not path.name.startswith(OTHERS)]


class Killed(BaseException):
    """The driver dies here: no handler of the job may do anything more."""


class Server:
    """moto's S3, and Spark and pyarrow at it."""

    def __init__(self):
        from moto.server import ThreadedMotoServer

        self._server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        self._server.start()
        host, port = self._server.get_host_and_port()
        self.endpoint = f"http://{host}:{port}"
        self.files = pafs.S3FileSystem(
            access_key="a",
            secret_key="b",
            endpoint_override=self.endpoint,
            region="us-east-1",
            allow_bucket_creation=True,
        )
        self.files.create_dir(BUCKET)
        self._folders = itertools.count()

    def stop(self):
        self._server.stop()

    def settings(self):
        s3a = {
            "endpoint": self.endpoint, "endpoint.region": "us-east-1", "access.key": "a", "secret.key": "b",
            "path.style.access": "true", "connection.ssl.enabled": "false",
        }  # fmt: skip
        return {f"spark.hadoop.fs.s3a.{name}": value for name, value in s3a.items()} | {
            "spark.jars": ",".join(jars("s3")),
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "1",
            "spark.default.parallelism": "1",
        }

    def write_fleet(self, name="fleet"):
        """Files of some rows each, one of them bad."""
        for number in range(N_FILES):
            rows = [*units.synthetic(ROWS // N_FILES - 1, seed=number).to_pylist(), units.row("bad", client_ids=[])]
            path = f"{BUCKET}/{name}/part-{number}.parquet"
            pq.write_table(pa.Table.from_pylist(rows, schema=FLEET_SCHEMA), path, filesystem=self.files)
        return f"s3a://{BUCKET}/{name}"

    def out(self):
        return f"out-{next(self._folders)}"

    def look(self, out):
        """Rows and bad rows that a reader without Spark gets."""
        from spark_udfs.job._published import PlanNotFoundError
        from spark_udfs.job.plan_reader import files_of_plan

        try:
            parts = [files_of_plan(f"{BUCKET}/{out}", quarantine=bad, filesystem=self.files) for bad in (False, True)]
        except PlanNotFoundError:
            return NOTHING
        return tuple(sum(pq.read_metadata(one, filesystem=self.files).num_rows for one in part) for part in parts)

    @contextmanager
    def read(self, out, before, proof):
        """A reader looks while the block runs."""
        seen, going = {}, threading.Event()

        def look():
            while not going.is_set():
                found = self.look(out)
                seen[found] = seen.get(found, 0) + 1
                time.sleep(0.1)

        reader = threading.Thread(target=look)
        reader.start()
        try:
            yield
        finally:
            going.set()
            reader.join()
            proof.looks += sum(seen.values())
            proof.half += sum(n for what, n in seen.items() if what not in (before, WHOLE))


class Steps:
    """Counts a driver's steps at the store, in its thread and those that it starts; at one of them it is told what to do."""

    NAMES = ("texts", "create", "sizes", "planned")

    def __init__(self, at, what):
        self.at, self.what, self.count = at, what, 0
        self._lock = threading.Lock()

    def step(self):
        with self._lock:
            self.count += 1
            now = self.count == self.at
        if now:
            self.what()


def watched_store(steps, conditional):
    """A class of store whose steps are counted."""
    from spark_udfs.job.output import SparkOutput

    class Watched(SparkOutput):
        def __init__(self, target, spark):
            super().__init__(target, spark)
            self.exclusive = self.exclusive and conditional

        def texts(self, folder):
            steps.step()
            return super().texts(folder)

        def create(self, name, text):
            steps.step()
            done = super().create(name, text)
            steps.step()
            return done

        def sizes(self, folder):
            steps.step()
            return super().sizes(folder)

    return Watched


_stores = threading.local()


def job(server, fleet, out, steps=None, conditional=True, **how):
    """The job of one driver; whether it says that the plan is complete."""
    from spark_udfs.job import _planning_job as planning_job
    from spark_udfs.job._sources import UnitSource

    if not isinstance(planning_job.output_of, _PlaceOf):
        planning_job.output_of = _PlaceOf()
    _stores.make = watched_store(steps or Steps(0, None), conditional)
    planning_job.run_job(UnitSource(fleet), f"s3a://{BUCKET}/{out}", SPEC, **how)
    return True


class _PlaceOf:
    """Each thread's own store."""

    def __call__(self, target, spark):
        return _stores.make(target, spark)


class Driver(threading.Thread):
    """A driver in a thread, that may die or sleep at a step."""

    def __init__(self, server, fleet, out, at=0, **how):
        super().__init__()
        self.asleep, self.awake, self.ended_well = threading.Event(), threading.Event(), False
        self._call = lambda: job(server, fleet, out, Steps(at, self._sleep), **how)
        self.error = None

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


def die():
    raise Killed


def prove(proof, every):
    """All of it; ``every`` takes each n-th step."""
    os.environ.update(PYSPARK_PYTHON=sys.executable, PYSPARK_DRIVER_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    server = Server()
    try:
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[2]")
        for name, value in server.settings().items():
            builder = builder.config(name, value)
        spark = builder.getOrCreate()
        spark.sparkContext.setLogLevel("OFF")
        fleet = server.write_fleet()
        for what, conditional in (("", True), (", no conditional writes", False)):
            _killed(proof, server, fleet, f"S3: killed{what}", every, NOTHING, conditional=conditional)
            _overtaken(proof, server, fleet, f"S3: asleep while another runs{what}", every, conditional=conditional)
        _killed(proof, server, fleet, "S3: killed with --force", every, WHOLE, force=True)
        _together(proof, server, fleet, max(1, 4 // every))
        _replaced_input(proof, server)
        spark.stop()
    finally:
        server.stop()


def _n_steps(server, fleet, **how):
    steps = Steps(0, None)
    job(server, fleet, server.out(), steps, **how)
    return steps.count


def _killed(proof, server, fleet, what, every, before, **how):
    started = time.monotonic()
    points = range(1, _n_steps(server, fleet, **how) + 1, every)
    for at in points:
        out = server.out()
        if before == WHOLE:
            job(server, fleet, out)
        with server.read(out, before, proof):
            with suppress(Killed):
                job(server, fleet, out, Steps(at, die), **how)
            proof.lost += before == WHOLE and server.look(out) != WHOLE
            code = job(server, fleet, out, **how)
        proof.lost += server.look(out) != WHOLE or not code
    proof.note(what, len(points), started)


def _overtaken(proof, server, fleet, what, every, **how):
    started = time.monotonic()
    points = range(1, _n_steps(server, fleet, **how) + 1, every)
    for at in points:
        out = server.out()
        with server.read(out, NOTHING, proof):
            zombie = Driver(server, fleet, out, at, **how)
            zombie.start()
            zombie.asleep.wait()
            code = job(server, fleet, out, **how)
            after = server.look(out)
            zombie.awake.set()
            zombie.join()
        if zombie.error is not None:
            print(f"the sleeper failed: {zombie.error!r}", file=sys.stderr)
        proof.lost += server.look(out) != WHOLE or after != WHOLE or not (code and zombie.ended_well)
    proof.note(what, len(points), started)


def _together(proof, server, fleet, rounds):
    started = time.monotonic()
    for _ in range(rounds):
        out = server.out()
        with server.read(out, NOTHING, proof):
            drivers = [Driver(server, fleet, out) for _ in range(3)]
            for one in drivers:
                one.start()
            for one in drivers:
                one.join()
        proof.lost += server.look(out) != WHOLE or not all(one.ended_well for one in drivers)
    proof.note("S3: three writers at once", rounds, started)


def _replaced_input(proof, server):
    """A file of the input is written anew while the job runs, of the same size: its etag or time tells."""
    from spark_udfs.job._planning_job import JobError

    started = time.monotonic()
    fleet = server.write_fleet("changing")
    out = server.out()
    steps = Steps(9, lambda: server.write_fleet("changing"))
    try:
        job(server, fleet, out, steps)
        changed_and_published = steps.count >= steps.at
    except JobError as error:
        changed_and_published = "changed while it was read" not in str(error)
    proof.half += changed_and_published or server.look(out) != NOTHING
    proof.note("S3: a file of the input is written anew meanwhile", 1, started)
