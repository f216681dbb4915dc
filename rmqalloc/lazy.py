"""Properties that are computed when first read and then kept, without a lock; names that are
imported when first looked up.

`functools.cached_property` of Python 3.11 holds one lock for all instances of a class while it
computes. A process that forks at such a moment leaves its child a lock that nobody will ever
release, and the child hangs at the first property it reads. What is kept here follows from fields
that never change, so two threads that compute it at once get equal values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")

is_command = False
"""Whether this process runs one command of rmqalloc, which forks no child: then nothing is imported ahead."""


class lazy_property(Generic[T]):
    """A property whose value is kept in the instance, under its own name.

    Threads that read it for the first time at once may all compute it; they all get the one that
    was kept first.

    Examples
    --------
    >>> class Square:
    ...     side = 3
    ...     @lazy_property
    ...     def area(self) -> int:
    ...         print("once")
    ...         return self.side ** 2
    >>> square = Square()
    >>> square.area, square.area
    once
    (9, 9)
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> lazy_property[T]: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...
    def __get__(self, instance: object | None, owner: type | None = None) -> lazy_property[T] | T:
        if instance is None:
            return self
        # No method of Python code runs inside setdefault with a text as key, so nothing can come
        # between.
        kept: T = instance.__dict__.setdefault(self._name, self._make(instance))
        return kept


def imported_on_use(door: str, names: Mapping[str, Iterable[str]]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a room's door, which imports a name when it is first looked up;
    ``names`` by module.

    Examples
    --------
    >>> imported_on_use("rmqalloc", {"text": ("glob", "literal")})("glob").__module__
    'rmqalloc.text'
    """
    homes = {name: f"{door}.{module}" for module, its in names.items() for name in its}

    def look_up(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {door!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return look_up


def import_ahead(*modules: str) -> None:
    """Import what functions of a module import when they need it.

    A process may fork while one of its threads imports; a child that needs the same module then
    waits forever. A command forks none, and starts sooner without.

    Examples
    --------
    >>> import_ahead("rmqalloc.text")
    """
    if not is_command:
        for module in modules:
            import_module(module)
