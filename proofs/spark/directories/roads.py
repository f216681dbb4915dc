"""The roads from a directory to a plan, each of which answers with the rows of the plan, or with
why there is none.
"""

import pyarrow as pa
import pyarrow.parquet as pq

from rmqalloc.errors import Error
from rmqalloc.evaluation.batch_planning import PlanSpec, plan_stream
from rmqalloc.evaluation.parquet_plan import plan_files
from rmqalloc.evaluation.unit_files import cut, read_piece, unit_files

SPEC = PlanSpec("AVG", output="owners")


def answer(road, path, *more):
    """Rows in any order, as text; or the words of the refusal; or a defect, by its name."""
    try:
        return sorted(map(str, road(path, *more)))
    except (Error, FileNotFoundError) as error:
        return str(error)
    except Exception as error:
        return f"a defect of this road: {error!r}: {error}"


def bulk(path, target):
    plan_files(path, target, SPEC, threads=2)
    return pq.read_table(target).to_pylist()


class PlanPieces:
    """What a worker does, as ``mapInArrow`` takes it: read the pieces with these numbers, and plan
    them.
    """

    def __init__(self, pieces, schema):
        self.pieces, self.schema = pieces, schema

    def __call__(self, batches):
        for number in [number for batch in batches for number in batch.column(0).to_pylist()]:
            for piece in self.pieces[number]:
                yield from plan_stream(read_piece(piece, self.schema), SPEC)


def workers(path, spark=None):
    """Read in workers of a session, or without one in this process."""
    from rmqalloc.evaluation.parquet_plan import refuse_schema
    from spark_udfs.map_in_arrow import ddl

    files, schema = unit_files(path)
    refuse_schema(schema, SPEC)
    kernel = PlanPieces(pieces := cut(files, 3), schema)
    if spark is None:
        batches = kernel([pa.record_batch({"id": list(range(len(pieces)))})])
        return [row for batch in batches for row in batch.to_pylist()]
    return (
        spark.range(0, len(pieces), 1, 2).mapInArrow(kernel, ddl(SPEC.schema)).toArrow().to_pylist()
    )


def jvm(path, spark):
    """Let Spark read, through Java."""
    from spark_udfs.job._sources import UnitSource
    from spark_udfs.transforms import plan

    units = UnitSource(path).read(spark)
    return units.transform(plan(output="owners", carry=False)).toArrow().to_pylist()
