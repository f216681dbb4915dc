"""What workers run for the planning job: units in, rows of a plan or sums over them out. Imports no
pyspark.

The summary of a plan needs totals and the worst units. A worker has both at hand while it plans, so
the last row of every task carries them as text in a column of its own, `DIGEST`; the job takes
these rows out of what it writes, and adds them up. The same text is made from the rows of a plan
that is there already.
"""

import json
import os
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from rmqalloc.evaluation.batch_planning import PlanSpec, plan_stream
from rmqalloc.evaluation.parquet_plan import plan_writer
from rmqalloc.evaluation.totals import SUMS, ByScenario, Totals, added, totals_of
from rmqalloc.evaluation.unit_files import Piece, read_piece
from rmqalloc.evaluation.worst import Ranking, Worst, merged, worst_columns
from spark_udfs.map_in_arrow import Batches

DIGEST = "_digest"
"""Column of the digests; null in rows of the plan."""

PART = "part"
"""Column of the names of files that workers have written."""

PART_ROWS = "rows"
"""Column of the numbers of rows in them."""

PLAN_ID = "plan_id"
"""First column of a plan in a directory or a table."""

DIGEST_SCHEMA = pa.schema([(DIGEST, pa.string())])

MAX_KEPT = 500
"""Most worst units in the digest of a task, some 150 kB. Where more are wanted, the plan is read again when it is written:
with thousands of tasks larger digests would not fit into the driver.
"""

MAX_COLLECTED = 100_000
"""Most worst units that the driver collects when a plan is read again, unless a single task has more."""


class Digest(NamedTuple):
    """Totals of rows of a plan, and its worst units."""

    totals: ByScenario
    worst: Worst

    @classmethod
    def of_texts(cls, texts: Iterable[str], spec: PlanSpec, n_worst: int) -> "Digest":
        """Add up the digests of all tasks; every scenario has totals, even if there are no units."""
        parts = [json.loads(text) for text in texts]
        totals: ByScenario = {} if spec.output == "best" else dict.fromkeys(spec.names, Totals())
        for part in parts:
            more = {name: Totals(**figures) for name, figures in part["totals"].items()}
            totals = added(totals, more)
        ordered = {name: totals[name] for name in [*spec.names, ""] if name in totals}
        return cls(ordered, merged((part["worst"] for part in parts), spec, n_worst))


class _Digested:
    """Digests the batches that pass by."""

    def __init__(self, spec: PlanSpec, n_worst: int) -> None:
        self._totals: ByScenario = {}
        self._ranking = Ranking(spec, n_worst)

    def add(self, planned: pa.RecordBatch) -> None:
        self._totals = added(self._totals, totals_of(planned))
        self._ranking.add(planned)

    def text(self) -> str:
        totals = {name: figures._asdict() for name, figures in self._totals.items()}
        return json.dumps({"totals": totals, "worst": self._ranking.worst()})


class PlanAndDigest:
    """Plans units, for ``mapInArrow``; the last row of a task is its digest."""

    def __init__(self, spec: PlanSpec, n_worst: int) -> None:
        self.spec, self.n_worst = spec, n_worst

    @property
    def schema(self) -> pa.Schema:
        """Columns of the plan, and the digest."""
        return pa.schema([*self.spec.schema, *DIGEST_SCHEMA])

    def __call__(self, batches: Batches, _task: int = 0) -> Iterator[pa.RecordBatch]:
        """Plan the batches one after the other."""
        digested = _Digested(self.spec, self.n_worst)
        for planned in plan_stream(batches, self.spec):
            digested.add(planned)
            yield self._row(planned, None)
        schema = self.spec.schema
        nulls = [pa.nulls(1, field.type) for field in schema]
        yield self._row(pa.RecordBatch.from_arrays(nulls, schema=schema), digested.text())

    def _row(self, planned: pa.RecordBatch, text: str | None) -> pa.RecordBatch:
        column = (
            pa.array([text] * planned.num_rows, pa.string())
            if text
            else pa.nulls(planned.num_rows, pa.string())
        )
        return pa.RecordBatch.from_arrays([*planned.columns, column], schema=self.schema)


class DigestUnits(PlanAndDigest):
    """Plans units for their digest alone, for ``mapInArrow``: nothing of the plan leaves the
    worker.
    """

    schema = DIGEST_SCHEMA

    def __call__(self, batches: Batches, _task: int = 0) -> Iterator[pa.RecordBatch]:
        """Yield one row."""
        digested = _Digested(self.spec, self.n_worst)
        for planned in plan_stream(batches, self.spec):
            digested.add(planned)
        yield pa.RecordBatch.from_pydict({DIGEST: [digested.text()]}, DIGEST_SCHEMA)


class DigestRows:
    """Digests rows of a plan that is there, for ``mapInArrow``; it needs the columns
    ``digest_columns``.
    """

    schema = DIGEST_SCHEMA

    def __init__(self, spec: PlanSpec, n_worst: int) -> None:
        self.spec, self.n_worst = spec, n_worst

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Yield one row."""
        digested = _Digested(self.spec, self.n_worst)
        for planned in batches:
            digested.add(planned)
        yield pa.RecordBatch.from_pydict({DIGEST: [digested.text()]}, DIGEST_SCHEMA)


def digest_columns(spec: PlanSpec) -> list[str]:
    """Return the columns of a plan that a digest is made from."""
    return [*dict.fromkeys([*worst_columns(spec), "scenario", "err_code", "skew", *SUMS.values()])]


class ReadPieces:
    """Runs a kernel on the Parquet files that a task reads by itself; the rows that Spark sends say
    which task it is.
    """

    def __init__(self, kernel: Any, pieces: Sequence[Sequence[Piece]], schema: pa.Schema) -> None:
        self._kernel, self._pieces, self._read = kernel, pieces, schema

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Run the kernel on the pieces with these numbers."""
        numbers: list[int] = []
        for batch in batches:
            numbers += batch.column(0).to_pylist()
        for number in numbers:
            yield from self._kernel(self._read_all(self._pieces[number]), number)

    def _read_all(self, pieces: Sequence[Piece]) -> Iterator[pa.RecordBatch]:
        for piece in pieces:
            yield from read_piece(piece, self._read)


class WritePart:
    """Plans the units of a task into a Parquet file of a directory that all workers see; yields its
    name, its number of rows and its digest.

    Rows that go through the JVM to Spark's writer take half as long again and more. Who looks at
    the directory does not see the file: the job gives it its place when all tasks are done, so an
    attempt that failed, or one too many, leaves nothing.
    """

    schema = pa.schema([(PART, pa.string()), (PART_ROWS, pa.int64()), *DIGEST_SCHEMA])

    def __init__(self, spec: PlanSpec, n_worst: int, plan_id: str, folder: str) -> None:
        self.spec, self.n_worst, self._plan_id, self._folder = spec, n_worst, plan_id, folder

    def __call__(self, batches: Batches, number: int) -> Iterator[pa.RecordBatch]:
        """Write one file."""
        digested, n_rows = _Digested(self.spec, self.n_worst), 0
        name = f"part-{number:05d}-{uuid.uuid4().hex}.parquet"
        own = pa.field(PLAN_ID, pa.string())
        with open(os.path.join(self._folder, name), "xb") as file:
            with plan_writer(file, self.spec, [own]) as writer:
                for planned in plan_stream(batches, self.spec):
                    digested.add(planned)
                    plan_id = pa.repeat(self._plan_id, planned.num_rows)
                    rows = pa.RecordBatch.from_arrays(
                        [plan_id, *planned.columns], schema=writer.schema
                    )
                    writer.write_batch(rows)
                    n_rows += rows.num_rows
            file.flush()
            os.fsync(file.fileno())
        yield pa.RecordBatch.from_pylist(
            [{PART: name, PART_ROWS: n_rows, DIGEST: digested.text()}], self.schema
        )
