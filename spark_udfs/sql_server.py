"""``python -m spark_udfs.sql_server``: the SQL functions for programs that only speak SQL, such as
beeline, JDBC and BI tools.

Spark's own ``spark-sql`` cannot register functions of Python. This starts Spark's Thrift server
inside a session of Python that has them, so every connection of the server does.
"""

import argparse
import signal
import socket
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from rmqalloc.documents import read_source
from rmqalloc.errors import ArgumentError, ArgumentTypeError, Error
from rmqalloc.text import harmless
from spark_udfs._sql import register_all
from spark_udfs.session import session

__all__ = ["main", "start_server"]

SHARED = "spark.sql.hive.thriftServer.singleSession"
"""Temporary functions and views belong to a session, so all connections share one."""


def start_server(spark: SparkSession, host: str = "127.0.0.1", port: int = 10000) -> Any:
    """Register the functions in a session and serve its SQL.

    Parameters
    ----------
    spark : SparkSession
        One whose driver runs in this process, started with the setting `SHARED`.
    host, port
        Where to listen. Who can connect can run any SQL as this process: there are no passwords
        unless Spark's ``hive.server2.authentication`` says so.

    Returns
    -------
    object
        The server; its ``stop()`` ends it.

    Raises
    ------
    TypeError
        It is a session of Spark Connect, which has a server of its own.
    ValueError
        The session was not started with `SHARED` set to true.
    OSError
        The port is taken, or the host is no address of this machine.
    """
    jvm = getattr(spark, "_jvm", None)
    if jvm is None or type(spark).__module__.startswith("pyspark.sql.connect"):
        raise ArgumentTypeError(
            "a server needs a session whose driver runs in this process, got one of Spark Connect"
        )
    if spark.conf.get(SHARED) != "true":
        raise ArgumentError(
            f"connections would not have the functions: start the session with {SHARED}=true"
        )
    with socket.create_server((host, port)):
        pass  # Spark would end this process where it cannot listen
    spark.conf.set("hive.server2.thrift.bind.host", host)
    spark.conf.set("hive.server2.thrift.port", str(port))
    register_all(spark)
    thrift = jvm.org.apache.spark.sql.hive.thriftserver
    return thrift.HiveThriftServer2.startWithContext(spark._jsparkSession.sqlContext())


def statements(text: str) -> list[str]:
    """Return the statements of a file of SQL: each ends with a semicolon at the end of a line.

    Examples
    --------
    >>> statements("SELECT ';';\\n-- two\\nSELECT 2\\n")
    ["SELECT ';'", '-- two\\nSELECT 2']
    """
    return [one.strip().removesuffix(";") for one in text.split(";\n") if one.strip()]


def main(words: Iterable[str] | None = None) -> int:
    """Serve until interrupted or terminated."""
    parser = argparse.ArgumentParser(
        prog="python -m spark_udfs.sql_server", description="rmq_* functions for beeline and JDBC"
    )
    parser.add_argument("--master", default="local[*]", help="of Spark (default %(default)s)")
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default %(default)s)"
    )
    parser.add_argument(
        "--port", type=int, default=10000, help="port to listen on (default %(default)s)"
    )
    parser.add_argument(
        "--init", type=Path, metavar="FILE", help="SQL to run first, such as views of your tables"
    )
    parser.add_argument(
        "--conf",
        action="append",
        default=[],
        metavar="K=V",
        help="a setting of Spark; may be repeated",
    )
    given = parser.parse_args(None if words is None else list(words))
    if wrong := [one for one in given.conf if "=" not in one]:
        parser.error(f"--conf must be KEY=VALUE, got {wrong[0]!r}")
    try:
        first = [] if given.init is None else statements(read_source(given.init).text())
        settings = {SHARED: "true"} | dict(one.split("=", 1) for one in given.conf)
        spark = session(given.master, "rmqalloc SQL", settings)
        server = start_server(spark, given.host, given.port)
    except (OSError, Error, PySparkException) as error:
        print(harmless(f"error: {error}"), file=sys.stderr)
        return 1
    try:
        for statement in first:
            spark.sql(statement)
        print(f"listening: beeline -u jdbc:hive2://{given.host}:{given.port}/", flush=True)
        signal.signal(
            signal.SIGTERM, signal.default_int_handler
        )  # what ends a service ends it in good order
        threading.Event().wait()
    except KeyboardInterrupt:
        pass
    finally:
        server.stop()
        spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
