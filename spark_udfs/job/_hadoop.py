"""The Hadoop client of Spark's driver, for what Spark's readers and writers do not do: claims,
etags, a look at a directory.

Spark Connect has no access to it.
"""

import re
from collections.abc import Collection, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from rmqalloc.evaluation.unit_files import TreeEntry, UnitFile
from spark_udfs.job._plan_directory import ClaimedError, Folder
from spark_udfs.job._plan_kernels import PLAN_ID

try:
    from py4j.protocol import Py4JJavaError
except ModuleNotFoundError:  # the client of Spark Connect alone has no bridge to Java
    Py4JJavaError = PySparkException

# S3A detects a taken name when it writes, and raises either.
_TAKEN = ("FileAlreadyExistsException", "RemoteFileChangedException")


def bridge(spark: SparkSession) -> Any:
    """Return the JVM of the driver; None under Spark Connect."""
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        return None
    return getattr(spark, "_jvm", None)


def driver_pid(spark: SparkSession) -> int:
    """Return the process id of the driver's Java."""
    management = bridge(spark).java.lang.management.ManagementFactory
    name = str(management.getRuntimeMXBean().getName())
    pid, _, _ = name.partition("@")
    return int(pid)


class HadoopFolder(Folder):
    """A directory in a file system of Hadoop's."""

    def __init__(self, spark: SparkSession, uri: str) -> None:
        self._spark, self._uri = spark, uri.rstrip("/")

    def names(self) -> list[str]:
        """Return the names of all that is in it."""
        path, system = _at(self._spark, self._uri)
        try:
            return sorted(str(status.getPath().getName()) for status in system.listStatus(path))
        except Py4JJavaError as error:
            if _kind(error) == "FileNotFoundException":
                return []
            raise

    def text(self, name: str) -> str | None:
        """Return the text of a file, None if there is none."""
        path, system = _at(self._spark, f"{self._uri}/{name}")
        try:
            stream = system.open(path)
        except Py4JJavaError as error:
            if _kind(error) == "FileNotFoundException":
                return None
            raise
        try:
            io_utils = bridge(self._spark).org.apache.commons.io.IOUtils
            read: Any = io_utils.toByteArray(stream)
            return bytes(read).decode("utf-8", "replace")
        finally:
            stream.close()

    def create(self, name: str, text: str) -> bool:
        """Create a file unless it is there; whether that is atomic depends on the file system."""
        path, system = _at(self._spark, f"{self._uri}/{name}")
        try:
            # S3A writes with If-None-Match if the store supports it; others create atomically and
            # ignore the option.
            builder = system.createFile(path).recursive().overwrite(False)
            _put(builder.opt("fs.option.create.conditional.overwrite", "true"), text)
        except Py4JJavaError as error:
            if _kind(error) in _TAKEN:
                return False
            raise
        return True

    def write(self, name: str, text: str) -> None:
        """Create or replace a file."""
        path, system = _at(self._spark, f"{self._uri}/{name}")
        _put(system.createFile(path).recursive().overwrite(True), text)

    def remove(self, names: Sequence[str]) -> None:
        """Remove files and directories, one after the other."""
        for name in names:
            path, system = _at(self._spark, f"{self._uri}/{name}")
            system.delete(path, True)

    def counted(self, stage: str, plan_id: str) -> dict[str, int]:
        """Return the parts in the directory, with their rows of a plan."""
        names = [name for name in self.names() if name.startswith("part-")]
        # part-00000-UUID-c000.zstd.parquet, the UUID is that of Spark's job.
        if len({name[len("part-00000-") :].partition("-c")[0] for name in names}) > 1:
            raise ClaimedError(
                f"{self._uri} contains parts of several Spark jobs, so another job writes there; nothing is complete"
            )
        read = self._spark.read.schema(f"{PLAN_ID} string").parquet(literally(self._uri))
        rows = read.where(F.col(PLAN_ID) == plan_id).groupBy("_metadata.file_name").count()
        return dict.fromkeys(names, 0) | dict(map(tuple, rows.collect()))

    def place(self, stage: str, names: Collection[str]) -> None:
        """Do nothing: Spark's committer has moved the parts."""


def etags(spark: SparkSession, folders: list[str]) -> dict[str, str]:
    """Return the etags of the files in some folders by URI, if the file system has any."""
    found = {}
    for folder in folders:
        path, system = _at(spark, folder)
        for status in system.listStatus(path):
            methods = [str(method.getName()) for method in status.getClass().getMethods()]
            if "getEtag" in methods:
                found[str(status.getPath().toString())] = str(status.getEtag())
    return found


class HadoopTree:
    """A file system of Hadoop's as `rmqalloc.evaluation.unit_files.Tree`."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def look(self, path: str) -> TreeEntry | None:
        """Return what is at a path; None if nothing is."""
        where, system = _at(self._spark, path)
        return _entry(system.getFileStatus(where)) if system.exists(where) else None

    def entries(self, directory: str) -> list[TreeEntry]:
        """Return what is in a directory."""
        where, system = _at(self._spark, directory)
        return [_entry(status) for status in system.listStatus(where)]

    def schema(self, file: UnitFile) -> pa.Schema:
        """Return the columns of a Parquet file, of which only the end is read."""
        tail = self._tail(file, min(file.n_bytes, 1 << 16))
        wanted = int.from_bytes(tail[-8:-4], "little") + 8
        if len(tail) < wanted <= file.n_bytes:
            tail = self._tail(file, wanted)
        return pq.read_schema(pa.BufferReader(tail))

    def _tail(self, file: UnitFile, n_bytes: int) -> bytes:
        where, system = _at(self._spark, file.path)
        stream = system.open(where)
        try:
            stream.seek(file.n_bytes - n_bytes)
            io_utils = bridge(self._spark).org.apache.commons.io.IOUtils
            read: Any = io_utils.toByteArray(stream, n_bytes)
            return bytes(read)
        finally:
            stream.close()


def _entry(status: Any) -> TreeEntry:
    return TreeEntry(
        name=str(status.getPath().getName()),
        is_directory=bool(status.isDirectory()),
        n_bytes=int(status.getLen()),
        changed=int(status.getModificationTime()) * 1_000_000,
    )


def _put(builder: Any, text: str) -> None:
    stream = builder.build()
    stream.write(bytearray(text.encode()))
    stream.close()


def literally(path: str) -> str:
    """Return a path with its wildcard characters escaped."""
    return re.sub(r"([\\{}\[\]*?])", r"\\\1", path)


def _kind(error: Any) -> str:
    return str(error.java_exception.getClass().getSimpleName())


def _at(spark: SparkSession, uri: str) -> tuple[Any, Any]:
    """Return a path and its file system."""
    path = bridge(spark).org.apache.hadoop.fs.Path(uri)
    session: Any = spark
    return path, path.getFileSystem(session._jsparkSession.sessionState().newHadoopConf())
