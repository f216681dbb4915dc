"""The Hadoop client of Spark's driver, which can create a file exclusively and knows etags.

Spark Connect has no access to it, and nothing here is required: it adds a second safeguard.
"""

from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

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


def _at(spark: SparkSession, uri: str) -> tuple[Any, Any]:
    """Return a path and its file system."""
    path = bridge(spark).org.apache.hadoop.fs.Path(uri)
    session: Any = spark
    return path, path.getFileSystem(session._jsparkSession.sessionState().newHadoopConf())
