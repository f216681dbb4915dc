"""Packages that not every installation has, and the smallest extra of rmqalloc that brings each:
every hint comes from here.
"""

__all__ = ["EXTRAS", "hint", "is_optional", "needs"]

# Module, distribution that holds it, smallest extra that brings it; the extras themselves stand in
# pyproject.toml.
_TABLE = """
click        click                     cli
yaml         PyYAML                    yaml
pyarrow      pyarrow                   arrow
pyspark      pyspark                   spark
py4j         py4j                      spark
pandas       pandas                    spark
grpc         grpcio                    connect
grpc_status  grpcio-status             connect
google       googleapis-common-protos  connect
zstandard    zstandard                 connect
starlette    starlette                 serve
uvicorn      uvicorn                   serve
prometheus_client  prometheus-client   serve
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
