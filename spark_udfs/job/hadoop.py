"""The Hadoop client in Spark's driver: the one that writes only if there is nothing, and knows more of a file than Spark tells.

Spark Connect has no way to it, and nothing here is needed: what it adds is a second safeguard.
"""

from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

try:
    from py4j.protocol import Py4JJavaError
except ModuleNotFoundError:  # the client of Spark Connect alone has no bridge to Java
    Py4JJavaError = PySparkException

# S3A finds out when it writes, and says so by either.
_TAKEN = ("FileAlreadyExistsException", "RemoteFileChangedException")


def bridge(spark: SparkSession) -> Any:
    """The driver's Java machine; None under Spark Connect."""
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        return None
    return getattr(spark, "_jvm", None)


def create(spark: SparkSession, uri: str, text: str) -> bool:
    """Write a file that is not there yet; False if it is. How far that is one step is up to the file system."""
    path, system = _at(spark, uri)
    try:
        # S3A writes with If-None-Match where the store knows it; others create a file in one step, and pass over the option.
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


def etags(spark: SparkSession, folders: list[str]) -> dict[str, str]:
    """Etags of the files in some folders by their URIs, as far as the file system tells any."""
    found = {}
    for folder in folders:
        path, system = _at(spark, folder)
        for status in system.listStatus(path):
            if hasattr_java(status, "getEtag"):
                found[str(status.getPath().toString())] = str(status.getEtag())
    return found


def hasattr_java(value: Any, method: str) -> bool:
    """Whether a Java object has a method."""
    return any(str(one.getName()) == method for one in value.getClass().getMethods())


def _at(spark: SparkSession, uri: str) -> tuple[Any, Any]:
    """A path and its file system."""
    path = bridge(spark).org.apache.hadoop.fs.Path(uri)
    session: Any = spark
    return path, path.getFileSystem(session._jsparkSession.sessionState().newHadoopConf())
