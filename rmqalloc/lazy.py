"""Properties that are computed on first read and then kept, without a lock; names that are imported
on first use.

`functools.cached_property` of Python 3.11 holds one lock for all instances of a class while it
computes. If a process forks at that moment, its child inherits a lock that is never released, and
hangs at the first property it reads. The properties here follow from fields that never change, so
two threads that compute a property at once get equal values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any, Generic, TypeVar, overload

from rmqalloc.errors import installation_hint

T = TypeVar("T")

is_command = False
"""True if this process runs one command of rmqalloc, which forks no child and imports nothing ahead."""


class lazy_property(Generic[T]):
    """A property whose value is kept in the instance, under the property's name.

    Several threads may compute the value at once; all of them get the value that was kept first.

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
    """Return a ``__getattr__`` for the package ``door`` that imports a name on first use.

    ``names`` lists the names by module.

    Examples
    --------
    >>> imported_on_use("rmqalloc", {"text": ("glob", "literal")})("glob").__module__
    'rmqalloc.text'
    """
    homes = {name: f"{door}.{module}" for module, its in names.items() for name in its}

    def look_up(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {door!r} has no attribute {name!r}")
        try:
            module = import_module(homes[name])
        except ImportError as error:
            with installation_hint():
                raise error
        return getattr(module, name)

    return look_up


def import_ahead(*modules: str) -> None:
    """Import modules that functions of the calling module import later.

    A process may fork while a thread imports a module; a child that needs the same module then
    waits forever. A command forks no child and starts faster without these imports.

    Examples
    --------
    >>> import_ahead("rmqalloc.text")
    """
    if not is_command:
        with installation_hint():
            for module in modules:
                import_module(module)
