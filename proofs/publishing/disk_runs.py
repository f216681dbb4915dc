"""The job on a disk without Spark: what driver and workers do with files, in one process that can be killed anywhere."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import random_units as units
from pyarrow.fs import LocalFileSystem
from spark_udfs.job.plan_reader import ArrowFiles, files_of_plan

from rmqalloc.evaluation.batch_planning import PlanSpec
from rmqalloc.snapshot.synthetic import FLEET_SCHEMA
from rmqalloc.store import replaced_file
from spark_udfs.job import (
    _by_file as by_file,
)
from spark_udfs.job import (
    _output_layout as output_layout,
)
from spark_udfs.job import (
    _published as manifests,
)

PLAN = "p1"
SPEC = PlanSpec("AVG")
N_BUCKETS = 4
ROWS = 100
WHOLE = (ROWS, N_BUCKETS)
NOTHING = (0, 0)
TOLD = {"plan": PLAN, "totals": {}}


def write_fleet(where):
    """Input of a few rows for each bucket, one of them bad."""
    where.mkdir(parents=True)
    for number in range(N_BUCKETS):
        rows = [*units.synthetic(ROWS // N_BUCKETS - 1, seed=number).to_pylist(), units.row("bad", client_ids=[])]
        pq.write_table(pa.Table.from_pylist(rows, schema=FLEET_SCHEMA), where / f"part-{number}.parquet")
    return by_file.survey(str(where), SPEC)


class WithoutConditions(output_layout.LocalFiles):
    """A disk like an object store without conditional writes: whoever writes a name last has it."""

    exclusive = False

    def create(self, name, text):
        """As `spark_udfs.job._published.Storage`."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with replaced_file(path) as file:
            file.write(text.encode())
        return True


def job(found, out, force=False, conditional=True):
    """As `spark_udfs.job._planning_job.run_job`: ends without an error if the plan is complete, by whomever."""
    if not conditional:
        output_layout.LocalFiles = WithoutConditions
    manifest, run, done = output_layout.begin_run(out, PLAN, force)
    if manifest is not None:
        return
    try:
        for number in range(N_BUCKETS):
            if number not in done:
                by_file.plan_file_bucket(SPEC, number, found.buckets[number], output_layout.DiskBuckets(out), run)
        records = output_layout.complete_records(out, run)
        output_layout.publish_and_show(out, run, N_BUCKETS, list(records.values()), TOLD, "")
    except (OSError, manifests.PublishError):
        manifest = output_layout.current_manifest(out, PLAN)
        if manifest is None or manifest["generation"] < run.generation:
            raise


def by_manifest(out):
    """Rows and bad rows that a reader gets who looks at the manifest."""
    if not ArrowFiles(LocalFileSystem(), out).plan_ids():
        return NOTHING
    return rows_of(files_of_plan(out)), rows_of(files_of_plan(out, quarantine=True))


def by_path(out):
    """Rows that a reader gets who looks at the plain path; None if the path is replaced while it is listed and opened."""
    folder = Path(out, manifests.plan_name(PLAN))
    before = _identity(folder)
    try:
        rows = rows_of(sorted(folder.glob("bucket=*/*.parquet")))
    except FileNotFoundError:
        return None
    return rows if before in (None, _identity(folder)) else None


def _identity(folder):
    try:
        return folder.stat().st_ino
    except FileNotFoundError:
        return None


def rows_of(paths):
    return sum(pq.read_metadata(path).num_rows for path in paths)
