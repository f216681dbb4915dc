"""One bucket of units planned as a DataFrame: any source, any output that Spark can write to."""

import json
from typing import Any

from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import StructField, StructType

from rmqalloc.evaluation.batch_planning import PlanSpec
from rmqalloc.evaluation.quarantine import REASON
from rmqalloc.evaluation.totals import SUMS, ByScenario, Totals
from rmqalloc.evaluation.worst import Worst, merged, worst_columns
from spark_udfs.job._by_file import RankBuckets, RankRows, record_of
from spark_udfs.job._published import PublishError
from spark_udfs.job._sources import content, literally, parsed
from spark_udfs.map_in_arrow import PlanBatches, QuarantineBatches
from spark_udfs.transforms import mapped


def plan_frame_bucket(
    spark: SparkSession, units: DataFrame, spec: PlanSpec, paths: tuple[str, str], by_content: bool = False
) -> dict[str, Any]:
    """Plan the units of a bucket."""
    plan_at, quarantine_at = paths
    seen = Observation("totals")
    read = Observation("read")
    observed = (
        parsed(units.observe(read, *content(units)) if by_content else units)
        .transform(mapped(PlanBatches(spec)))
        .observe(seen, *totals_columns(spec))
    )
    observed.write.mode("error").option("compression", "zstd").parquet(plan_at)
    totals = totals_seen(seen.get, spec)
    if any(one.bad_units for one in totals.values()):
        again = Observation("again")
        watched = units.observe(again, *content(units)) if by_content else units
        bad = _suspects(watched, spark.read.schema(observed.schema).parquet(literally(plan_at)))
        quarantine(bad, spec).write.mode("error").option("compression", "zstd").parquet(quarantine_at)
        if by_content and again.get != read.get:
            raise PublishError(
                "the source changed between its first reading and the one for its bad rows; run the job again"
            )
    sums = {"read": {name: str(value) for name, value in read.get.items()}} if by_content else {}
    return record_of(totals, spec) | sums


def quarantine(units: DataFrame, spec: PlanSpec) -> DataFrame:
    """Return bad rows with all their columns, as `rmqalloc.evaluation.quarantine.plan_and_quarantine`."""
    read = parsed(units)
    own = read.select([name for name in read.columns if name not in REASON.names])
    reason = [StructField(field.name, from_arrow_type(field.type)) for field in REASON]
    return own.mapInArrow(QuarantineBatches(spec), StructType([*own.schema, *reason]))


def _suspects(units: DataFrame, plan: DataFrame) -> DataFrame:
    """Return the rows with the group and topic of a bad one; only these are planned again."""
    bad = plan.where(F.col("err_code") != 0).select("consumer_group", "topic").distinct().alias("bad")
    both = [F.col(f"units.{name}").eqNullSafe(F.col(f"bad.{name}")) for name in ("consumer_group", "topic")]
    return units.alias("units").join(bad, both, "left_semi")


def _states(spec: PlanSpec) -> list[str]:
    """Return the scenarios that rows can have; "" stands for none."""
    return [*spec.names, ""] if spec.output == "best" else spec.names


def totals_columns(spec: PlanSpec) -> list[Column]:
    """Return columns that add up the totals of every scenario over the rows of a plan."""
    columns = []
    for number, name in enumerate(_states(spec)):
        mine = F.col("scenario").eqNullSafe(F.lit(name or None))
        figures = {"units": F.count_if(mine), "bad_units": F.count_if(mine & (F.col("err_code") != 0))}
        figures |= {total: F.coalesce(F.sum(F.when(mine, F.col(one))), F.lit(0)) for total, one in SUMS.items()}
        figures["max_skew"] = F.coalesce(F.max(F.when(mine, F.col("skew"))), F.lit(0.0))
        columns += [figures[one].alias(f"{one}_{number}") for one in Totals._fields]
    return columns


def totals_seen(seen: dict[str, Any], spec: PlanSpec) -> ByScenario:
    """Return the totals in the values of `totals_columns`."""
    found = {
        name: Totals(*(seen[f"{one}_{number}"] for one in Totals._fields)) for number, name in enumerate(_states(spec))
    }
    return {name: one for name, one in found.items() if one.units or spec.output != "best"}


def worst_rows(plan: DataFrame, spec: PlanSpec, n: int) -> Worst:
    """Rank the rows of a plan, as `rmqalloc.evaluation.worst.worst_of`."""
    return ranked(plan.select(*worst_columns(spec), "scenario", "err_code"), RankRows(spec, n))


def ranked(rows: DataFrame, kernel: RankRows | RankBuckets) -> Worst:
    """Return the worst units of all that workers rank."""
    parts = rows.mapInArrow(kernel, "worst string").collect()
    return merged((json.loads(row["worst"]) for row in parts), kernel.spec, kernel.n)
