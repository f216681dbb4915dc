"""Public faces with indices, masks, offsets or arrays, found by looking at every public name and
its parameters.
"""

import dataclasses
import inspect
import pkgutil
import re
import typing
import warnings
from importlib import import_module

import rmqalloc

_ARRAYS = re.compile(
    r"NDArray|ndarray|ArrayLike|SupportsIndex|\b(Offsets|Index|Owners|Mask|Bytes|Strings|QueueLists|ClientLists|Rules)\b"
    r"|pa\.(Table|RecordBatch|Array|ChunkedArray)|(Sequence|Iterable)\[int\]|slice\b|Iterable\[pa\."
)
"""Annotations that name arrays, columns, or several numbers."""

_NAMES = re.compile(
    r"(^|_)(positions?|masks?|offsets|out|owners|rows|index|units?|places?|carry|mq_all|cid_all)$|^(i|start|stop|data)$"
)
"""Names that positions, and what holds arrays, have. The offset of a queue is a number of a broker's and leads nowhere here."""

_SPECIAL = ("__init__", "__getitem__", "__call__", "__contains__")


def public_things():
    """Every name of every public module, as ``room.Name`` and the thing."""
    for found in pkgutil.walk_packages(rmqalloc.__path__, "rmqalloc."):
        if not any(part.startswith("_") for part in found.name.split(".")[1:]):
            module = import_module(found.name)
            for name in getattr(module, "__all__", ()):
                with warnings.catch_warnings():  # of former names
                    warnings.simplefilter("ignore", DeprecationWarning)
                    yield f"{found.name}.{name}", getattr(module, name)
    for name in rmqalloc.__all__:
        yield f"rmqalloc.{name}", getattr(rmqalloc, name)


def faces():
    """Name in the code, parameters of interest: each function once, however many names it has."""
    found = {}
    for _, thing in public_things():
        for one in _with_columns(thing) if inspect.isclass(thing) else ():
            for method in _methods(one):
                found[f"{method.__module__}.{method.__qualname__}"] = _taken(method)
            if hasattr(one, "_fields"):
                hints = one.__annotations__
                fields = [name for name in one._fields if _is_taken(name, str(hints.get(name, "")))]
                found[f"{one.__module__}.{one.__qualname__}.__new__"] = fields
        if inspect.isfunction(thing):
            found[f"{thing.__module__}.{thing.__qualname__}"] = _taken(thing)
    return {name: taken for name, taken in found.items() if taken}


def _with_columns(kind):
    """A class, and the classes of ours that its attributes are, down to the columns."""
    seen, waiting = [], [kind]
    while waiting:
        one = waiting.pop()
        if one in seen or not one.__module__.startswith("rmqalloc."):
            continue
        seen.append(one)
        if one.__module__.startswith("rmqalloc.fleet."):
            waiting += [hint for hint in _hints(one) if inspect.isclass(hint)]
    return seen


def _hints(kind):
    """Types of a dataclass's fields, and of what its properties return."""
    if dataclasses.is_dataclass(kind):
        yield from typing.get_type_hints(kind).values()


def _methods(kind):
    """Public methods, and the constructor, that are written in the package."""
    for name in dir(kind):
        if name.startswith("_") and name not in _SPECIAL:
            continue
        method = inspect.getattr_static(kind, name)
        method = method.__func__ if isinstance(method, classmethod | staticmethod) else method
        if inspect.isfunction(method) and method.__module__.startswith("rmqalloc"):
            yield method


def _taken(face):
    """Parameters that are arrays or positions."""
    parameters = inspect.signature(face).parameters.values()
    return [one.name for one in parameters if _is_taken(one.name, _annotation(one))]


def _is_taken(name, annotation):
    return bool(_NAMES.search(name) or _ARRAYS.search(annotation))


def _annotation(parameter):
    """What is written there."""
    written = parameter.annotation
    return (
        "" if written is parameter.empty else written if isinstance(written, str) else str(written)
    )
