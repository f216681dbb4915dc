"""Parquet files planned by the workers themselves, so that rows never enter the JVM. Imports no pyspark.

A task reads the row groups of one bucket, plans them and writes the bucket; only the bucket's number crosses to the worker.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from rmqalloc.errors import ArgumentError
from rmqalloc.evaluation.batch_planning import PlanSpec
from rmqalloc.evaluation.parquet_plan import plan_writer, refuse_table
from rmqalloc.evaluation.quarantine import plan_and_quarantine
from rmqalloc.evaluation.totals import ByScenario, Totals, added, totals_of
from rmqalloc.evaluation.worst import Ranking, worst_columns, worst_of
from spark_udfs.job._published import QUARANTINE, WORST, Run, bucket_name, data_folder
from spark_udfs.job._stores import Store
from spark_udfs.job.plan_reader import ArrowFiles
from spark_udfs.map_in_arrow import Batches, refuse_schema

BUCKETS = 64
"""Buckets of a source with at least as many row groups."""

BUCKET_BYTES = 64 << 20
"""Approximate upper limit of the Parquet bytes of a bucket, however many buckets that makes."""

_ROWS_PER_BATCH = 32_768

MAX_ROWS = 1 << 18
"""Rows of a plan that are ranked at once."""

MAX_KEPT = 2_000
"""Rows of the worst units that the record of a bucket holds at most; where more are wanted, the plan is read again."""


class Piece(NamedTuple):
    """Row groups of a Parquet file, ``start`` to before ``stop``; all of them if ``stop`` is -1."""

    path: str
    start: int = 0
    stop: int = -1


class ParquetFile(NamedTuple):
    """A file as its directory lists it: bytes, and the time of the last change in nanoseconds."""

    path: str
    n_bytes: int
    changed: int


class Survey(NamedTuple):
    """A source of Parquet files: the files, and the buckets."""

    files: list[ParquetFile]
    buckets: list[list[Piece]]


def survey(source: str, spec: PlanSpec, store: Store | None = None) -> Survey | None:
    """Return the files and buckets of a source, on a disk or in a store; None if only Spark can read it."""
    files = listed_files(source, store)
    if files is None:
        return None
    with _opened(files[0].path, store) as first:
        refuse_schema(first.schema_arrow, spec)
    return Survey(files, cut_files(files, store=store))


def survey_of(paths: Sequence[str], columns: Sequence[str], spec: PlanSpec, store: Store | None) -> tuple[Survey, int]:
    """Return the buckets of the files of a table, and the rows of all files."""
    files: list[ParquetFile] = []
    n_rows = 0
    for path in paths:
        with _opened(path, store) as file:
            if lacking := [name for name in columns if name not in file.schema_arrow.names]:
                raise ArgumentError(f"{path} lacks the column {lacking[0]}")
            if not files:
                refuse_schema(file.schema_arrow, spec)
            groups = (file.metadata.row_group(i).total_byte_size for i in range(file.num_row_groups))
            files.append(ParquetFile(path, sum(groups), 0))
            n_rows += file.metadata.num_rows
    return Survey(files, cut_files(files, store=store)), n_rows


def listed_files(source: str, store: Store | None = None) -> list[ParquetFile] | None:
    """Return the files of a directory of Parquet in the order of their paths, or of one file.

    None if it has other files too, or partitions (``name=value``), whose columns are not in the files: only Spark can read
    such a source.
    """
    found = _on_disk(source) if store is None else _in_store(source, store)
    refuse_table(source, found)
    shown = {name: file for name, file in found.items() if not any(part[:1] in ("_", ".") for part in name.split("/"))}
    if not shown:
        raise FileNotFoundError(f"{source} holds no Parquet file")
    if not all(name.endswith(".parquet") and "=" not in name for name in shown):
        return None
    return [shown[name] for name in sorted(shown)]


def _on_disk(source: str) -> dict[str, ParquetFile]:
    """Return all files of a directory, or one, by their names below it."""
    root = Path(source)
    if not root.exists():
        raise FileNotFoundError(f"{source} does not exist; give a Parquet file or a directory of them")
    paths = [root] if root.is_file() else [path for path in root.rglob("*") if path.is_file()]
    stats = [(path, path.stat()) for path in paths]
    base = root.parent if root.is_file() else root
    return {
        path.relative_to(base).as_posix(): ParquetFile(str(path.resolve()), stat.st_size, stat.st_mtime_ns)
        for path, stat in stats
    }


def _in_store(source: str, store: Store) -> dict[str, ParquetFile]:
    """List files as `_on_disk`; ``source`` is a path of the store's file system."""
    files = ArrowFiles(store.files(), source)
    [own] = files.system.get_file_info([files.root])
    base = files.root.rpartition("/")[0] if own.is_file else files.root
    infos = [own] if own.is_file else files.infos(files.root)
    if not infos:
        raise FileNotFoundError(f"{source} does not exist; give a Parquet file or a directory of them")
    return {one.path[len(base) + 1 :]: ParquetFile(one.path, one.size, one.mtime_ns) for one in infos}


def cut_files(files: Sequence[ParquetFile], n_buckets: int = BUCKETS, store: Store | None = None) -> list[list[Piece]]:
    """Cut files into buckets of about equal bytes, in their order."""
    wanted = max(n_buckets, sum(file.n_bytes for file in files) // BUCKET_BYTES)
    pieces = [(Piece(file.path), file.n_bytes) for file in files]
    if len(files) < wanted:
        pieces = [piece for file in files for piece in _row_groups(file.path, store)]
    upto = sum(n_bytes for _, n_bytes in pieces)
    buckets: dict[int, list[Piece]] = {}
    before = 0
    for piece, n_bytes in pieces:
        buckets.setdefault(before * wanted // max(upto, 1), []).append(piece)
        before += n_bytes
    return list(buckets.values())


def _row_groups(path: str, store: Store | None) -> list[tuple[Piece, int]]:
    """Return the row groups of a file and their bytes."""
    with _opened(path, store) as file:
        groups = [file.metadata.row_group(i) for i in range(file.num_row_groups)]
        return [(Piece(path, i, i + 1), group.total_byte_size) for i, group in enumerate(groups)] or [(Piece(path), 0)]


def _opened(path: str, store: Store | None = None) -> pq.ParquetFile:
    try:
        # What is far away is asked for in few large pieces.
        far = {} if store is None else {"filesystem": store.files(), "pre_buffer": True}
        file = pq.ParquetFile(path, **far)
        file.schema_arrow  # noqa: B018  # read here, so that what is wrong with it names the file
        return file
    except (OSError, pa.ArrowException) as error:
        raise ArgumentError(f"{path} cannot be read: {error}") from error


class Buckets(Protocol):
    """Buckets of an output as workers write them; it travels to them by pickle."""

    def attempt(self, plan_id: str) -> AbstractContextManager[str]:
        """Yield the name of a new folder among the plan's data."""

    def new_file(self, name: str) -> IO[bytes]:
        """Open a new file by its name below the output directory."""

    def commit(self, run: Run, number: int, attempt: str, record: Mapping[str, Any]) -> None:
        """Record that a bucket is complete: it has the files in the folder of this attempt."""


class PlanFiles:
    """Plans buckets of Parquet files, for ``mapInArrow``."""

    def __init__(
        self,
        spec: PlanSpec,
        buckets: Mapping[int, Sequence[Piece]],
        out: Buckets,
        run: Run,
        n_worst: int = 0,
        store: Store | None = None,
    ) -> None:
        self.spec, self.out, self.run, self.n_worst, self.store = spec, out, run, n_worst, store
        self.buckets = {number: [Piece(*piece) for piece in pieces] for number, pieces in buckets.items()}

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Plan the buckets at these positions in ``buckets``; returns the positions."""
        numbers = list(self.buckets)
        for batch in batches:
            for position in batch.column(0).to_pylist():
                number = numbers[position]
                plan_file_bucket(self.spec, number, self.buckets[number], self.out, self.run, self.n_worst, self.store)
            yield pa.RecordBatch.from_arrays([batch.column(0)], names=["bucket"])


class RankRows:
    """Finds the worst units of rows of a plan, as ``mapInArrow`` takes it."""

    def __init__(self, spec: PlanSpec, n: int) -> None:
        self.spec, self.n = spec, n

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Yield the worst units of all rows, as JSON."""
        found = json.dumps(worst_of(batches, self.spec, self.n))
        yield pa.RecordBatch.from_pydict({"worst": pa.array([found], pa.string())})


class RankBuckets:
    """Finds the worst units of complete buckets, for ``mapInArrow``."""

    def __init__(self, spec: PlanSpec, n: int, files: Sequence[Sequence[str]]) -> None:
        self.spec, self.n, self.files = spec, n, files

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Yield the worst units of the buckets with these numbers, as JSON."""
        for batch in batches:
            found = [
                json.dumps(worst_of(self._rows(number), self.spec, self.n)) for number in batch.column(0).to_pylist()
            ]
            yield pa.RecordBatch.from_pydict({"worst": pa.array(found, pa.string())})

    def _rows(self, number: int) -> Iterator[pa.RecordBatch]:
        columns = [*worst_columns(self.spec), "scenario", "err_code"]
        for path in self.files[number]:
            with _opened(path) as file:
                yield from file.iter_batches(MAX_ROWS, columns=columns, use_threads=False)


def plan_file_bucket(
    spec: PlanSpec,
    number: int,
    pieces: Sequence[Piece],
    out: Buckets,
    run: Run,
    n_worst: int = 0,
    store: Store | None = None,
) -> None:
    """Plan the pieces of one bucket into files with unique names, and record that it is complete."""
    totals: ByScenario = {}
    ranking = Ranking(spec, n_worst) if n_worst * len(spec.names) <= MAX_KEPT else None
    with out.attempt(run.plan_id) as tried:
        home, bucket = f"{data_folder(run.plan_id)}/{tried}", bucket_name(number)
        with _Rows(out, f"{home}/{bucket}/part-00000-{tried}.parquet", spec) as plan:
            plan.write(pa.RecordBatch.from_pylist([], spec.schema), even_if_empty=True)
            for position, piece in enumerate(pieces):
                with _Rows(out, f"{home}/{QUARANTINE}/{bucket}/part-{position:05d}-{tried}.parquet") as quarantine:
                    for planned, bad in plan_and_quarantine(_read(piece, store), spec):
                        plan.write(planned)
                        quarantine.write(bad)
                        totals = added(totals, totals_of(planned))
                        if ranking is not None:
                            ranking.add(planned)
    # Once recorded, the files may be named in a manifest, so they stay whatever happens.
    ranked = {} if ranking is None else {WORST: {"n": n_worst, "rows": ranking.worst()}}
    out.commit(run, number, tried, {**record_of(totals, spec), **ranked})


def record_of(totals: ByScenario, spec: PlanSpec) -> dict[str, Any]:
    """Return the data of a bucket's record: totals of every scenario, even if there are no units."""
    names = spec.names if spec.output != "best" else []
    return {"totals": {name: totals.get(name, Totals())._asdict() for name in dict.fromkeys([*names, *totals])}}


class _Rows:
    """A new file of rows, of a plan if its spec is given, created with the first of them."""

    def __init__(self, out: Buckets, name: str, spec: PlanSpec | None = None) -> None:
        self._out, self._name, self._spec = out, name, spec
        self._file: IO[bytes] | None = None
        self._writer: pq.ParquetWriter | None = None

    def __enter__(self) -> "_Rows":
        return self

    def __exit__(self, *_error: object) -> None:
        if self._writer is not None:
            self._writer.close()
        if self._file is not None:
            self._file.close()

    def write(self, rows: pa.RecordBatch, even_if_empty: bool = False) -> None:
        """Add rows."""
        if not rows.num_rows and not even_if_empty:
            return
        if self._writer is None:
            self._file = self._out.new_file(self._name)
            if self._spec is None:
                self._writer = pq.ParquetWriter(self._file, rows.schema, compression="zstd")
            else:
                self._writer = plan_writer(self._file, self._spec)
        if rows.num_rows:
            self._writer.write_batch(rows)


def _read(piece: Piece, store: Store | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a piece; an error names the file."""
    with _opened(piece.path, store) as file:
        groups = range(piece.start, file.num_row_groups if piece.stop < 0 else piece.stop)
        try:
            yield from file.iter_batches(_ROWS_PER_BATCH, row_groups=list(groups), use_threads=False)
        except (OSError, pa.ArrowException) as error:
            raise ArgumentError(f"{piece.path} cannot be read: {error}") from error
