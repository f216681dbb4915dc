"""Plan Parquet files on the threads of one machine: `rmqalloc.evaluation.batch_planning` without a cluster."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from difflib import get_close_matches
from functools import reduce
from pathlib import Path
from typing import IO, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from rmqalloc.errors import ArgumentError, ArgumentTypeError
from rmqalloc.evaluation.batch_planning import PlanSpec, plan_stream
from rmqalloc.evaluation.totals import ByScenario, Totals, added, totals_of
from rmqalloc.fleet.arrow_columns import utf8
from rmqalloc.snapshot.directory import replaced_result
from rmqalloc.text import without_secrets

Progress = Callable[[int, int], None]
Made = TypeVar("Made")

INPUT_COLUMNS = (
    "consumer_group", "topic", "brokers", "queues", "client_ids", "broker_rooms", "client_rooms", "strategy", "virtual_nodes",
    "strategy_params", "unit_err_msg",
)  # fmt: skip
"""Columns that are read where a table has them."""

_NEEDED = ("consumer_group", "topic", "client_ids")

PLAN_KIND = "plan"
"""Kind of a directory of planned units, see `rmqalloc.snapshot.directory`."""

_ROWS_PER_BATCH = 32_768


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
        A Parquet file or a directory of them, or a URI that pyarrow knows, such as ``s3://bucket/fleet``; columns as
        `rmqalloc.evaluation.plan_batch`.
    target : path
        Directory for the result, ``part-*.parquet`` of schema ``spec.schema``; the rows follow those of ``source``.
        An earlier result is replaced when the new one is complete.
    spec : PlanSpec
        What to plan.
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
        If a file cannot be read as Parquet, or ``source`` is a table of Delta or Iceberg.
    TypeError
        If a column is missing or of the wrong type, or a scenario needs one that is not there.
    """
    pieces = _pieces(source, threads := threads or processors())
    with replaced_result(target, PLAN_KIND) as new:
        halted: list[bool] = []

        def plan(number: int) -> ByScenario:
            return _plan_piece(pieces[number], new / f"part-{number:05d}.parquet", spec, halted)

        return reduce(added, run_on_threads(plan, range(len(pieces)), threads, on_progress, halted), {})


def run_on_threads(
    work: Callable[[int], Made],
    numbers: Iterable[int],
    threads: int,
    on_progress: Progress | None = None,
    halted: list[bool] | None = None,
) -> list[Made]:
    """Call a function with each number on threads; return the answers in the order in which they come.

    After an error no further call begins, and ``halted`` gets an entry by which running calls can end early.
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


def read_columns(names: Sequence[str]) -> list[str]:
    """Return those of a table's columns that are read, in the order of `INPUT_COLUMNS`.

    Examples
    --------
    >>> read_columns(["region", "client_ids", "topic", "brokers", "consumer_group"])
    ['consumer_group', 'topic', 'brokers', 'client_ids']
    >>> read_columns(["consumer_group", "topic", "brokers", "clients"])
    Traceback (most recent call last):
        ...
    rmqalloc.errors.ArgumentTypeError: the table has no column client_ids; it has ... brokers, clients; did you mean clients?
    """
    wrong = {name: f"no column {name}" for name in _NEEDED if name not in names}
    if not {"queues", "brokers"} & set(names):
        wrong["queues"] = wrong["brokers"] = "neither a queues nor a brokers column"
    if wrong:
        others = [name for name in names if name not in INPUT_COLUMNS]
        near = [other for name in wrong for other in get_close_matches(name, others, 1, 0.5)]
        meant = f"; did you mean {' and '.join(dict.fromkeys(near))}?" if near else ""
        raise ArgumentTypeError(
            f"the table has {' and '.join(dict.fromkeys(wrong.values()))}; it has {', '.join(names) or 'none'}{meant}"
        )
    return [name for name in INPUT_COLUMNS if name in names]


def plan_writer(where: str | os.PathLike[str] | IO[bytes], spec: PlanSpec) -> pq.ParquetWriter:
    """Return a Parquet writer of a plan that leaves out what costs time and serves no reader.

    A file has statistics of all columns but the owners, which no reader filters by. Where a unit has one row, hardly any group
    occurs twice, so group names get no dictionary.
    """
    named_once = spec.output == "best" or not spec.scenarios
    columns = [name for name in spec.schema.names if name != "owners"]
    coded = [name for name in columns if not (named_once and name == "consumer_group")]
    return pq.ParquetWriter(
        where,
        spec.schema,
        compression="zstd",
        use_dictionary=[*coded, "owners.list.element"],
        write_statistics=columns,
        write_batch_size=8192,
    )


def strategies_of(source: str | os.PathLike[str], default: str) -> list[str]:
    """Return the strategies of the rows of a Parquet file or directory, the most frequent first."""
    counts: Counter[str] = Counter()
    for file in _dataset(source).get_fragments():
        if "strategy" not in _schema(file).names:
            with _names_file(file.path):
                counts[default] += file.count_rows()
            continue
        for batch in _read(file, ["strategy"]):
            for one in pc.value_counts(utf8(batch.column("strategy"))).to_pylist():
                counts[default if one["values"] is None else one["values"]] += one["counts"]
    return [name for name, n in counts.most_common() if n] or [default]


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def opened(where: str | os.PathLike[str]) -> tuple[pafs.FileSystem, str]:
    """Return the file system of a path or a URI, and the path there."""
    text = os.fspath(where)
    if "://" not in text:
        return pafs.LocalFileSystem(), os.path.abspath(text)
    try:
        system, path = pafs.FileSystem.from_uri(text)
    except (ValueError, OSError, NotImplementedError) as error:  # of pyarrow, which alone runs here
        raise ArgumentError(f"pyarrow cannot open {without_secrets(text)} ({type(error).__name__})") from None
    return system, path.rstrip("/")


def refuse_table(source: str, names: Iterable[str]) -> None:
    """Raise ArgumentError if the file names below a source are those of a table: its files may hold rows that it has no more.

    Examples
    --------
    >>> refuse_table("fleet", ["part-0.parquet", "_delta_log/00000000000000000000.json"])
    Traceback (most recent call last):
        ...
    rmqalloc.errors.ArgumentError: fleet is a table of Delta, whose files hold rows that the table has no more: read it as ...
    """
    marks = {"Delta": ("_delta_log/", ".json"), "Iceberg": ("metadata/", ".metadata.json")}
    for name in names:
        for kind, (start, end) in marks.items():
            if name.startswith(start) and name.endswith(end):
                raise ArgumentError(
                    f"{source} is a table of {kind}, whose files hold rows that the table has no more: read it as a table, "
                    f"with --spark --format {kind.lower()} or by an engine that knows {kind}"
                )


def _dataset(source: str | os.PathLike[str]) -> ds.Dataset:
    """Open a Parquet file or a directory of them, on a disk or wherever pyarrow finds a URI."""
    system, path = opened(source)
    shown = without_secrets(os.fspath(source))
    with _names_file(shown, "listed"):
        [found] = system.get_file_info([path])
        for folder in ("_delta_log", "metadata"):
            beside = system.get_file_info(pafs.FileSelector(f"{path}/{folder}", allow_not_found=True))
            refuse_table(shown, (f"{folder}/{one.base_name}" for one in beside))
    if found.type == pafs.FileType.NotFound:
        raise FileNotFoundError(f"{shown} does not exist; give a Parquet file or a directory of them")
    with _names_file(shown):
        return ds.dataset(path, format="parquet", filesystem=system)


@contextmanager
def _names_file(shown: str, done: str = "read") -> Iterator[None]:
    """Turn errors of pyarrow and of the system into one that names the file."""
    try:
        yield
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise ArgumentError(f"{shown} cannot be {done}: {error}") from error


def _pieces(source: str | os.PathLike[str], threads: int) -> list[ds.Fragment]:
    """Return the files, or their row groups where there are fewer files than threads."""
    files = list(_dataset(source).get_fragments())
    if not files:
        raise FileNotFoundError(f"{without_secrets(os.fspath(source))} holds no Parquet file")
    if len(files) >= threads:
        return files
    groups: list[ds.Fragment] = []
    for file in files:
        with _names_file(file.path):
            groups += file.split_by_row_group()
    return groups


def _schema(piece: ds.Fragment) -> pa.Schema:
    with _names_file(piece.path):
        return piece.physical_schema


def _plan_piece(piece: ds.Fragment, path: Path, spec: PlanSpec, halted: Sequence[bool] = ()) -> ByScenario:
    """Plan the units of one file or row group into one file; end early once ``halted`` has an entry."""
    totals: ByScenario = {name: Totals() for name in spec.names} if spec.output != "best" else {}
    columns = read_columns(_schema(piece).names)
    with plan_writer(path, spec) as writer:
        for batch in plan_stream(_read(piece, columns), spec):
            if halted:
                break
            writer.write_batch(batch)
            totals = added(totals, totals_of(batch))
    return totals


def _read(piece: ds.Fragment, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Yield the batches of one file or row group; an error names the file."""
    with _names_file(piece.path):
        yield from piece.to_batches(columns=columns, batch_size=_ROWS_PER_BATCH, use_threads=False)
