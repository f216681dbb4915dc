"""Records: classes whose fields are declared once, read from plain data and described as JSON
Schema by that declaration.

Each field has a kind: the declared kind (``needed``, ``optional``, ``Annotated``), else the kind
that follows from its type. Kinds raise `FieldError`, whose parts are the position in the data; the
code that reads a file puts file, line and column before it.
"""

from __future__ import annotations

import marshal
import re
import types
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, field, fields, is_dataclass
from functools import cache
from inspect import cleandoc
from itertools import chain, islice, repeat, starmap
from operator import itemgetter
from typing import Any, ClassVar, Union, get_args, get_origin, get_type_hints

from rmqalloc.dataclass import dataclass
from rmqalloc.documents.document import SCHEMA
from rmqalloc.documents.document_errors import known_names, shown
from rmqalloc.documents.fields import (
    FieldError,
    Kind,
    Number,
    ScenarioError,
    Text,
    Truth,
    Whole,
    are_of,
    read_all,
)
from rmqalloc.model import MessageQueue

MOST = 2**63 - 1
COUNT = Whole(0, MOST)
SIGNED = Whole(-MOST - 1, MOST)
ANY_TEXT = Text(may_be_empty=True, most_bytes=None)
_ASCII = 4  # the first format of `marshal` that writes text of ASCII as it is


@dataclass(frozen=True)
class Anything:
    """Whatever there is."""

    def read(self, given: Any) -> Any:
        """It."""
        return given

    def schema(self) -> dict[str, Any]:
        """Return JSON Schema."""
        return {}


@dataclass(frozen=True)
class Maybe:
    """Null, or something of a kind."""

    kind: Kind

    def read(self, given: Any) -> Any:
        """None, or what the kind reads."""
        return None if given is None else self.kind.read(given)

    def read_all(self, given: Sequence[Any]) -> Sequence[Any]:
        """Return values, None for None."""
        if None not in given:
            return read_all(self.kind, given)
        found = iter(read_all(self.kind, [value for value in given if value is not None]))
        return [None if value is None else next(found) for value in given]

    def schema(self) -> dict[str, Any]:
        """Return JSON Schema."""
        return {"anyOf": [self.kind.schema(), {"type": "null"}]}


@dataclass(frozen=True)
class ListOf:
    """A list, each element of one kind; kept as a tuple."""

    kind: Kind

    def read(self, given: Any) -> tuple[Any, ...]:
        """Return the elements."""
        if not isinstance(given, list | tuple):
            raise FieldError(f"must be a list, got {shown(given)}")
        try:
            return tuple(read_all(self.kind, given))
        except FieldError:
            return self._one_by_one(given)

    def _one_by_one(self, given: Sequence[Any]) -> tuple[Any, ...]:
        """Read until the first element that is none of the kind."""
        read, found = self.kind.read, []
        try:
            for one in given:
                found.append(read(one))
        except FieldError as error:
            raise error.inside(len(found)) from None
        return tuple(found)

    def read_all(self, given: Sequence[Any]) -> Sequence[tuple[Any, ...]]:
        """Return lists, whose elements are read as one column; equal lists of a shared kind are
        one object.
        """
        if not are_of(given, list, tuple):
            return list(map(self.read, given))
        if not getattr(self.kind, "is_shared", False):
            return self._of_column(given)
        try:
            keys = list(map(marshal.dumps, given, repeat(_ASCII)))
        except ValueError:  # for objects that no file holds
            return self._of_column(given)
        distinct = dict(zip(keys, given, strict=True))
        made = dict(zip(distinct, self._of_column(distinct.values()), strict=True))
        return list(map(made.__getitem__, keys))

    def _of_column(self, given: Collection[Sequence[Any]]) -> list[tuple[Any, ...]]:
        left = iter(read_all(self.kind, list(chain.from_iterable(given))))
        return [tuple(islice(left, n)) for n in map(len, given)]

    def schema(self) -> dict[str, Any]:
        """Return JSON Schema."""
        return {"type": "array", "items": self.kind.schema()}


@dataclass(frozen=True)
class MappingOf:
    """A mapping of text to values of one kind."""

    kind: Kind

    def read(self, given: Any) -> dict[str, Any]:
        """Return the values by key."""
        if not isinstance(given, Mapping):
            raise FieldError(f"must be a mapping, got {shown(given)}")
        found = {}
        for key, value in given.items():
            try:
                found[ANY_TEXT.read(key)] = self.kind.read(value)
            except FieldError as error:
                raise error.inside(str(key)) from None
        return found

    def schema(self) -> dict[str, Any]:
        """Return JSON Schema."""
        return {"type": "object", "additionalProperties": self.kind.schema()}


class Record:
    """An instance of a dataclass or named tuple from a mapping of its fields."""

    def __init__(self, cls: type[Any], **kinds: Kind) -> None:
        self.cls = cls
        self.kinds: dict[str, Kind] = kinds_of(cls) | kinds
        self.needed = needed_fields(cls)
        self._readers = _Readers((name, kind.read) for name, kind in self.kinds.items())
        self._has_slots = (
            is_dataclass(cls) and "__slots__" in vars(cls) and not hasattr(cls, "__post_init__")
        )
        # Equal lists of instances that hold words and numbers alone are one.
        self.is_shared = self._has_slots and all(map(_is_word, self.kinds.values()))

    def read(self, given: Any) -> Any:
        """Return the instance."""
        if not isinstance(given, Mapping):
            raise FieldError(f"must be a mapping, got {shown(given)}")
        readers, found, key = self._readers, {}, ""
        try:
            for key, value in given.items():
                found[key] = readers[key](value)
        except FieldError as error:
            raise error.inside(str(key)) from None
        if len(found) < len(readers):
            _check_needed(found, self.needed)
        return self.cls(**found)

    def read_all(self, given: Sequence[Any]) -> Sequence[Any]:
        """Return instances; those with the same fields are read field by field."""
        if not given or not are_of(given, dict):
            return list(map(self.read, given))
        columns = _columns(given)
        if columns is not None:
            return self._of_columns(columns, len(given))
        alike: dict[frozenset[str], list[dict[str, Any]]] = {}
        shapes = list(map(frozenset, given))
        for shape, one in zip(shapes, given, strict=True):
            alike.setdefault(shape, []).append(one)
        made = {shape: iter(self.read_all(some)) for shape, some in alike.items()}
        return [next(made[shape]) for shape in shapes]

    def _of_columns(self, columns: Mapping[str, Sequence[Any]], n: int) -> list[Any]:
        """Return ``n`` instances of the values of some fields."""
        _check_names(columns, self.kinds, self.needed)
        given = {name: read_all(self.kinds[name], column) for name, column in columns.items()}
        return self.made(given, n)

    def made(self, given: Mapping[str, Sequence[Any]], n: int) -> list[Any]:
        """Return ``n`` instances of columns of fields, whose values are not checked."""
        if not self._has_slots:
            if len(given) == len(self.kinds):
                return list(map(self.cls, *map(given.__getitem__, self.kinds)))
            rows = zip(*given.values(), strict=True) if given else repeat((), n)
            return [self.cls(**dict(zip(given, row, strict=True))) for row in rows]
        cls: Any = self.cls
        columns = [given[name] if name in given else _default(cls, name) for name in self.kinds]
        return _filler(cls)(n, columns)

    def schema(self) -> dict[str, Any]:
        """Return JSON Schema."""
        return object_schema(self.cls, self.kinds)


@cache
def _filler(cls: Any) -> Callable[[int, Sequence[Iterable[Any]]], list[Any]]:
    """Return a function that makes ``n`` instances of a class with slots, of columns for these.

    Instances begin as those of a class that is not frozen and has the same slots and bases:
    `__init__` of the frozen one takes six times as long.
    """
    thawed = type(cls.__name__, cls.__bases__, {"__slots__": cls.__slots__})
    scope: dict[str, Any] = {"thawed": thawed, "frozen": repeat(cls)}
    targets = "".join(f"item.{name}, " for name in (*cls.__slots__, "__class__"))
    lines = (
        "def fill(n, columns):",
        "made = [thawed() for _ in range(n)]",
        f"for item, {targets} in zip(made, *columns, frozen): pass",
        "return made",
    )
    exec("\n ".join(lines), scope)
    fill: Callable[[int, Sequence[Iterable[Any]]], list[Any]] = scope["fill"]
    return fill


def _columns(given: Sequence[dict[str, Any]]) -> dict[str, list[Any]] | None:
    """Return the values of mappings by field; None where they do not all have the same fields."""
    names = given[0]
    if set(map(len, given)) != {len(names)}:
        return None
    try:
        return {name: list(map(itemgetter(name), given)) for name in names}
    except KeyError:
        return None


def _is_word(kind: Kind) -> bool:
    """Return whether values of a kind are equal only if they have one type, too."""
    return isinstance(kind.kind if isinstance(kind, Maybe) else kind, Text | Whole | Truth)


class _Readers(dict[str, Callable[[Any], Any]]):
    """What reads each field; a name that is not known is an error of that field."""

    def __missing__(self, name: Any) -> Callable[[Any], Any]:
        raise FieldError(f"is not known; {known_names(str(name), self)}")


def _check_names(given: Mapping[Any, Any], known: Collection[str], needed: Collection[str]) -> None:
    """Refuse a field that is not known, and one that is missing."""
    for name in given:
        if name not in known:
            raise FieldError(f"is not known; {known_names(str(name), known)}", (str(name),))
    _check_needed(given, needed)


def _check_needed(given: Collection[str], needed: Collection[str]) -> None:
    for name in needed:
        if name not in given:
            raise FieldError("is missing", (name,))


def object_schema(cls: type[Any], kinds: Mapping[str, Kind]) -> dict[str, Any]:
    """Return JSON Schema of a mapping of fields, with their descriptions and defaults. A field
    that declares no description has that of the docstring's section Attributes.
    """
    declared = {one.name: one for one in fields(cls)} if is_dataclass(cls) else {}
    documented = _documented(cls)
    properties = {}
    for name, kind in kinds.items():
        properties[name] = schema = dict(kind.schema())
        if name in documented:
            schema["description"] = documented[name]
        one = declared.get(name)
        if one is not None and one.metadata.get("says"):
            schema["description"] = one.metadata["says"]
            if not is_needed(one) and one.default is not None:
                schema["default"] = _plain(one.default)
    return {
        "type": "object",
        "properties": properties,
        "required": needed_fields(cls),
        "additionalProperties": False,
    }


def _documented(cls: type[Any]) -> dict[str, str]:
    """Return the descriptions of the section Attributes of a docstring, by field, as a file has
    them.
    """
    _, _, section = cleandoc(cls.__doc__ or "").partition("Attributes\n----------\n")
    found = re.findall(r"^(\w+) : .*\n((?: +.*\n?)+)", section, re.MULTILINE)
    return {
        name: " ".join(text.replace("`", "").replace(". None", ". Null").split())
        for name, text in found
    }


def needed_fields(cls: type[Any]) -> list[str]:
    """Return fields that have no default."""
    if not is_dataclass(cls):
        return [name for name in cls._fields if name not in cls._field_defaults]
    return [one.name for one in fields(cls) if is_needed(one)]


def _default(cls: type[Any], name: str) -> Iterator[Any]:
    """Return what a field that is left out holds, for any number of instances."""
    one = cls.__dataclass_fields__[name]
    return (
        repeat(one.default)
        if one.default_factory is MISSING
        else starmap(one.default_factory, repeat(()))
    )


def is_needed(one: Field[Any]) -> bool:
    """Return whether a field must be given."""
    return one.default is MISSING and one.default_factory is MISSING


def kinds_of(cls: type[Any]) -> dict[str, Kind]:
    """Return the kind of every field of a dataclass or named tuple."""
    declared = (
        {one.name: one.metadata.get("kind") for one in fields(cls)} if is_dataclass(cls) else {}
    )
    hints = get_type_hints(cls, include_extras=True)
    names = declared if is_dataclass(cls) else cls._fields
    return {name: declared.get(name) or _kind(hints[name]) for name in names}


_OF_TYPES: dict[Any, Kind] = {
    str: ANY_TEXT,
    int: COUNT,
    bool: Truth(),
    float: Number(),
    Any: Anything(),
}


def _kind(hint: Any) -> Kind:
    """Return the kind that follows from a type."""
    origin, args = get_origin(hint), get_args(hint)
    if hint in _OF_TYPES:
        return _OF_TYPES[hint]
    if hasattr(hint, "__metadata__"):
        kind: Kind = hint.__metadata__[0]
        return kind
    if origin in (types.UnionType, Union):
        return Maybe(_kind(next(arg for arg in args if arg is not types.NoneType)))
    if origin is tuple:
        return ListOf(_kind(args[0]))
    if origin is not None and issubclass(origin, Mapping):
        return MappingOf(_kind(args[1]))
    return record(hint)


@cache
def record(cls: Any) -> Record:
    """Return the record of a class, made once."""
    return Record(cls)


_OF_TYPES[MessageQueue] = Record(
    MessageQueue, queue_id=SIGNED
)  # its own module lies below this one


def needed(kind: Kind, says: str = "") -> Any:
    """Return a field that must be given; what it ``says`` is its description in the schema."""
    return field(metadata={"kind": kind, "says": says})


def optional(kind: Kind, default: Any = None, says: str = "") -> Any:
    """Return a field that may be left out."""
    return field(default=default, metadata={"kind": kind, "says": says})


@dataclass(frozen=True)
class Checked:
    """Data whose fields are checked whenever it is made; converts from and to plain data."""

    one_of: ClassVar[tuple[str, ...]] = ()  # exactly one of these fields must be given

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if value is not one.default:
                try:
                    object.__setattr__(self, one.name, one.metadata["kind"].read(value))
                except FieldError as error:
                    raise ScenarioError(error.what, (one.name, *error.parts)) from None
        given = [name for name in self.one_of if getattr(self, name) is not None]
        if self.one_of and len(given) != 1:
            got = " and ".join(given) or "none of them"
            raise ScenarioError(f"must have exactly one of {', '.join(self.one_of)}, got {got}")

    @classmethod
    def of(cls, data: Any) -> Any:
        """Build a record from plain data; null means absent, as in tables."""
        if not isinstance(data, Mapping):
            raise ScenarioError(f"must be a mapping, got {shown(data)}")
        given = {name: value for name, value in data.items() if value is not None}
        try:
            _check_names(given, [one.name for one in fields(cls)], needed_fields(cls))
        except FieldError as error:
            raise ScenarioError(error.what, error.parts) from None
        return cls(**given)

    def to_data(self) -> dict[str, Any]:
        """Return plain data from which `of` builds an equal record; absent fields stay absent."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        left_out = {one.name: one.default for one in fields(self) if not is_needed(one)}
        return {
            name: _plain(value)
            for name, value in values.items()
            if left_out.get(name, MISSING) != value
        }

    @classmethod
    def schema(cls) -> dict[str, Any]:
        """Return JSON Schema of the plain data."""
        made = object_schema(cls, kinds_of(cls))
        return (
            {**made, "oneOf": [{"required": [name]} for name in cls.one_of]} if cls.one_of else made
        )


def _plain(value: Any) -> Any:
    """Return values that have plain data of their own as that; tuples as lists, a tuple of one text
    as that text.
    """
    if isinstance(value, tuple):
        return (
            value[0]
            if len(value) == 1 and isinstance(value[0], str)
            else [_plain(one) for one in value]
        )
    to_data = getattr(value, "to_data", None)
    return value if to_data is None else to_data()


@dataclass(frozen=True)
class Part:
    """Data with fields of its own."""

    cls: type[Checked]
    is_described: bool = False

    def read(self, given: Any) -> Any:
        """Return the part."""
        return given if isinstance(given, self.cls) else self.cls.of(given)

    def schema(self) -> dict[str, Any]:
        """Return JSON Schema."""
        return described(self.cls) if self.is_described else self.cls.schema()


def list_of(cls: type[Checked]) -> ListOf:
    """Return a list of data with fields of its own."""
    return ListOf(Part(cls, is_described=True))


def described(cls: type[Checked]) -> dict[str, Any]:
    """Return JSON Schema of data with fields of its own; its description is the first paragraph of
    the docstring.
    """
    paragraph = (cls.__doc__ or "").partition("\n\n")[0]
    return {**cls.schema(), "description": " ".join(paragraph.replace("`", "").split())}


def by_name(*kinds: type[Checked]) -> dict[str, type[Checked]]:
    """Return kinds of records by the names that documents give them: those of the classes in snake
    case.
    """
    return {re.sub("(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower(): kind for kind in kinds}


def document_schema(title: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return JSON Schema (2020-12) of a whole document, whose body is that of an object."""
    properties = {
        SCHEMA: {
            "type": "string",
            "description": "Where the JSON Schema of such a file is, for editors.",
        },
        **body["properties"],
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        **body,
        "properties": properties,
    }
