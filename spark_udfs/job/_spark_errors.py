"""Errors of Spark and its Java bridge, in one or two lines."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException

from rmqalloc.errors import Error
from spark_udfs.worker_errors import explained

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
