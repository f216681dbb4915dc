"""Files of units: the Parquet files that a path names, their columns, and their rows.

`bulk`, Spark's workers and Spark itself read the same rows of a directory, because only this module
decides which. Its twelve rules are in ``docs/data/tables.md``. They are Spark's defaults, and
refuse files that Spark would skip silently.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import NamedTuple, Protocol
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from rmqalloc.errors import ArgumentError, ArgumentTypeError
from rmqalloc.evaluation._plain_types import as_type, merged, plain
from rmqalloc.text import without_secrets

INPUT_COLUMNS = (
    "consumer_group", "topic", "brokers", "queues", "client_ids", "broker_rooms", "client_rooms", "strategy", "virtual_nodes",
    "strategy_params", "unit_err_msg",
)  # fmt: skip
"""Columns that are read where a table has them."""

ROWS_PER_BATCH = 32_768
"""Rows of a batch at most."""

_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"  # what stands for null in the name of a directory
_NEEDED = ("consumer_group", "topic", "client_ids")
_AT_ONCE = 16  # requests to a store
# A thread takes 72 MiB of addresses, which the bound of a Spark worker counts.
_AT_ONCE_ON_DISK = 4

Partition = tuple[tuple[str, str | None], ...]

OwnColumns = dict[str, pa.Field]
"""Columns of a file that are read, by their names in `INPUT_COLUMNS`: their own names and plain types."""


class UnitFile(NamedTuple):
    """A file as its directory lists it."""

    path: str
    n_bytes: int
    changed: int  # time of the last change in nanoseconds
    partition: Partition = ()  # names and values of the directories it lies in


class Piece(NamedTuple):
    """Row groups of a file, ``start`` to before ``stop``; all of them if ``stop`` is -1."""

    file: UnitFile
    start: int = 0
    stop: int = -1


class UnitFiles(NamedTuple):
    """The files of a source, and the columns of their units as `read_piece` gives them."""

    files: list[UnitFile]
    schema: pa.Schema  # the columns that are read, in the order of `INPUT_COLUMNS`


class TreeEntry(NamedTuple):
    """A file or a directory among those of its directory."""

    name: str
    is_directory: bool
    n_bytes: int = 0
    changed: int = 0


class Tree(Protocol):
    """A store of files."""

    def look(self, path: str) -> TreeEntry | None:
        """Return what is at a path; None if nothing is."""

    def entries(self, directory: str) -> Sequence[TreeEntry]:
        """Return what is in a directory."""

    def schema(self, file: UnitFile) -> pa.Schema:
        """Return the columns of a Parquet file."""


class ArrowTree:
    """A file system of pyarrow as a `Tree`."""

    def __init__(self, system: pafs.FileSystem | None = None) -> None:
        self.system = system or pafs.LocalFileSystem()

    def look(self, path: str) -> TreeEntry | None:
        """Return what is at a path; None if nothing is."""
        found = self.system.get_file_info(path)
        return None if found.type == pafs.FileType.NotFound else _tree_entry(found)

    def entries(self, directory: str) -> list[TreeEntry]:
        """Return the entries of a directory."""
        return list(map(_tree_entry, self.system.get_file_info(pafs.FileSelector(directory))))

    def open(self, path: str) -> pq.ParquetFile:
        """Open a Parquet file; remote files are read in few large pieces."""
        return pq.ParquetFile(
            path,
            filesystem=self.system,
            pre_buffer=not isinstance(self.system, pafs.LocalFileSystem),
        )

    def schema(self, file: UnitFile) -> pa.Schema:
        """Return the columns of a Parquet file."""
        with self.open(file.path) as opened_file:
            return opened_file.schema_arrow


def _at_once(tree: Tree) -> int:
    """Return how many threads look at a tree."""
    is_disk = isinstance(tree, ArrowTree) and isinstance(tree.system, pafs.LocalFileSystem)
    return _AT_ONCE_ON_DISK if is_disk else _AT_ONCE


def _tree_entry(found: pafs.FileInfo) -> TreeEntry:
    is_directory = found.type == pafs.FileType.Directory
    return TreeEntry(found.base_name, is_directory, found.size or 0, found.mtime_ns or 0)


def unit_files(source: str | os.PathLike[str]) -> UnitFiles:
    """Return the files of a path, of a pattern, or of a URI that pyarrow knows, and the columns of
    their units.

    Raises
    ------
    FileNotFoundError
        If there is no such path, or no file to read.
    ValueError
        If a file is no Parquet or lies where none may be, or ``source`` is a table of Delta,
        Hudi or Iceberg.
    TypeError
        If a column is missing, or is not the same in all files.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from rmqalloc.snapshot.synthetic import write_fleet
    >>> with TemporaryDirectory() as folder:
    ...     write_fleet(f"{folder}/region=eu", 100, n_files=2)
    ...     files, schema = unit_files(folder)
    >>> [(os.path.basename(file.path), file.partition) for file in files]
    [('part-00000.parquet', (('region', 'eu'),)), ('part-00001.parquet', (('region', 'eu'),))]
    >>> schema.names
    ['consumer_group', 'topic', 'brokers', 'client_ids']
    """
    system, path = opened(source)
    tree = ArrowTree(system)
    files = listed_files(tree, path, without_secrets(os.fspath(source)))
    return UnitFiles(files, columns_of_files(files, tree)[0])


def matched(tree: Tree, path: str) -> dict[str, TreeEntry]:
    """Return what a path names in a store: what is there, or, if nothing is, what the path matches
    as a pattern, in order.

    Patterns are those of Hadoop: ``*``, ``?``, ``[a-z]``, ``[^a-z]`` and ``{a,b}``. They match no
    hidden names, and nothing in a directory of a table. A directory on the way that is there under
    its very name is that directory.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for name in ("[1]", "1", "2"):
    ...         Path(folder, name).mkdir()
    ...     for pattern in ("[1]", "[2]", "{2,1}", "?"):
    ...         print([os.path.basename(path) for path in matched(ArrowTree(), f"{folder}/{pattern}")])
    ['[1]']
    ['2']
    ['2', '1']
    ['1', '2']
    """
    there = tree.look(path)
    if there is not None or not _WILD.search(path):
        return {} if there is None else {path: there}
    if re.search(r"\{[^{}]*/[^{}]*\}", path):
        return _of_all(matched(tree, text) for text in _alternatives(path))
    start = re.match(rf"(?:{_SCHEME}(?://[^/]*)?)?/*", path)
    root = start[0] if start else ""
    found = {root: TreeEntry("", is_directory=True)}
    for name in path[len(root) :].split("/"):
        places = [place for place, entry in found.items() if entry.is_directory]
        found = _of_all(_named(tree, place, name) for place in places)
    return found


_WILD = re.compile(r"[*?{\[]")
_SCHEME = r"[A-Za-z][\w+.-]+:(?=/)"


def _of_all(found: Iterable[dict[str, TreeEntry]]) -> dict[str, TreeEntry]:
    return {path: entry for part in found for path, entry in part.items()}


def _named(tree: Tree, place: str, name: str) -> dict[str, TreeEntry]:
    """Return what has a name in a directory, or matches it."""
    before = place if not place or place.endswith("/") else f"{place}/"
    there = tree.look(before + name)
    if there is not None or not _WILD.search(name):
        return {} if there is None else {before + name: there}
    entries = tree.entries(place or ".")
    _refuse_marked(entries, without_secrets(place))
    visible = sorted(entry for entry in entries if not _is_hidden(entry.name))
    found: dict[str, TreeEntry] = {}
    for pattern in _alternatives(name):
        plain = re.sub(r"\\([*?\[\]])", r"[\1]", pattern).replace("[^", "[!")
        fitting = [entry for entry in visible if fnmatchcase(entry.name, plain)]
        found |= {before + entry.name: entry for entry in fitting}
    return found


def _alternatives(pattern: str) -> list[str]:
    """Return a pattern with each choice in braces made."""
    found = re.search(r"\{([^{}]*)\}", pattern)
    if found is None:
        return [pattern]
    made = [
        pattern[: found.start()] + text + pattern[found.end() :] for text in found[1].split(",")
    ]
    return [text for choice in made for text in _alternatives(choice)]


def listed_files(tree: Tree, path: str, shown: str) -> list[UnitFile]:
    """Return the files that a path names in a store, in order; messages call the path ``shown``."""
    with names_file(shown, "listed"):
        roots = matched(tree, path)
    if not roots:
        how = ", and matches nothing as a pattern" if _WILD.search(path) else ""
        raise FileNotFoundError(
            f"{shown} does not exist{how}; give a Parquet file or a directory of them"
        )
    listed: list[UnitFile] = []
    unread: list[str] = []
    for root, found in roots.items():
        named = shown if root == path else without_secrets(root)
        with names_file(named, "listed"):
            files, below = _files_at(tree, root, found, named)
        if not files and (below or root == path):
            raise FileNotFoundError(f"{named} {_no_file(found, named, below)}")
        listed += files
        unread += [f"{root}/{name}" for name in below]
    if not listed:
        raise FileNotFoundError(f"{shown} matches no Parquet file")
    _refuse_mixed(listed, unread)
    return listed


def _files_at(
    tree: Tree, root: str, found: TreeEntry, shown: str
) -> tuple[list[UnitFile], list[str]]:
    """Return the files at a root in order, and the names of directories that are not read."""
    if found.is_directory:
        files, unread = _walked(tree, root, shown)
        return [files[name] for name in sorted(files)], unread
    is_read = found.n_bytes and not _is_hidden(found.name)
    return [UnitFile(root, found.n_bytes, found.changed)] if is_read else [], []


def columns_of_files(files: Sequence[UnitFile], tree: Tree) -> tuple[pa.Schema, list[OwnColumns]]:
    """Return the columns that are read and that all files have, and for each file what these are in
    it.
    """
    with ThreadPoolExecutor(_at_once(tree)) as pool:
        columns = list(pool.map(lambda file: _columns_of(file, tree), files))
    return _common(files, columns), columns


def _no_file(found: TreeEntry, shown: str, unread: Sequence[str]) -> str:
    """Return why nothing is read at a path."""
    if not found.is_directory and found.n_bytes:
        return "is hidden by its name, so it is not read; rename it"
    advice = (
        f"; its subdirectories are not read: give a subdirectory, such as {shown}/{unread[0]}"
        if unread
        else ""
    )
    return f"holds no Parquet file{advice}"


def _walked(tree: Tree, root: str, shown: str) -> tuple[dict[str, UnitFile], list[str]]:
    """Return the files in a directory and its partitions, and the directories that are not read, by
    names below the root.
    """
    top = tree.entries(root)
    _refuse_iceberg(tree, root, top, shown)
    files: dict[str, UnitFile] = {}
    unread: list[str] = []
    level: list[tuple[str, Partition, Sequence[TreeEntry]]] = [("", (), top)]
    with ThreadPoolExecutor(_at_once(tree)) as pool:
        while level:
            below: list[tuple[str, Partition]] = []
            for folder, partition, entries in level:
                _refuse_marked(entries, f"{shown}/{folder}".rstrip("/"))
                for entry in entries:
                    name, path = folder + entry.name, f"{root}/{folder}{entry.name}"
                    if _is_hidden(entry.name) or not (entry.is_directory or entry.n_bytes):
                        continue
                    if not entry.is_directory:
                        files[name] = UnitFile(path, entry.n_bytes, entry.changed, partition)
                    elif "=" in entry.name:
                        below.append((f"{name}/", _with_value(partition, entry.name, path)))
                    else:
                        unread.append(name)
            listed = pool.map(tree.entries, [f"{root}/{name}".rstrip("/") for name, _ in below])
            level = [
                (name, partition, entries)
                for (name, partition), entries in zip(below, listed, strict=True)
            ]
    return files, sorted(unread)


def _refuse_mixed(files: Sequence[UnitFile], unread: Sequence[str]) -> None:
    """Refuse files that do not lie below the same names, and directories beside partitions."""
    first, names = files[0], [name for name, _ in files[0].partition]
    for file in files:
        own = [name for name, _ in file.partition]
        if [name.lower() for name in own] != [name.lower() for name in names]:
            raise ArgumentError(
                f"{file.path} lies in directories of {_listing(own)}, and {first.path} of {_listing(names)}: all files must "
                "lie below the same names"
            )
    if names and unread:
        raise ArgumentError(
            f"{unread[0]} lies beside or below directories of {_listing(names)} and would not be read: name it "
            f"{names[0]}=..., or move it away"
        )


def _listing(names: Sequence[str]) -> str:
    return ", ".join(f"{name}=" for name in names) or "no name="


def _is_hidden(name: str) -> bool:
    return (
        name.startswith(".")
        or (name.startswith("_") and "=" not in name)
        or name.endswith("._COPYING_")
    )


def _with_value(partition: Partition, name: str, path: str) -> Partition:
    """Add the column of a directory, and its value there."""
    column, _, value = name.partition("=")
    if not column or not value:
        raise ArgumentError(
            f"{path} lacks a {'value' if column else 'name'}: a directory of a column is name=value"
        )
    if _decoded(column).lower() in {above.lower() for above, _ in partition}:
        raise ArgumentError(f"{path} lies in another directory of {column}=: keep one of them")
    return (*partition, (_decoded(column), None if value == _NO_VALUE else _decoded(value)))


def _decoded(text: str) -> str:
    """Return a text with its ``%xx`` as the characters of these numbers, as Hive and Spark write
    them.
    """
    return re.sub("%([0-9A-Fa-f]{2})", lambda found: chr(int(found[1], 16)), text)


def _columns_of(file: UnitFile, tree: Tree) -> OwnColumns:
    """Return the columns of a file that are read."""
    with names_file(file.path):
        fields = list(tree.schema(file))
    fields += [pa.field(name, pa.string()) for name, _ in file.partition]
    names = []
    for field in fields:
        lower = field.name.lower()
        names.append(lower if lower in INPUT_COLUMNS else field.name)
    try:
        read = read_columns(names)
    except ArgumentTypeError as error:
        raise ArgumentTypeError(f"{file.path}: {error}") from None
    for name in read:
        if names.count(name) > 1:
            given = ", ".join(field.name for field in fields if field.name.lower() == name)
            of_directories = {column.lower() for column, _ in file.partition}
            where = ", one of them of a directory" if name in of_directories else ""
            raise ArgumentError(
                f"{file.path} has {names.count(name)} columns for {name} ({given}){where}: keep one"
            )
    found = dict(zip(names, fields, strict=True))
    return {name: pa.field(found[name].name, plain(found[name].type)) for name in read}


def _common(files: Sequence[UnitFile], columns: Sequence[OwnColumns]) -> pa.Schema:
    """Return the columns that all files have; refuse a file that differs."""
    first = files[0].path
    common = {name: field.type for name, field in columns[0].items()}
    for file, own in zip(files, columns, strict=True):
        for name in INPUT_COLUMNS:
            if (name in own) != (name in common):
                has, lacks = (file.path, first) if name in own else (first, file.path)
                raise ArgumentTypeError(
                    f"{lacks} has no column {name}, and {has} has: give it to all files, or to none"
                )
            if name in own:
                both = merged(common[name], own[name].type)
                if both is None:
                    raise ArgumentTypeError(
                        f"column {name} is of {own[name].type} in {file.path}, and of {common[name]} in {first}: write one type"
                    )
                common[name] = both
    return pa.schema(list(common.items()))


def cut(
    files: Sequence[UnitFile],
    wanted: int,
    most_bytes: int = 64 << 20,
    system: pafs.FileSystem | None = None,
) -> list[list[Piece]]:
    """Cut files into about as many pieces as wanted, more if they had more bytes than that, of
    about equal bytes, in order.

    Where there are fewer files than pieces, and where a file is much larger than a piece, it is cut
    between row groups.
    """
    total = sum(file.n_bytes for file in files)
    wanted = max(wanted, total // most_bytes)
    sized: list[tuple[Piece, float]] = []
    for file in files:
        is_large = len(files) < wanted or 2 * file.n_bytes * wanted > 3 * total
        sized += _row_groups(file, ArrowTree(system)) if is_large else [(Piece(file), file.n_bytes)]
    pieces: dict[int, list[Piece]] = {}
    before = 0.0
    for piece, n_bytes in sized:
        pieces.setdefault(int(before * wanted / max(total, 1)), []).append(piece)
        before += n_bytes
    return list(pieces.values())


def _row_groups(file: UnitFile, tree: ArrowTree) -> list[tuple[Piece, float]]:
    """Return the row groups of a file, and the share of its bytes that each has."""
    with names_file(file.path), tree.open(file.path) as opened_file:
        about = opened_file.metadata
        sizes = [about.row_group(i).total_byte_size for i in range(about.num_row_groups)]
    share = file.n_bytes / max(sum(sizes), 1)
    return [(Piece(file, i, i + 1), size * share) for i, size in enumerate(sizes)] or [
        (Piece(file), file.n_bytes)
    ]


def read_piece(
    piece: Piece, schema: pa.Schema, system: pafs.FileSystem | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a piece as batches of exactly this schema, that of `unit_files` or columns
    of it.

    Columns whose type need not change are not copied. A file that changed after it was listed is
    refused, before and after it is read; errors name the file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from rmqalloc.snapshot.synthetic import write_fleet
    >>> with TemporaryDirectory() as folder:
    ...     write_fleet(folder, 100)
    ...     files, schema = unit_files(folder)
    ...     sum(batch.num_rows for piece in cut(files, 1)[0] for batch in read_piece(piece, schema))
    100
    """
    file, tree = piece.file, ArrowTree(system)
    _refuse_changed(file, tree)
    with names_file(file.path), tree.open(file.path) as opened_file:
        names = {name.lower(): name for name in opened_file.schema_arrow.names}
        names = {name: names[name] for name in schema.names if name in names}
        groups = list(
            range(piece.start, opened_file.num_row_groups if piece.stop < 0 else piece.stop)
        )
        for batch in opened_file.iter_batches(
            ROWS_PER_BATCH, groups, list(names.values()), use_threads=False
        ):
            yield _as_schema(batch, names, dict(file.partition), schema)
    _refuse_changed(file, tree)


def _refuse_changed(file: UnitFile, tree: ArrowTree) -> None:
    with names_file(file.path, "found"):
        now = tree.look(file.path)
    if now is None or (now.n_bytes, now.changed) != (file.n_bytes, file.changed):
        raise ArgumentError(
            f"{file.path} {'is gone' if now is None else 'changed'} since it was listed; run again"
        )


def _as_schema(
    batch: pa.RecordBatch,
    names: Mapping[str, str],
    partition: Mapping[str, str | None],
    schema: pa.Schema,
) -> pa.RecordBatch:
    """Return the columns of a schema, out of a batch in which they have these names, and out of
    names of directories.
    """
    values = {name.lower(): value for name, value in partition.items()}
    arrays = []
    for field in schema:
        if field.name in names:
            array = as_type(batch.column(names[field.name]), field.type)
        else:
            array = pa.repeat(pa.scalar(values[field.name], pa.string()), batch.num_rows)
        arrays.append(array)
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


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
        near: list[str] = []
        for name in wrong:
            near += get_close_matches(name, others, n=1, cutoff=0.5)
        meant = f"; did you mean {' and '.join(dict.fromkeys(near))}?" if near else ""
        raise ArgumentTypeError(
            f"the table has {' and '.join(dict.fromkeys(wrong.values()))}; it has {', '.join(names) or 'none'}{meant}"
        )
    return [name for name in INPUT_COLUMNS if name in names]


def opened(where: str | os.PathLike[str]) -> tuple[pafs.FileSystem, str]:
    """Return the file system of a path or a URI, and the path there."""
    text = os.fspath(where)
    local = local_path(text)
    if local is not None:
        return pafs.LocalFileSystem(), local
    try:
        system, path = pafs.FileSystem.from_uri(text)
    except (ValueError, OSError, NotImplementedError) as error:  # of pyarrow, which alone runs here
        raise ArgumentError(
            f"pyarrow cannot open {without_secrets(text)} ({type(error).__name__})"
        ) from None
    return system, path.rstrip("/")


def local_path(where: str) -> str | None:
    """Return a path, or the path of a ``file:`` URI, as an absolute path; None for other URIs.

    Examples
    --------
    >>> local_path("file:///fleet/a%20b/part-?.parquet")
    '/fleet/a b/part-?.parquet'
    """
    if where.startswith("file:"):
        where = unquote(re.sub("^file:(//[^/]*)?", "", where))
    elif re.match(_SCHEME, where):
        return None
    return os.path.abspath(where)


def refuse_table(shown: str, mark: str, kind: str) -> None:
    """Raise ArgumentError for a directory in which something is that only tables of a format have:
    its files may hold rows that the table has no more.

    Examples
    --------
    >>> refuse_table("fleet", "_delta_log", "Delta")
    Traceback (most recent call last):
        ...
    rmqalloc.errors.ArgumentError: fleet is a table of Delta or a part of it: it contains _delta_log. Its files may ...
    """
    raise ArgumentError(
        f"{shown} is a table of {kind} or a part of it: it contains {mark}. Its files may hold rows that the table has no "
        f"more: read the table, with --spark --format {kind.lower()}, with --spark --table NAME, or by an engine that knows "
        f"{kind}"
    )


TABLE_MARKS = {"_delta_log": "Delta", ".hoodie": "Hudi", ".hoodie_partition_metadata": "Hudi"}
"""Names that only directories of tables hold, with the format."""


def _refuse_marked(entries: Sequence[TreeEntry], shown: str) -> None:
    for entry in entries:
        mark, _, _ = entry.name.rpartition(".parquet")  # Hudi writes its mark in one of two formats
        if kind := TABLE_MARKS.get(mark or entry.name):
            refuse_table(shown, entry.name, kind)


def _refuse_iceberg(tree: Tree, root: str, top: Sequence[TreeEntry], shown: str) -> None:
    """Refuse a directory with Iceberg's metadata, or with nothing but its two directories."""
    folders = {entry.name for entry in top if entry.is_directory}
    if "metadata" not in folders:
        return
    for entry in tree.entries(f"{root}/metadata"):
        if re.search(r"\.metadata\.json(\.gz)?$|\.avro$|^version-hint\.text$", entry.name):
            refuse_table(shown, f"metadata/{entry.name}", "Iceberg")
    if (
        {entry.name for entry in top if not _is_hidden(entry.name)}
        == {"data", "metadata"}
        == folders
    ):
        refuse_table(shown, "data and metadata", "Iceberg")


@contextmanager
def names_file(shown: str, done: str = "read") -> Iterator[None]:
    """Turn errors of pyarrow and of the system into an error that names the file."""
    try:
        yield
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise ArgumentError(f"{shown} cannot be {done}: {error}") from error
