"""`dataclasses.dataclass` in a fifth of the time, for classes that start with the command.

The standard library compiles up to six methods for each class, which is half a millisecond for a
frozen one; a command has a hundred. Here ``__init__`` alone is compiled, and the rest is shared.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, eq=True, repr=True, kw_only=False):
        """Make a class a dataclass; the options are those of `dataclasses.dataclass`.

        It makes no slots. A class and its bases are made either here or all by the standard library.

        Examples
        --------
        >>> @dataclass(frozen=True)
        ... class Square:
        ...     side: int
        ...     color: str = "red"
        >>> dataclasses.replace(Square(3), side=4), Square(3) == Square(3, "red")
        (Square(side=4, color='red'), True)
        >>> Square(3).side = 4
        Traceback (most recent call last):
            ...
        dataclasses.FrozenInstanceError: cannot assign to field 'side'
        """
        if cls is None:
            return lambda later: dataclass(later, frozen=frozen, eq=eq, repr=repr, kw_only=kw_only)
        has_hash = vars(cls).get("__hash__") is not None
        dataclasses.dataclass(cls, init=False, repr=False, eq=False, kw_only=kw_only)
        methods = {"__init__": _init(cls, frozen)}
        if repr:
            methods["__repr__"] = _repr
        if eq:
            methods |= _by_value(cls, frozen)
        for name, method in methods.items():
            if name not in vars(cls) or (name == "__hash__" and not has_hash):
                setattr(cls, name, method)
        if frozen:
            cls.__setattr__, cls.__delattr__ = _no_assignment, _no_deletion
        return cls


def _init(cls: Any, frozen: bool) -> Callable[..., None]:
    fields = [field for field in dataclasses.fields(cls) if field.init]
    named = [field for field in fields if field.kw_only]
    scope: dict[str, Any] = {"_set": object.__setattr__, "_UNSET": dataclasses.MISSING}
    parameters = [_parameter(field, scope) for field in fields if not field.kw_only]
    parameters += ["*", *(_parameter(field, scope) for field in named)] if named else []
    put = "_set(self, {0!r}, {1})" if frozen else "self.{0} = {1}"
    lines = []
    for field in dataclasses.fields(cls):
        value = field.name
        if field.default_factory is not dataclasses.MISSING:
            scope[f"_make_{value}"] = field.default_factory
            given = f" if {value} is _UNSET else {value}" if field.init else ""
            value = f"_make_{value}(){given}"
        elif not field.init:
            continue
        lines.append(put.format(field.name, value))
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    body = "\n ".join(lines or ["pass"])
    exec(f"def __init__(self, {', '.join(parameters)}):\n {body}", scope)
    made: Callable[..., None] = scope["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _parameter(field: dataclasses.Field[Any], scope: dict[str, Any]) -> str:
    if field.default_factory is not dataclasses.MISSING:
        return f"{field.name}=_UNSET"
    if field.default is dataclasses.MISSING:
        return field.name
    scope[f"_default_{field.name}"] = field.default
    return f"{field.name}=_default_{field.name}"


def _by_value(cls: Any, frozen: bool) -> dict[str, Callable[..., Any] | None]:
    names = [field.name for field in dataclasses.fields(cls) if field.compare]
    # attrgetter returns a tuple from two names on.
    values = attrgetter(*names, *["__class__"] * (2 - len(names)))

    def __eq__(self: object, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return bool(values(self) == values(other))

    def __hash__(self: object) -> int:
        return hash(values(self))

    return {"__eq__": __eq__, "__hash__": __hash__ if frozen else None}


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (
        f"{field.name}={getattr(self, field.name)!r}"
        for field in dataclasses.fields(self)
        if field.repr
    )
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _no_assignment(_self: object, name: str, _value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _no_deletion(_self: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
