"""Functions of `pyarrow.compute`, each made when it is first looked up.

That module makes all of its functions, with signatures and documentation, when it is imported. This
takes a third as long as importing numpy and pyarrow; most verbs use ten of them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pyarrow as pa

from rmqalloc.lazy import import_ahead

import_ahead("pyarrow.compute")  # which methods of arrays and tables import


def fill_null(values: Any, value: Any) -> Any:
    """Return values with a plain value in place of nulls."""
    return __getattr__("coalesce")(values, pa.scalar(value, values.type))


def __getattr__(name: str) -> Any:
    """Return the function of this name, which takes what the one in `pyarrow.compute` does."""
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        made = _one_function(name.rstrip("_"))
    except (ImportError, AttributeError, KeyError):  # made of several, or of another release
        made = getattr(import_module("pyarrow.compute"), name)
    globals()[name] = made
    return made


def _one_function(name: str) -> Callable[..., Any]:
    """Return what `pyarrow.compute` makes of one function of Arrow, whose parts have no public name."""
    from pyarrow import _compute

    function = _compute.get_function(name)
    return _caller(function, getattr(_compute, function._doc.options_class or "", None))


def _caller(function: Any, options_of: Any) -> Callable[..., Any]:
    """Return a function of Python that calls one of Arrow; what follows its values are options."""
    arity = None if function.arity is Ellipsis else function.arity

    def call(*given: Any, **options: Any) -> Any:
        has_options = options or len(given[:arity]) < len(given)
        return function.call(
            given[:arity],
            options_of(*given[arity:], **options) if has_options else None,
        )

    return call
