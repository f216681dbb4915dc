"""Parquet in, Parquet out, on the threads of one machine: `rmqalloc.evaluation._plan_batch` without a cluster."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from difflib import get_close_matches
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from rmqalloc.evaluation._plan_batch import PlanSpec, plan_stream
from rmqalloc.evaluation._totals import ByScenario, Totals, added, totals_of
from rmqalloc.fleet._arrow_columns import utf8
from rmqalloc.snapshot._directory import replaced_result

INPUT_COLUMNS = (
    "consumer_group", "topic", "brokers", "queues", "client_ids", "broker_rooms", "client_rooms", "strategy", "virtual_nodes",
    "strategy_params",
)  # fmt: skip
"""Columns that are read where a table has them."""

_NEEDED = ("consumer_group", "topic", "client_ids")

PLAN_KIND = "plan"
"""Kind of a directory of planned units, see `rmqalloc.snapshot._directory`."""

_ROWS_PER_BATCH = 32_768


def plan_files(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    spec: PlanSpec,
    threads: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> ByScenario:
    """Plan every unit of a Parquet file or directory.

    Parameters
    ----------
    source : path
        A Parquet file or a directory of them; columns as `rmqalloc.evaluation.plan_batch`.
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
        If a file cannot be read as Parquet.
    TypeError
        If a column is missing or of the wrong type, or a scenario needs one that is not there.
    """
    pieces = _pieces(source, threads := threads or _processors())
    totals: ByScenario = {}
    with replaced_result(target, PLAN_KIND) as new, ThreadPoolExecutor(threads) as pool:
        paths = (new / f"part-{number:05d}.parquet" for number in range(len(pieces)))
        halted: list[bool] = []
        futures = [
            pool.submit(_plan_piece, piece, path, spec, halted) for piece, path in zip(pieces, paths, strict=True)
        ]
        try:
            for done, future in enumerate(as_completed(futures), start=1):
                totals = added(totals, future.result())
                if on_progress is not None:
                    on_progress(done, len(futures))
        except BaseException:
            halted.append(True)  # the others end with the batch that they are at, not with their file
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return totals


def read_columns(names: Sequence[str]) -> list[str]:
    """Those of a table's columns that are read, in the order of `INPUT_COLUMNS`.

    Raises
    ------
    TypeError
        A column is missing; the message has the names of all that are there, and the one that was perhaps meant.

    Examples
    --------
    >>> read_columns(["region", "client_ids", "topic", "brokers", "consumer_group"])
    ['consumer_group', 'topic', 'brokers', 'client_ids']
    >>> read_columns(["consumer_group", "topic", "brokers", "clients"])
    Traceback (most recent call last):
        ...
    TypeError: the table has no column client_ids; it has consumer_group, topic, brokers, clients; did you mean clients?
    """
    wrong = {name: f"no column {name}" for name in _NEEDED if name not in names}
    if not {"queues", "brokers"} & set(names):
        wrong["queues"] = wrong["brokers"] = "neither a queues nor a brokers column"
    if wrong:
        others = [name for name in names if name not in INPUT_COLUMNS]
        near = [other for name in wrong for other in get_close_matches(name, others, 1, 0.5)]
        meant = f"; did you mean {' and '.join(dict.fromkeys(near))}?" if near else ""
        raise TypeError(
            f"the table has {' and '.join(dict.fromkeys(wrong.values()))}; it has {', '.join(names) or 'none'}{meant}"
        )
    return [name for name in INPUT_COLUMNS if name in names]


def plan_writer(where: str | os.PathLike[str] | IO[bytes], spec: PlanSpec) -> pq.ParquetWriter:
    """A writer of a plan as Parquet, with what costs time and serves no reader left out.

    A file has statistics of all columns but the owners, by which nobody looks rows up. Where a unit has one row, hardly any
    group is there twice, and their names get no dictionary.
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
    """Strategies of the rows of a Parquet file or directory, the most frequent first.

    Parameters
    ----------
    source : path
        What `plan_files` has read.
    default : str
        The strategy of rows that name none.
    """
    counts: Counter[str] = Counter()
    for file in ds.dataset(source, format="parquet").get_fragments():
        if "strategy" not in file.physical_schema.names:
            counts[default] += file.count_rows()
            continue
        for batch in file.to_batches(columns=["strategy"]):
            for one in pc.value_counts(utf8(batch.column("strategy"))).to_pylist():
                counts[default if one["values"] is None else one["values"]] += one["counts"]
    return [name for name, n in counts.most_common() if n] or [default]


def _processors() -> int:
    """Processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _pieces(source: str | os.PathLike[str], threads: int) -> list[ds.Fragment]:
    """Files to work on one by one, or their row groups where there are fewer files than threads."""
    path = Path(source)
    if not path.exists():
        raise FileNotFoundError(f"{source} does not exist; give a Parquet file or a directory of them")
    files = list(ds.dataset(path, format="parquet").get_fragments())
    if not files:
        raise FileNotFoundError(f"{source} holds no Parquet file")
    if len(files) >= threads:
        return files
    return [group for file in files for group in file.split_by_row_group()]


def _plan_piece(piece: ds.Fragment, path: Path, spec: PlanSpec, halted: Sequence[bool] = ()) -> ByScenario:
    """Plan the units of one file or row group into one file, unless all is halted before it is done."""
    totals: ByScenario = {name: Totals() for name in spec.names} if spec.output != "best" else {}
    columns = read_columns(piece.physical_schema.names)
    with plan_writer(path, spec) as writer:
        for batch in plan_stream(_read(piece, columns), spec):
            if halted:
                break
            writer.write_batch(batch)
            totals = added(totals, totals_of(batch))
    return totals


def _read(piece: ds.Fragment, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Batches of one file or row group; a damaged file is named."""
    try:
        yield from piece.to_batches(columns=columns, batch_size=_ROWS_PER_BATCH, use_threads=False)
    except (OSError, pa.ArrowException) as error:
        raise ValueError(f"{piece.path} cannot be read: {error}") from error
