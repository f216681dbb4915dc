"""Errors of Spark and its Java bridge, in one or two lines."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyspark
from pyspark.errors import PySparkException

from rmqalloc.errors import Error

try:
    from py4j.protocol import Py4JError, Py4JNetworkError
except ModuleNotFoundError:  # the client of Spark Connect alone has no bridge to Java
    Py4JError = Py4JNetworkError = PySparkException

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
def spark_errors(what_is_there: Callable[[], str] = str) -> Iterator[None]:
    """Turn what Spark and its Java bridge raise into a JobError of readable length.

    What the plan's place holds is added where that is in doubt: after an interrupt, as a note, and
    after the end of Spark's JVM.
    """
    try:
        yield
    except KeyboardInterrupt as error:
        if there := what_is_there():
            error.add_note(there)
        raise
    except Error:
        raise
    except Exception as error:
        if ended := _end_of_jvm(error):
            raise JobError("; ".join(filter(None, (ended, what_is_there())))) from error
        if isinstance(error, PySparkException | Py4JError | RpcError):
            raise JobError(_cause(error)) from error
        raise


def _end_of_jvm(error: Exception) -> str:
    """Return how the driver's JVM ended; "" if it has not, or if this process has none."""
    context = getattr(pyspark, "SparkContext", None)  # the client of Spark Connect alone has none
    gateway: Any = getattr(context, "_gateway", None)
    is_cut = gateway is not None and isinstance(error, Py4JNetworkError | ConnectionError)
    process = getattr(gateway, "proc", None)
    if process is None:  # spark-submit has started Java, and Java this process
        return (
            "Spark's JVM does not answer; if it has ended, perhaps for lack of memory, its log or "
            f"the log of its container has the reason ({_cause(error)})"
            if is_cut
            else ""
        )
    # A connection breaks a moment before its process has ended.
    until = time.monotonic() + (5 if is_cut or type(error) is Py4JError else 0)
    while (code := process.poll()) is None:
        if time.monotonic() >= until:
            return ""
        time.sleep(0.02)
    name = f"Spark's JVM, process {process.pid},"
    if code == -signal.SIGKILL:
        return f"{name} was killed, perhaps for lack of memory: see the log of the system (dmesg) or container"
    return f"{name} ended with code {code}: see its output above, and hs_err_pid{process.pid}.log if it exists"


def _cause(error: Exception) -> str:
    """Return the lines that name the cause, from a report that may be pages of stack traces."""
    if known := explained(str(error)):
        return known
    lines = [line.strip(" :") for line in str(error).splitlines()]

    def found(pattern: str) -> list[str]:
        return [line for line in lines if re.search(pattern, line)]

    # Spark's own errors are named [LIKE_THIS]; Python's are at the end of a trace; Java's after the
    # last "Caused by" or, if there is none, at the top, below the bridge's own line.
    unfit = [line for line in found(_JAVA) if re.search(_OF_JARS, line)][:1]
    said = found(r"\[[A-Z][A-Z_.]+\]")[:1] + unfit
    said += found(r"^\w+(Error|Exception): ")[-1:] + found("^Caused by: ")[-1:]
    said = said or found(_JAVA)[:1] or lines[:1]
    # The class of a Spark error adds nothing to the name in brackets; of other errors the class
    # often is the only clue.
    plain = [re.sub(_JAVA, "" if "[" in line else r"\g<name>\g<rest>", line) for line in said]
    advice = "; a jar is missing in the session, or its release does not fit Spark's"
    return "; ".join(dict.fromkeys(plain)) + (advice if unfit else "")


# --- The failure of a Python worker, as Spark reports it, in one line ---

_LOST = ("Python worker exited unexpectedly", "java.net.SocketException", "java.io.EOFException")
_LACKING = re.compile(r"ImportError: (the workers' Python, .*)")
"""What `spark_udfs.sent.Sent` raises."""

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
    >>> explained("Traceback ...\\nImportError: the workers' Python, /bin/python3, has no numpy: ...\\n")
    "the workers' Python, /bin/python3, has no numpy: ..."
    >>> explained("ZeroDivisionError: division by zero")
    ''
    """
    if versions := _VERSIONS.search(error_text):
        return f"workers run Python {versions[1]} and the driver {versions[2]}, but PySpark needs the same: {_HOW}"
    if program := _NO_PYTHON.search(error_text):
        return f"there is no Python at {program[1]} on a worker: {_HOW}"
    if lacking := _LACKING.search(error_text):
        return lacking[1]
    if any(sign in error_text for sign in _LOST):
        return "a Python worker was killed or crashed; if that repeats, look for a lack of memory on its machine"
    return ""
