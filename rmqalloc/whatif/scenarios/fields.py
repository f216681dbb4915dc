"""What the fields of a scenario may hold: each kind reads a given value or says what would be right."""

from __future__ import annotations

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
