"""YAML text: the data as JSON would have it, and the position of each value in the text.

Only the literals of JSON are not text: true, false, null and decimal numbers. So ``on``, ``12:30``
and dates stay text, as names of topics and clients should. All of it is special in YAML 1.1 too, so
the output of PyYAML is read back.

Keys are text, each given once. A merge (``<<: *base``) adds the keys that the mapping itself does
not have.
"""

from __future__ import annotations

import math
import re
from functools import cache
from typing import Any

from rmqalloc.documents.document_errors import (
    TextError,
    key_given_twice,
    nested_too_deeply,
    too_many_digits,
)
from rmqalloc.documents.memory import no_collection
from rmqalloc.documents.read_budget import MAX_DEPTH
from rmqalloc.errors import installation_hint
from rmqalloc.text import shortened

MAX_NODES = 1_000_000
"""Values of a YAML file at most, those that aliases repeat and merges bring counted each time."""

_EVENTS_OF_A_VALUE = 3
"""Its key, its beginning and its end."""

_EVENTS_AROUND = 3
"""Those of the file and of the document, but for the key that the outermost value has not."""

_PREFIX = "tag:yaml.org,2002:"
_STR, _MERGE = _PREFIX + "str", _PREFIX + "merge"
_WORDS = {
    "null": (r"~|null|Null|NULL|", "~nN\0"),
    "bool": (r"true|True|TRUE|false|False|FALSE", "tTfF"),
    "int": (r"[-+]?(0|[1-9][0-9]*)", "-+0123456789"),
    "float": (r"[-+]?[0-9]+\.[0-9]*([eE][-+][0-9]+)?", "-+0123456789"),
    "merge": (r"<<", "<"),
}
_ALWAYS = ("null", "merge")
"""Kinds that are not text even where numbers are."""


def _yaml() -> Any:
    """Return PyYAML, which JSON files do not need."""
    with installation_hint():
        import yaml

    return yaml


def loads(text: str, words: bool = False) -> Any:
    """Return data of YAML text.

    Examples
    --------
    >>> loads("base: &base {a: 1, b: 2}\\nmore: {<<: *base, b: 3}")
    {'base': {'a': 1, 'b': 2}, 'more': {'a': 1, 'b': 3}}
    >>> loads("a: 007\\nb: 7\\nc:", words=True)
    {'a': '007', 'b': '7', 'c': None}
    """
    yaml = _yaml()

    loader = _loader(words)
    try:
        _check_events(yaml.parse(text, Loader=loader))
        with no_collection():
            data = yaml.load(text, Loader=loader)
        _measure(data, {})
        return data
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        # PyYAML's C reader from 6.0.4 on counts levels, too, up to a thousand, and may do so before
        # it hands out the first.
        is_too_deep = "nesting depth" in (error.problem or "")
        what = nested_too_deeply() if is_too_deep else _message(error)
        position = (mark.line + 1, mark.column + 1) if mark else ()
        raise TextError(what, *position) from None
    except yaml.reader.ReaderError as error:
        # Its position is in bytes or in characters, whichever reader it is; what it refuses, it
        # refuses at its first place.
        refused = error.character if isinstance(error.character, str) else chr(error.character)
        line = text.count("\n", 0, max(text.find(refused), 0)) + 1
        raise TextError(f"not YAML: {error.reason}: #x{ord(refused):04x}", line) from None


def dump(data: Any) -> str:
    """Return YAML text of plain data.

    Examples
    --------
    >>> print(dump({"name": "on", "queues": [1, "2"]}), end="")
    name: 'on'
    queues:
    - 1
    - '2'
    """
    yaml = _yaml()

    _measure(data, {})

    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        """Quotes what does not print: as plain text, PyYAML turns some line breaks of Unicode into
        blanks.
        """

    def quoted(dumper: Any, text: str) -> Any:
        return dumper.represent_scalar(_STR, text, style=None if text.isprintable() else '"')

    Dumper.add_representer(str, quoted)
    text: str = yaml.dump(data, Dumper=Dumper, sort_keys=False, allow_unicode=True)
    return text


def place(text: str, parts: tuple[str | int, ...]) -> tuple[int, int]:
    """Return line and column as `place` of JSON does; a merged value has the place of its base."""
    yaml = _yaml()

    node = yaml.compose(text, Loader=_loader())
    if node is None:
        return 1, 1
    for part in parts:
        found = _inner(node, part)
        if found is None:
            break
        node = found
    return node.start_mark.line + 1, node.start_mark.column + 1


def places(text: str, key: str) -> list[tuple[int, int]]:
    """Return lines and columns as `places` of JSON does."""
    yaml = _yaml()

    node = yaml.compose(text, Loader=_loader())
    listed = None if node is None else _inner(node, key)
    if listed is None or listed.id != "sequence":
        return []
    marks = [item.start_mark for item in listed.value]
    return [(mark.line + 1, mark.column + 1) for mark in marks]


def _inner(node: Any, part: str | int) -> Any:
    """Return the node of a list's element or of a mapping's value; None if there is none."""
    if node.id == "sequence" and isinstance(part, int):
        return node.value[part] if part < len(node.value) else None
    if node.id != "mapping":
        return None
    for name, value in node.value:
        if name.value == part and name.tag == _STR:
            return value
    for name, merged in node.value:
        if name.tag != _MERGE:
            continue
        for base in merged.value if merged.id == "sequence" else [merged]:
            found = _inner(base, part)
            if found is not None:
                return found
    return None


def _message(error: Any) -> str:
    """Return the message of an error of PyYAML on one line."""
    problem = error.problem or error.context
    if error.context and problem.startswith("but "):
        problem = f"{error.context}, {problem}"
    return f"not YAML: {problem}"


def _check_events(events: Any) -> None:
    """Refuse data that would take too much memory or stack to build; the C library of PyYAML crashes
    on very deep data.
    """
    yaml = _yaml()

    depth = 0
    for count, event in enumerate(events):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise _at(event, nested_too_deeply())
        if count >= _EVENTS_OF_A_VALUE * MAX_NODES + _EVENTS_AROUND:
            raise TextError(_too_large())


def _measure(data: Any, known: dict[int, tuple[int, int]], depth: int = 0) -> tuple[int, int]:
    """Return the values and levels of data with every alias written out; each piece is measured
    once.
    """
    if not isinstance(data, (dict, list)):
        if isinstance(data, float) and not math.isfinite(data):
            raise TextError(f"{data} is not a finite number, and JSON has only finite numbers")
        return 1, 0
    if id(data) not in known:
        if depth >= MAX_DEPTH:
            raise TextError(nested_too_deeply())
        n_values, n_levels = 1, 0
        for item in data.values() if isinstance(data, dict) else data:
            n_inner, inner_levels = _measure(item, known, depth + 1)
            n_values, n_levels = n_values + n_inner, max(n_levels, inner_levels)
        known[id(data)] = n_values, n_levels + 1
    n_values, n_levels = known[id(data)]
    if n_values > MAX_NODES:
        raise TextError(_too_large())
    if depth + n_levels > MAX_DEPTH:
        raise TextError(nested_too_deeply())
    return n_values, n_levels


def _too_large() -> str:
    return f"has more than {MAX_NODES} values; write it as JSON"


def _at(node: Any, what: str) -> TextError:
    return TextError(what, node.start_mark.line + 1, node.start_mark.column + 1)


# --- The loader ---


@cache
def _loader(words: bool = False) -> Any:
    """Return PyYAML's safe loader, the C one where it is there, that knows the types of JSON and no
    other.
    """
    yaml = _yaml()

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 (the loader's own way of configuring it)
        yaml_constructors: dict[str | None, Any] = {}  # noqa: RUF012
        n_merged = 0

    for name, (pattern, first) in _WORDS.items():
        if not words or name in _ALWAYS:
            whole = re.compile(rf"(?:{pattern})\Z")
            first_characters = ["" if character == "\0" else character for character in first]
            Loader.add_implicit_resolver(_PREFIX + name, whole, first_characters)
    for kind, constructor in _CONSTRUCTORS.items():
        Loader.add_constructor(kind and _PREFIX + kind, constructor)
    return Loader


def _value(loader: Any, node: Any) -> Any:
    """Return the data of a node at once: PyYAML's own constructors fill a mapping later, and it
    could be merged while empty.
    """
    is_text = node.tag == _STR and node.id == "scalar"
    return node.value if is_text else loader.construct_object(node)


def _mapping(loader: Any, node: Any) -> dict[str, Any]:
    if node.id != "mapping":
        raise _at(node, f"not YAML: expected a mapping, got a {node.id}")
    found: dict[str, Any] = {}
    merge = None
    for name, inner in node.value:
        if name.tag == _MERGE:
            if merge is not None:
                raise _twice(node, name, inner)
            merge = inner
            continue
        key = _value(loader, name)
        if type(key) is not str:
            raise _at(name, f"a key must be text, got {_shown(name)}; put it in quotes")
        if key in found:
            raise _twice(node, name, inner)
        found[key] = _value(loader, inner)
    return found if merge is None else {**_merged(loader, merge), **found}


def _merged(loader: Any, node: Any) -> dict[str, Any]:
    """Return the merged values of a mapping; of several bases the earlier wins."""
    brought: dict[str, Any] = {}
    for base in node.value if node.id == "sequence" else [node]:
        data = _value(loader, base)
        if not isinstance(data, dict):
            raise _at(base, f"not YAML: << merges mappings, got {_shown(base)}")
        loader.n_merged += len(data)  # merges of merges could grow without end
        if loader.n_merged > MAX_NODES:
            raise TextError(_too_large())
        brought = {**data, **brought}
    return brought


def _twice(node: Any, second: Any, value: Any) -> TextError:
    first = next(name for name, _ in node.value if name.value == second.value)
    # A key that is an alias is the node that it names; the place is that of its value.
    place_of = value if first is second else second
    return _at(place_of, key_given_twice(second.value, first.start_mark.line + 1))


def _shown(node: Any) -> str:
    return repr(shortened(node.value, 40)) if node.id == "scalar" else f"a {node.id}"


def _list(loader: Any, node: Any) -> list[Any]:
    if node.id != "sequence":
        raise _at(node, f"not YAML: expected a list, got a {node.id}")
    return [_value(loader, inner) for inner in node.value]


def _text(loader: Any, node: Any) -> Any:
    return loader.construct_scalar(node)


def _word(kind: str) -> Any:
    """Return a constructor of scalars of a kind; a scalar with an explicit tag must be written like
    that kind.
    """
    pattern = re.compile(_WORDS[kind][0] + (f"|{_WORDS['int'][0]}" if kind == "float" else ""))

    def construct(loader: Any, node: Any) -> Any:
        text = loader.construct_scalar(node)
        if not pattern.fullmatch(text):
            raise _at(node, f"not YAML: {_shown(node)} is no {kind}")
        try:
            value = _VALUES[kind](text)
        except ValueError:  # more digits than Python reads
            raise _at(node, too_many_digits(len(text.lstrip("+-")))) from None
        if kind == "float" and math.isinf(value):
            raise _at(node, f"{_shown(node)} is not a JSON number")
        return value

    return construct


def _unknown(_loader: Any, node: Any) -> Any:
    raise _at(node, f"tag {shortened(node.tag, 80)!r} is not supported; remove it")


_VALUES: dict[str, Any] = {
    "null": lambda _text: None,
    "bool": lambda text: text.lower() == "true",
    "int": int,
    "float": float,
}
_CONSTRUCTORS: dict[str | None, Any] = {
    "map": _mapping,
    "seq": _list,
    "str": _text,
    "merge": _text,  # only as a key it merges
    **{kind: _word(kind) for kind in _VALUES},
    None: _unknown,
}
