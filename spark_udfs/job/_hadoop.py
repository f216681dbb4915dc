"""The Hadoop client of Spark's driver, which can create a file exclusively and knows etags.

Spark Connect has no access to it, and nothing here is required: it adds a second safeguard.
"""

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from rmqalloc.evaluation.unit_files import TreeEntry, UnitFile

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


def create(spark: SparkSession, uri: str, text: str) -> bool:
    """Create a file; False if it exists. Whether that is atomic depends on the file system."""
    path, system = _at(spark, uri)
    try:
        # S3A writes with If-None-Match if the store supports it; other file systems create atomically and ignore the option.
        builder = (
            system.createFile(path).recursive().overwrite(False).opt("fs.option.create.conditional.overwrite", "true")
        )
        stream = builder.build()
        stream.write(bytearray(text.encode()))
        stream.close()
    except Py4JJavaError as error:
        if str(error.java_exception.getClass().getSimpleName()) in _TAKEN:
            return False
        raise
    return True


def remove(spark: SparkSession, uri: str) -> None:
    """Remove a folder and all in it, if it is there."""
    path, system = _at(spark, uri)
    system.delete(path, True)


def etags(spark: SparkSession, folders: list[str]) -> dict[str, str]:
    """Return the etags of the files in some folders by URI, if the file system has any."""
    found = {}
    for folder in folders:
        path, system = _at(spark, folder)
        for status in system.listStatus(path):
            if any(str(one.getName()) == "getEtag" for one in status.getClass().getMethods()):
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
            read: Any = bridge(self._spark).org.apache.commons.io.IOUtils.toByteArray(stream, n_bytes)
            return bytes(read)
        finally:
            stream.close()


def _entry(status: Any) -> TreeEntry:
    changed = int(status.getModificationTime()) * 1_000_000
    return TreeEntry(str(status.getPath().getName()), bool(status.isDirectory()), int(status.getLen()), changed)


def _at(spark: SparkSession, uri: str) -> tuple[Any, Any]:
    """Return a path and its file system."""
    path = bridge(spark).org.apache.hadoop.fs.Path(uri)
    session: Any = spark
    return path, path.getFileSystem(session._jsparkSession.sessionState().newHadoopConf())
