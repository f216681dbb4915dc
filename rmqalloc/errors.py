"""The root of all errors of rmqalloc; which errors of other code are defects; and which extra brings
a package that is missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = [
    "EXTRAS",
    "ArgumentError",
    "ArgumentTypeError",
    "Error",
    "RoomsUnknownError",
    "hint",
    "is_optional",
    "needs",
]


class Error(Exception):
    """Something that rmqalloc was given, or that a file, a server or Spark did, is wrong.

    Every error class of `rmqalloc` and `spark_udfs` derives from it. Most derive from a built-in
    error as well (``ValueError``, ``OSError``), so code that catches those goes on working.

    Examples
    --------
    >>> from rmqalloc.fleet import FleetError
    >>> issubclass(FleetError, Error), issubclass(FleetError, ValueError)
    (True, True)
    """


class ArgumentError(Error, ValueError):
    """What a caller gave has the right type and cannot be used: a name that is not known, a number
    out of bounds.

    Where a room has an error of its own for what is wrong, it raises that. A ``ValueError`` that is
    none of these is a defect.

    Examples
    --------
    >>> issubclass(ArgumentError, ValueError)
    True
    """


class ArgumentTypeError(Error, TypeError):
    """What a caller gave is of the wrong type, or a column of a table is missing or holds something
    else.

    A ``TypeError`` that is no `Error` is a defect.

    Examples
    --------
    >>> issubclass(ArgumentTypeError, TypeError)
    True
    """


class RoomsUnknownError(Error, TypeError):
    """A strategy or a change asks for machine rooms, and of no broker or no client is one known.

    Examples
    --------
    >>> issubclass(RoomsUnknownError, TypeError)
    True
    """


# Whether what other code raises is taken as its failure, or is a defect of rmqalloc.
#
# As Java's do, `rmqalloc.rebalance` and `rmqalloc.broker` outlive whatever a transport, a listener or
# a strategy raises that a user hands them: they log it and go on. In a simulation all of these are
# ours, so there only an `Error` is a failure: a defect would end as a wrong figure otherwise.

_ALL_IS_OURS = ContextVar("_ALL_IS_OURS", default=False)


@contextmanager
def all_is_ours() -> Iterator[None]:
    """Let defects through in this block, see `refuse_defect`."""
    token = _ALL_IS_OURS.set(True)
    try:
        yield
    finally:
        _ALL_IS_OURS.reset(token)


def refuse_defect(error: Exception) -> None:
    """Raise an error again that is a defect; nothing for an `Error`, an OSError, or where other
    code than ours may run.

    Examples
    --------
    >>> refuse_defect(TypeError("of a listener"))
    >>> with all_is_ours():
    ...     refuse_defect(Error("a failure"))
    ...     refuse_defect(TypeError("a defect"))
    Traceback (most recent call last):
        ...
    TypeError: a defect
    """
    if _ALL_IS_OURS.get() and not isinstance(error, (Error, OSError)):
        raise error


# Packages that not every installation has, and the smallest extra of rmqalloc that brings each:
# every hint comes from here.

# Module, distribution that holds it, smallest extra that brings it; the extras themselves stand in
# pyproject.toml.
_TABLE = """
click        click                     cli
yaml         PyYAML                    yaml
pyarrow      pyarrow                   arrow
pyspark      pyspark                   spark
py4j         py4j                      spark
pandas       pandas                    notebook
matplotlib   matplotlib                notebook
grpc         grpcio                    connect
grpc_status  grpcio-status             connect
google       googleapis-common-protos  connect
zstandard    zstandard                 connect
starlette    starlette                 serve
uvicorn      uvicorn                   serve
prometheus_client  prometheus-client   metrics
mcp          mcp                       mcp
anyio        anyio                     mcp
"""

EXTRAS = {
    module: (distribution, extra)
    for module, distribution, extra in map(str.split, _TABLE.strip().splitlines())
}
"""Distribution and extra of every module that is imported only where it is needed."""

_BY_DISTRIBUTION = {distribution.lower(): module for module, (distribution, _) in EXTRAS.items()}


def is_optional(error: ImportError) -> bool:
    """Return whether an import failed for want of a package that an extra brings.

    Examples
    --------
    >>> is_optional(ModuleNotFoundError("", name="yaml")), is_optional(ModuleNotFoundError("", name="rmqalloc.x"))
    (True, False)
    """
    return _module(error) in EXTRAS


def needs(module: str) -> str:
    """Return the command that brings a module.

    Examples
    --------
    >>> needs("yaml"), needs("pyarrow.parquet")
    ('pip install "rmqalloc[yaml]"', 'pip install "rmqalloc[arrow]"')
    """
    package = module.partition(".")[0]
    return (
        f'pip install "rmqalloc[{EXTRAS[package][1]}]"'
        if package in EXTRAS
        else f"pip install {package}"
    )


def hint(error: ImportError) -> str:
    """Return what to say of an import that failed: which package is not installed, and what brings
    it.

    Examples
    --------
    >>> hint(ModuleNotFoundError("No module named 'yaml'", name="yaml"))
    'PyYAML is not installed: pip install "rmqalloc[yaml]"'
    >>> hint(ImportError("grpcio >= 1.76.0 must be installed; however, it was not found."))  # as PySpark says it
    'grpcio is not installed: pip install "rmqalloc[connect]"'
    """
    package = _module(error)
    if not package:
        return f"a package is not installed: {error}"
    return (
        f"{EXTRAS[package][0] if package in EXTRAS else package} is not installed: {needs(package)}"
    )


def _module(error: ImportError) -> str:
    """Return the package that an error names, by its module or, as libraries do that look for
    others, by its distribution.
    """
    if error.name:
        return error.name.partition(".")[0]
    words = (word.strip("'\"`,;:()").lower() for word in str(error).split())
    return next((_BY_DISTRIBUTION[word] for word in words if word in _BY_DISTRIBUTION), "")
