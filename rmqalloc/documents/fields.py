"""What the fields of a scenario may hold: each kind reads a given value or says what would be right."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from reprlib import repr as shown
from typing import Any, ClassVar, Protocol

from rmqalloc.documents import DocumentError, known_names

MAX_CLIENTS = 100_000
"""Most clients that a scenario may add to a unit, or scale it to."""

MAX_READ_QUEUE_NUMS = 65_536
"""Most read queues that a scenario may give a topic on one broker."""

MAX_VIRTUAL_NODES = 65_536
"""Most virtual nodes of a client."""

MAX_TEXT_BYTES = 64 * 1024
"""Longest client id, as UTF-8, in a table or a scenario, and longest text of any kind in a scenario."""


class ScenarioError(DocumentError):
    """A scenario, or a script of a simulation, is not as it should be."""


class Kind(Protocol):
    """A kind of field."""

    def read(self, given: Any) -> Any:
        """The value as it is kept; ScenarioError "must be ..., got ..." if it is none of this kind."""

    def schema(self) -> dict[str, Any]:
        """The same as JSON Schema."""


@dataclass(frozen=True)
class Text:
    """Text that is not empty; ``choices`` if it must be one of a few words."""

    choices: tuple[str, ...] = ()

    def read(self, given: Any) -> str:
        """The text."""
        if not isinstance(given, str) or not given or (self.choices and given not in self.choices):
            wanted = f"one of {', '.join(self.choices)}" if self.choices else "text that is not empty"
            raise ScenarioError(f"must be {wanted}, got {shown(given)}")
        try:
            n_bytes = len(given.encode())
        except UnicodeEncodeError:
            raise ScenarioError(f"must be Unicode text, got half a surrogate pair in {shown(given)}") from None
        if n_bytes > MAX_TEXT_BYTES:
            raise ScenarioError(f"must be at most {MAX_TEXT_BYTES} bytes long, got {n_bytes}")
        return given

    def schema(self) -> dict[str, Any]:
        """JSON Schema."""
        return {"enum": list(self.choices)} if self.choices else {"type": "string", "minLength": 1}


@dataclass(frozen=True)
class Texts:
    """One text or a list of them, kept as a tuple."""

    def read(self, given: Any) -> tuple[str, ...]:
        """The texts."""
        if isinstance(given, str):
            given = [given]
        if not isinstance(given, list | tuple) or not given:
            raise ScenarioError(f"must be text or a list of text that is not empty, got {shown(given)}")
        texts = []
        for i, text in enumerate(given):
            try:
                texts.append(Text().read(text))
            except ScenarioError as error:
                raise error.inside(i) from None
        return tuple(texts)

    def schema(self) -> dict[str, Any]:
        """JSON Schema."""
        one = Text().schema()
        return {"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]}


@dataclass(frozen=True)
class Whole:
    """A whole number within bounds."""

    least: int
    most: int

    def read(self, given: Any) -> int:
        """The number."""
        if isinstance(given, bool) or not isinstance(given, int) or not self.least <= given <= self.most:
            raise ScenarioError(f"must be a whole number from {self.least} to {self.most}, got {shown(given)}")
        return given

    def schema(self) -> dict[str, Any]:
        """JSON Schema."""
        return {"type": "integer", "minimum": self.least, "maximum": self.most}


@dataclass(frozen=True)
class Params:
    """Parameters of a strategy by name."""

    def read(self, given: Any) -> dict[str, Any]:
        """The parameters; sets and tuples become lists."""
        if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
            raise ScenarioError(f"must be a mapping of parameters by name, got {shown(given)}")
        return {name: self._value(name, value) for name, value in given.items()}

    @staticmethod
    def _value(name: str, given: Any) -> Any:
        if isinstance(given, set | frozenset | tuple | list):
            return list(Texts().read(sorted(given) if isinstance(given, set | frozenset) else list(given)))
        if not isinstance(given, str | int):
            raise ScenarioError(f"must be a whole number, text or a list of text, got {shown(given)}", name)
        return given

    def schema(self) -> dict[str, Any]:
        """JSON Schema."""
        return {"type": "object"}


def needed(kind: Kind, says: str = "") -> Any:
    """A field that must be given; what it ``says`` is its description in the schema."""
    return field(metadata={"kind": kind, "says": says})


def optional(kind: Kind, default: Any = None, says: str = "") -> Any:
    """A field that may be left out."""
    return field(default=default, metadata={"kind": kind, "says": says})


@dataclass(frozen=True)
class Checked:
    """Data whose fields are checked whoever makes it, and which can be made from and turned into plain data."""

    one_of: ClassVar[tuple[str, ...]] = ()  # exactly one of these fields must be given

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if value is not one.default:
                try:
                    object.__setattr__(self, one.name, one.metadata["kind"].read(value))
                except ScenarioError as error:
                    raise error.inside(one.name) from None
        given = [name for name in self.one_of if getattr(self, name) is not None]
        if self.one_of and len(given) != 1:
            got = " and ".join(given) or "none of them"
            raise ScenarioError(f"must have exactly one of {', '.join(self.one_of)}, got {got}")

    @classmethod
    def of(cls, data: Any) -> Any:
        """Make one from plain data; a null counts as left out, for so tables say it."""
        if not isinstance(data, Mapping):
            raise ScenarioError(f"must be a mapping, got {shown(data)}")
        data = {name: value for name, value in data.items() if value is not None}
        known = [one.name for one in fields(cls)]
        for name in data:
            if name not in known:
                raise ScenarioError(f"has an unknown field {shown(name)}; {known_names(str(name), known)}")
        for one in fields(cls):
            if is_needed(one) and one.name not in data:
                raise ScenarioError(f"has no {one.name}, which is needed")
        return cls(**data)

    def to_data(self) -> dict[str, Any]:
        """Plain data that `of` makes the same from; what was left out is left out."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        left_out = {one.name: one.default for one in fields(self) if not is_needed(one)}
        return {name: _plain(value) for name, value in values.items() if left_out.get(name, MISSING) != value}

    @classmethod
    def schema(cls) -> dict[str, Any]:
        """JSON Schema of the plain data."""
        properties = {one.name: _field_schema(one) for one in fields(cls)}
        required = [one.name for one in fields(cls) if is_needed(one)]
        made = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
        return {**made, "oneOf": [{"required": [name]} for name in cls.one_of]} if cls.one_of else made


def is_needed(one: Field[Any]) -> bool:
    """Whether a field must be given."""
    return one.default is MISSING


def _field_schema(one: Field[Any]) -> dict[str, Any]:
    """JSON Schema of a field, with its description and its default where it has them."""
    schema = dict(one.metadata["kind"].schema())
    if one.metadata["says"]:
        schema["description"] = one.metadata["says"]
        if not is_needed(one) and one.default is not None:
            schema["default"] = _plain(one.default)
    return schema


def _plain(value: Any) -> Any:
    """Values that have plain data of their own as that; tuples as lists, a tuple of one text as that text."""
    if isinstance(value, tuple):
        return value[0] if len(value) == 1 and isinstance(value[0], str) else [_plain(one) for one in value]
    to_data = getattr(value, "to_data", None)
    return value if to_data is None else to_data()


MAX_DURATION = 24 * 3_600_000
"""Longest time in a script, in milliseconds."""

MOST_MEMBERS = 5_000
"""Most clients that one group may start with."""

_UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}
_TIME = re.compile(r"(\d{1,9})(ms|s|m|h)", re.ASCII)


class Milliseconds(int):
    """A time that was read, so that it is not taken for a number without a unit when it is checked again.

    Examples
    --------
    >>> Milliseconds(90_000).to_data(), Milliseconds(1_500).to_data()
    ('90s', '1500ms')
    """

    def to_data(self) -> str:
        """The time as a script says it."""
        return f"{int(self)}ms" if self % 1_000 else f"{self // 1_000}s"


@dataclass(frozen=True)
class Duration:
    """A time as text with a unit (``500ms``, ``30s``, ``2m``, ``1h``), kept in milliseconds.

    A number without a unit is refused, for it could be either; 0 is 0 in all units, and allowed where a time may be zero.

    Examples
    --------
    >>> Duration().read("2m"), Duration().read(0)
    (120000, 0)
    """

    least: int = 0

    def read(self, given: Any) -> Milliseconds:
        """The milliseconds."""
        if isinstance(given, Milliseconds) or (given == 0 and type(given) is int):
            milliseconds = int(given)
        else:
            match = _TIME.fullmatch(given) if isinstance(given, str) else None
            milliseconds = int(match[1]) * _UNITS[match[2]] if match else -1
        if not self.least <= milliseconds <= MAX_DURATION:
            raise ScenarioError(
                f"must be a time such as 500ms, 30s or 2m, from {self.least}ms to 24h, got {shown(given)}{_hint(given)}"
            )
        return Milliseconds(milliseconds)

    def schema(self) -> dict[str, Any]:
        """JSON Schema, all but the bound of 24 h."""
        text = {"type": "string", "pattern": "^[0-9]{1,9}(ms|s|m|h)$"}
        if self.least:
            return {**text, "pattern": "^(?!0+[a-z])[0-9]{1,9}(ms|s|m|h)$"}
        return {"anyOf": [text, {"const": 0}]}


def _hint(given: Any) -> str:
    """How to write a whole number that lacks its unit."""
    text = str(given) if isinstance(given, str) or type(given) is int else ""
    if not (text.isascii() and text.isdigit() and 0 < int(text[:9]) <= MAX_DURATION and len(text) < 9):
        return ""
    return f', which has no unit: write "{text}s" for seconds or "{text}ms" for milliseconds'


@dataclass(frozen=True)
class Truth:
    """True or false."""

    def read(self, given: Any) -> bool:
        """The value."""
        if not isinstance(given, bool):
            raise ScenarioError(f"must be true or false, got {shown(given)}")
        return given

    def schema(self) -> dict[str, Any]:
        """JSON Schema."""
        return {"type": "boolean"}


@dataclass(frozen=True)
class Members:
    """How many clients, or their names."""

    def read(self, given: Any) -> int | tuple[str, ...]:
        """The number or the names."""
        if isinstance(given, int):
            return Whole(0, MOST_MEMBERS).read(given)
        return Texts().read(given)

    def schema(self) -> dict[str, Any]:
        """JSON Schema."""
        return {"anyOf": [Whole(0, MOST_MEMBERS).schema(), *Texts().schema()["anyOf"]]}


@dataclass(frozen=True)
class Part:
    """Data with fields of its own."""

    cls: type[Checked]

    def read(self, given: Any) -> Any:
        """The part."""
        return given if isinstance(given, self.cls) else self.cls.of(given)

    def schema(self) -> dict[str, Any]:
        """JSON Schema."""
        return self.cls.schema()


@dataclass(frozen=True)
class Parts:
    """A list of data with fields of its own."""

    cls: type[Checked]

    def read(self, given: Any) -> tuple[Any, ...]:
        """The parts."""
        if not isinstance(given, list | tuple):
            raise ScenarioError(f"must be a list, got {shown(given)}")
        parts = []
        for i, one in enumerate(given):
            try:
                parts.append(Part(self.cls).read(one))
            except ScenarioError as error:
                raise error.inside(i) from None
        return tuple(parts)

    def schema(self) -> dict[str, Any]:
        """JSON Schema."""
        return {"type": "array", "items": described(self.cls)}


def described(cls: type[Checked]) -> dict[str, Any]:
    """JSON Schema of data with fields of its own; its description is the first line of the docstring."""
    return {**cls.schema(), "description": (cls.__doc__ or "").partition("\n")[0].replace("`", "")}
