"""Object stores as workers reach them by themselves: file systems of pyarrow. Imports no pyspark.

What a store asks for, secrets among it, comes from the session's settings (`spark_udfs.job._store_settings`) and travels to
workers in the closures of tasks alone: it is in no file, no plan id, no log and no message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any, NamedTuple

import pyarrow as pa
import pyarrow.fs as pafs

from rmqalloc.evaluation.parquet_plan import opened
from spark_udfs.job import _published as manifests
from spark_udfs.job._published import Run
from spark_udfs.job.plan_reader import ArrowFiles


class Store(NamedTuple):
    """How to reach a store."""

    kind: str  # name of the class of pyarrow, such as ``S3FileSystem``
    arguments: tuple[tuple[str, Any], ...] = ()  # its arguments

    def __repr__(self) -> str:
        return f"Store({self.kind})"  # without the secrets

    def files(self) -> Any:
        """Return the file system."""
        given = dict(self.arguments)
        if self.kind == _BY_URI:
            return opened(given["uri"])[0]
        made = getattr(pafs, self.kind)
        try:
            return made(**given, **_ONE_REQUEST.get(self.kind, {}))
        except TypeError:  # pyarrow before 19
            return made(**given)
        except pa.ArrowException as error:
            raise OSError(f"{self.kind}: {error}") from error


_BY_URI = "FileSystem.from_uri"

_ONE_REQUEST = {"S3FileSystem": {"allow_delayed_open": True}}
"""What makes one request of a file of less than 10 MB or so, where an upload in parts takes three."""


def store_of_uri(where: str) -> tuple[Store | None, str]:
    """Return the store of a URI as pyarrow knows it, or None for a disk, and the path there.

    Examples
    --------
    >>> store_of_uri("s3://key:secret@lake/fleet?region=eu-central-1")
    (Store(FileSystem.from_uri), 'lake/fleet')
    >>> store_of_uri("file:///fleet")
    (None, '/fleet')
    """
    system, path = opened(where)
    return None if isinstance(system, pafs.LocalFileSystem) else Store(_BY_URI, (("uri", where),)), path


class StoreFiles(ArrowFiles):
    """`Storage` in a store below a path; nothing can be created exclusively by pyarrow."""

    exclusive = False

    def __init__(self, store: Store, root: str) -> None:
        super().__init__(store.files(), root)

    def create(self, name: str, text: str) -> bool:
        """Write a new file; an object is there when it is closed, and as a whole."""
        with self.system.open_output_stream(f"{self.root}/{name}") as file:
            file.write(text.encode())
        return True


def in_store(store: Store, root: str, method: str, *arguments: Any) -> Any:
    """Call a method of `StoreFiles`, where the store can be reached."""
    return getattr(StoreFiles(store, root), method)(*arguments)


class StoreBuckets(NamedTuple):
    """Buckets as workers write them to a store, see `spark_udfs.job._by_file.Buckets`."""

    store: Store
    root: str

    @contextmanager
    def attempt(self, plan_id: str) -> Iterator[str]:
        """Yield a unique name; no manifest names what a failed attempt leaves."""
        yield manifests.unique_name()

    def new_file(self, name: str) -> IO[bytes]:
        """Open a new file, which exists once it is closed."""
        file: IO[bytes] = self.store.files().open_output_stream(f"{self.root}/{name}")
        return file

    def commit(self, run: Run, number: int, attempt: str, record: Mapping[str, Any]) -> None:
        """Record that a bucket is complete."""
        manifests.keep(StoreFiles(self.store, self.root), run, number, attempt, record)
