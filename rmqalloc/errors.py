"""The base classes of all errors of rmqalloc, and the message for a package that is not installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module

__all__ = [
    "EXTRAS",
    "ArgumentError",
    "ArgumentTypeError",
    "Error",
    "RoomsUnknownError",
    "check_installed",
    "hint",
    "installation_hint",
    "is_optional",
    "needs",
]


class Error(Exception):
    """An argument, a file, a server or Spark is at fault.

    Every error class of `rmqalloc` and `spark_udfs` derives from `Error`. Most also derive from a
    built-in error such as ``ValueError`` or ``OSError``, so code that catches the built-in error
    works.

    Examples
    --------
    >>> from rmqalloc.fleet import FleetError
    >>> issubclass(FleetError, Error), issubclass(FleetError, ValueError)
    (True, True)
    """


class ArgumentError(Error, ValueError):
    """An argument has the right type and a wrong value: an unknown name, a number out of bounds.

    Some packages raise a more specific `Error`. A ``ValueError`` that is no `Error` is a defect of
    rmqalloc.

    Examples
    --------
    >>> issubclass(ArgumentError, ValueError)
    True
    """


class ArgumentTypeError(Error, TypeError):
    """An argument has the wrong type, or a column of a table is missing or has the wrong type.

    A ``TypeError`` that is no `Error` is a defect of rmqalloc.

    Examples
    --------
    >>> issubclass(ArgumentTypeError, TypeError)
    True
    """


class RoomsUnknownError(Error, TypeError):
    """A strategy or a change needs machine rooms, and none is known for the brokers or the clients.

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
    """Raise defects again in this block, see `refuse_defect`."""
    token = _ALL_IS_OURS.set(True)
    try:
        yield
    finally:
        _ALL_IS_OURS.reset(token)


def refuse_defect(error: Exception) -> None:
    """Raise a defect again inside of `all_is_ours`; ignore an `Error` or an OSError.

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


# Optional packages: module, distribution, and the smallest extra of rmqalloc that installs it. The
# extras are defined in pyproject.toml.
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
"""Distribution and smallest extra of every optional module."""

_BY_DISTRIBUTION = {distribution.lower(): module for module, (distribution, _) in EXTRAS.items()}


def is_optional(error: ImportError) -> bool:
    """Return True if an import failed because a package of an extra is not installed.

    Examples
    --------
    >>> is_optional(ModuleNotFoundError("", name="yaml")), is_optional(ModuleNotFoundError("", name="rmqalloc.x"))
    (True, False)
    """
    return _module(error) in EXTRAS


def needs(module: str) -> str:
    """Return how to install the package of a module.

    Examples
    --------
    >>> needs("pyarrow.parquet"), needs("polars")
    ('install rmqalloc with the extra [arrow], or pip install "pyarrow"', 'pip install polars')
    """
    package = module.partition(".")[0]
    if package not in EXTRAS:
        return f"pip install {package}"
    distribution, extra = EXTRAS[package]
    return f'install rmqalloc with the extra [{extra}], or pip install "{distribution}"'


def hint(error: ImportError) -> str:
    """Return the message for a failed import: the missing package, and how to install it.

    Examples
    --------
    >>> hint(ModuleNotFoundError("No module named 'yaml'", name="yaml"))
    'PyYAML is not installed: install rmqalloc with the extra [yaml], or pip install "PyYAML"'
    >>> hint(ImportError("grpcio >= 1.76.0 must be installed; however, it was not found."))  # from PySpark
    'grpcio is not installed: install rmqalloc with the extra [connect], or pip install "grpcio"'
    """
    package = _module(error)
    if not package:
        return f"a package is not installed: {error}"
    return (
        f"{EXTRAS[package][0] if package in EXTRAS else package} is not installed: {needs(package)}"
    )


@contextmanager
def installation_hint() -> Iterator[None]:
    """Raise a failed import of an optional package again, with `hint` as its message.

    Raises
    ------
    ModuleNotFoundError
        A package of an extra is not installed. Errors of required modules pass unchanged.

    Examples
    --------
    >>> with installation_hint():
    ...     raise ModuleNotFoundError("No module named 'yaml'", name="yaml")
    Traceback (most recent call last):
        ...
    ModuleNotFoundError: PyYAML is not installed: install rmqalloc with the extra [yaml], or pip install "PyYAML"
    """
    try:
        yield
    except ImportError as error:
        if not is_optional(error):
            raise
        raise ModuleNotFoundError(hint(error), name=_module(error)) from None


def check_installed(*modules: str) -> None:
    """Import optional modules, so that a missing package is reported before any work.

    Raises
    ------
    ModuleNotFoundError
        A package is not installed; the message is its `hint`.

    Examples
    --------
    >>> check_installed("json")
    """
    with installation_hint():
        for module in modules:
            import_module(module)


def _module(error: ImportError) -> str:
    """Return the top-level module that an error names. Some libraries name the distribution of
    another package in the message alone.
    """
    if error.name:
        return error.name.partition(".")[0]
    words = (word.strip("'\"`,;:()").lower() for word in str(error).split())
    return next((_BY_DISTRIBUTION[word] for word in words if word in _BY_DISTRIBUTION), "")
