"""Errors of Spark and its Java bridge, in one or two lines."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException

from rmqalloc.errors import Error

try:
    from py4j.protocol import Py4JError
except ModuleNotFoundError:  # the client of Spark Connect alone has no bridge to Java
    Py4JError = PySparkException

try:
    from grpc import RpcError
except ModuleNotFoundError:  # no client of Spark Connect
    RpcError = PySparkException

_NAMED = r"(?:[\w$]+\.)+(?P<name>[\w$]*(?:Error|Exception))"
_JAVA = rf"^(?:Caused by: )?(?:{_NAMED.replace('?P<name>', '?:')}: )*{_NAMED}(?P<rest>: |$)"
"""A line of Java's with the full class name of an exception; ``name`` is the innermost if one wraps others."""

_OF_JARS = (
    "NoClassDefFoundError|ClassNotFoundException|NoSuchMethodError|NoSuchFieldError|AbstractMethodError|"
    "IncompatibleClassChangeError|UnsupportedClassVersionError"
)
"""What Java raises for a jar that is missing, or does not fit the release of the others."""


class JobError(Error, RuntimeError):
    """The job could not be done; the message says why in one or two lines."""


@contextmanager
def spark_errors() -> Iterator[None]:
    """Turn what Spark and its Java bridge raise into a JobError of readable length."""
    try:
        yield
    except (PySparkException, Py4JError, RpcError) as error:
        raise JobError(_cause(error)) from error


def _cause(error: Exception) -> str:
    """Return the lines that name the cause, from a report that may be pages of stack traces."""
    if known := explained(str(error)):
        return known
    lines = [line.strip(" :") for line in str(error).splitlines()]
    # Spark's own errors are named [LIKE_THIS]; Python's are at the end of a trace; Java's after the
    # last "Caused by" or, if there is none, at the top, below the bridge's own line.
    unfit = [line for line in lines if re.search(_OF_JARS, line) and re.match(_JAVA, line)][:1]
    said = [line for line in lines if re.search(r"\[[A-Z][A-Z_.]+\]", line)][:1] + unfit
    said += [line for line in lines if re.match(r"\w+(Error|Exception): ", line)][-1:]
    said += [line for line in lines if line.startswith("Caused by: ")][-1:]
    said = said or [line for line in lines if re.match(_JAVA, line)][:1] or lines[:1]
    # The class of a Spark error adds nothing to the name in brackets; of other errors the class
    # often is the only clue.
    plain = (
        re.sub(_JAVA, "" if "[" in line else r"\g<name>\g<rest>", line, count=1) for line in said
    )
    advice = (
        "; a jar is missing from the session, or is of a release that does not fit Spark's"
        if unfit
        else ""
    )
    return "; ".join(dict.fromkeys(plain)) + advice


# --- The failure of a Python worker, as Spark reports it, in one line ---

_OURS = ("rmqalloc", "spark_udfs", "pyarrow", "numpy", "pandas")
_LOST = ("Python worker exited unexpectedly", "java.net.SocketException", "java.io.EOFException")
_MISSING = re.compile(r"^ModuleNotFoundError: No module named '([\w.]+)'", re.MULTILINE)
_OLD = re.compile(
    r"^(?:AttributeError|ImportError): (.*\b(?:rmqalloc|spark_udfs)\b.*)$", re.MULTILINE
)
_VERSIONS = re.compile(
    r"Python in worker has different version:? (\S+) than that in driver:? ([\d.]+)"
)
_NO_PYTHON = re.compile(r'Cannot run program "([^"]+)"')
_HOW = "set PYSPARK_PYTHON, before the session starts, to a Python that every worker has"


def explained(error_text: str) -> str:
    """Return the reason of an error that a worker's interpreter, packages or end caused, "" for any
    other.

    Examples
    --------
    >>> explained("Python in worker has different version: 3.9 than that in driver: 3.11, PySpark").partition(",")[0]
    'workers run Python 3.9 and the driver 3.11'
    >>> explained("Traceback ...\\nModuleNotFoundError: No module named 'spark_udfs'\\n").partition(") ")[2].partition(",")[0]
    "has no spark_udfs: install the driver's rmqalloc there"
    >>> explained("ZeroDivisionError: division by zero")
    ''
    """
    if versions := _VERSIONS.search(error_text):
        return f"workers run Python {versions[1]} and the driver {versions[2]}, but PySpark needs the same: {_HOW}"
    if program := _NO_PYTHON.search(error_text):
        return f"there is no Python at {program[1]} on a worker: {_HOW}"
    missing = _MISSING.findall(error_text)
    if missing and missing[-1].partition(".")[0] in _OURS:
        package, _, inside = missing[-1].partition(".")
        lacks = (
            f"has another release of {package}, without {missing[-1]}"
            if inside
            else f"has no {package}"
        )
        return f"{_interpreter()} {lacks}: install the driver's rmqalloc there, or {_HOW}"
    if old := _OLD.search(error_text):
        return f"{_interpreter()} has another release of rmqalloc ({old[1]}): install the driver's there, or {_HOW}"
    if any(sign in error_text for sign in _LOST):
        return "a Python worker was killed or crashed; if that repeats, look for a lack of memory on its machine"
    return ""


def _interpreter() -> str:
    """Return how workers find their Python."""
    given = os.environ.get("PYSPARK_PYTHON")
    return f"the workers' Python ({f'PYSPARK_PYTHON={given}' if given else 'PYSPARK_PYTHON is not set: python3 of their PATH'})"
