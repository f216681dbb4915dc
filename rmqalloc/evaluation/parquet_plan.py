"""Plan Parquet files on the threads of one machine: `rmqalloc.evaluation.batch_planning` without a
cluster.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import reduce
from pathlib import Path
from typing import IO, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from rmqalloc.evaluation.batch_planning import PlanSpec, plan_stream, too_large_rows
from rmqalloc.evaluation.evaluate import evaluate
from rmqalloc.evaluation.row_check import read_batch
from rmqalloc.evaluation.totals import ByScenario, Totals, added, totals_of
from rmqalloc.evaluation.unit_files import Piece, cut, opened, read_piece, unit_files
from rmqalloc.fleet.arrow_columns import utf8
from rmqalloc.snapshot.directory import replaced_result

Progress = Callable[[int, int], None]
Made = TypeVar("Made")

_PIECES_PER_THREAD = 8  # so that no thread works long while others have nothing left

PLAN_KIND = "plan"
"""Kind of a directory of planned units, see `rmqalloc.snapshot.directory`."""


def plan_files(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    spec: PlanSpec,
    threads: int | None = None,
    on_progress: Progress | None = None,
) -> ByScenario:
    """Plan every unit of a Parquet file or directory.

    Parameters
    ----------
    source : path or str
        A Parquet file or a directory of Parquet files, read as ``docs/data/tables.md`` describes,
        or a URI of pyarrow, such as ``s3://bucket/fleet``; columns as `rmqalloc.evaluation.plan_batch`.
    target : path
        Directory for the result, ``part-*.parquet`` of schema ``spec.schema``; the rows follow
        those of ``source``. An earlier result is replaced when the new one is complete.
    spec : PlanSpec
        Specification of the plan.
    threads : int, optional
        Threads to work on; by default one per processor this process may use.
    on_progress : callable, optional
        Called with (pieces done, pieces in all) whenever a piece is done.

    Returns
    -------
    mapping of str to Totals
        Figures of all units in every scenario.

    Raises
    ------
    FileNotFoundError
        If ``source`` does not exist or holds no Parquet file.
    FileExistsError
        If ``target`` holds files that are not an earlier result.
    ValueError
        If a file cannot be read as Parquet, lies where none may be, or changes; or ``source`` is a
        table of Delta or Iceberg.
    TypeError
        If a column is missing, of the wrong type or not the same in all files, or a scenario needs
        a column that is missing.
    """
    files, schema = unit_files(source)
    refuse_schema(schema, spec)
    system, threads = opened(source)[0], threads or processors()
    pieces = cut(files, _PIECES_PER_THREAD * threads, system=system)
    with replaced_result(target, PLAN_KIND) as new:
        halted: list[bool] = []

        def plan(number: int) -> ByScenario:
            rows = (
                batch for piece in pieces[number] for batch in read_piece(piece, schema, system)
            )
            return _plan_piece(rows, new / f"part-{number:05d}.parquet", spec, halted)

        return reduce(
            added, run_on_threads(plan, range(len(pieces)), threads, on_progress, halted), {}
        )


def run_on_threads(
    work: Callable[[int], Made],
    numbers: Iterable[int],
    threads: int,
    on_progress: Progress | None = None,
    halted: list[bool] | None = None,
) -> list[Made]:
    """Call a function with each number on threads; return the answers in the order in which they
    come.

    After an error no further call begins, and ``halted`` gets an entry by which running calls can
    end early.
    """
    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(work, number) for number in numbers]
        made = []
        try:
            for future in as_completed(futures):
                made.append(future.result())
                if on_progress is not None:
                    on_progress(len(made), len(futures))
        except BaseException:
            if halted is not None:
                halted.append(True)
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return made


def refuse_schema(schema: pa.Schema, spec: PlanSpec) -> None:
    """Raise the TypeError that the first row of these columns would raise, by evaluating one row of
    nulls.
    """
    nothing = [pa.nulls(1, field.type) for field in schema]
    row = pa.RecordBatch.from_arrays(nothing, names=schema.names)
    evaluate(read_batch(row, spec.rule(), too_large_rows(row, spec)), spec.scenarios)


def plan_writer(
    where: str | os.PathLike[str] | IO[bytes], spec: PlanSpec, before: Sequence[pa.Field] = ()
) -> pq.ParquetWriter:
    """Return a Parquet writer of a plan that leaves out what costs time and serves no reader.

    Where a unit has one row, names get no dictionary, for hardly any occurs twice. Whole numbers
    are written by their differences, which takes less time than a dictionary and as little room,
    and leaves nothing to compress. A file has statistics of all columns but the owners, which no
    reader filters by.
    """
    named_once = spec.output == "best" or not spec.scenarios
    columns = [name for name in spec.schema.names if name != "owners"]
    names = ["consumer_group", "topic"]
    numbers = [field.name for field in spec.schema if pa.types.is_integer(field.type)]
    coded = [name for name in columns if name not in numbers and not (named_once and name in names)]
    own, owners = (
        [field.name for field in before],
        ["owners.list.element"] * ("owners" in spec.schema.names),
    )
    squeezed = {*own, *names, "err_msg", *owners}
    return pq.ParquetWriter(
        where,
        pa.schema([*before, *spec.schema]),
        compression={
            name: "zstd" if name in squeezed else "none" for name in (*own, *columns, *owners)
        },
        use_dictionary=[*own, *coded],
        column_encoding=dict.fromkeys([*numbers, *owners], "DELTA_BINARY_PACKED"),
        write_statistics=[*own, *columns],
        write_batch_size=8192,
    )


def strategies_of(source: str | os.PathLike[str], default: str) -> list[str]:
    """Return the strategies of the rows of a Parquet file or directory, the most frequent first."""
    files, schema = unit_files(source)
    if "strategy" not in schema.names:
        return [default]
    import pyarrow.compute as pc

    column = pa.schema([schema.field("strategy")])
    counts: Counter[str] = Counter()
    for file in files:
        for batch in read_piece(Piece(file), column, opened(source)[0]):
            for one in pc.value_counts(utf8(batch.column("strategy"))).to_pylist():
                counts[default if one["values"] is None else one["values"]] += one["counts"]
    return [name for name, _ in counts.most_common()] or [default]


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _plan_piece(
    rows: Iterable[pa.RecordBatch], path: Path, spec: PlanSpec, halted: Sequence[bool] = ()
) -> ByScenario:
    """Plan units into one file; end early once ``halted`` has an entry."""
    totals: ByScenario = {name: Totals() for name in spec.names} if spec.output != "best" else {}
    with plan_writer(path, spec) as writer:
        for batch in plan_stream(rows, spec):
            if halted:
                break
            writer.write_batch(batch)
            totals = added(totals, totals_of(batch))
    return totals
