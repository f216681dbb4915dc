"""What Spark reports of a worker that could not do its work, in one line. Imports no pyspark."""

from __future__ import annotations

import os
import re

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
