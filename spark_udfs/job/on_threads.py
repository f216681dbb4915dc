"""The file job on the threads of one machine, for object stores, where no directory can be replaced in one step.

Layout and rules are those of `spark_udfs.job._published`: a plan is seen whole or not at all, and a run that was killed goes on
with what is missing. Imports no pyspark.
"""

from typing import Any

from rmqalloc.errors import ArgumentError
from rmqalloc.evaluation.batch_planning import PlanSpec
from rmqalloc.evaluation.parquet_plan import Progress, processors, run_on_threads
from rmqalloc.evaluation.totals import ByScenario
from rmqalloc.text import without_secrets
from spark_udfs.job import (
    _plan_summary as plan_summary,
)
from spark_udfs.job import (
    _published as manifests,
)
from spark_udfs.job._by_file import Survey, listed_files, plan_file_bucket, survey
from spark_udfs.job._plan_id import plan_id_of
from spark_udfs.job._published import Run
from spark_udfs.job._stores import StoreBuckets, StoreFiles, store_of_uri
from spark_udfs.job.job_options import WORST


def plan_to_store(
    source: str, target: str, spec: PlanSpec, threads: int | None = None, on_progress: Progress | None = None
) -> ByScenario:
    """Plan every unit of a directory of Parquet files into an object store."""
    shown = without_secrets(source)
    (read_from, path), (store, root) = store_of_uri(source), store_of_uri(target)
    if store is None:
        raise ArgumentError(f"{without_secrets(target)} is a directory on a disk; give it as a path")
    if f"{root}/".startswith(f"{path}/"):
        raise ArgumentError(f"the output {without_secrets(target)} lies in the input {shown}; give one apart from it")
    found = survey(path, spec, read_from)
    if found is None:
        raise ArgumentError(
            f"{shown} has other files than *.parquet, or partitions, whose columns are not in the files"
        )
    files = StoreFiles(store, root)
    manifest, run = manifests.begin(files, plan_id_of(spec, ["files", found.files]), force=False)
    if manifest is None:
        done = manifests.records(files, run)
        missing = [number for number in range(len(found.buckets)) if number not in done]

        def plan(number: int) -> None:
            plan_file_bucket(spec, number, found.buckets[number], StoreBuckets(store, root), run, WORST, read_from)

        run_on_threads(plan, missing, threads or processors(), on_progress)
        if listed_files(path, read_from) != found.files:
            raise ArgumentError(f"{shown} changed while it was read; nothing is published, run it again")
        manifest = _published(files, run, found, spec)
    return plan_summary.totals_in([manifest["summary"]], spec)


def _published(files: StoreFiles, run: Run, found: Survey, spec: PlanSpec) -> dict[str, Any]:
    """Publish the plan; return the manifest of this run, or of another one that was first."""
    records = [*manifests.records(files, run).values()]
    totals = plan_summary.totals_in(records, spec)
    summary = plan_summary.summary(run.plan_id, spec, totals, plan_summary.kept_worst(records, spec, WORST) or {})
    text = plan_summary.as_text(summary)
    return manifests.publish(files, run, len(found.buckets), records, {**summary, "text": text})[1]
