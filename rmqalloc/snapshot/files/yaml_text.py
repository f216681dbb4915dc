"""YAML text: data as JSON would have it, and where in the text a piece of it stands.

Only what JSON has is told from text: true, false, null and decimal numbers. So ``on``, ``12:30`` and dates stay what they look
like, as names of topics and clients should. All of it is special in YAML 1.1 too, so what PyYAML writes is read back.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NoReturn

from rmqalloc.snapshot.document import SnapshotError
from rmqalloc.snapshot.files.source import Source

MAX_DEPTH = 64
"""Nesting that is followed; a snapshot has about eight levels. The C library of PyYAML crashes where it is very deep."""

MAX_NODES = 1_000_000
"""Values of a YAML file at most, those that aliases repeat counted each time."""

_EVENTS_OF_A_VALUE = 3
"""Its key, its beginning and its end."""

_PREFIX = "tag:yaml.org,2002:"
_WORDS = {
    "null": (r"~|null|Null|NULL|", "~nN\0"),
    "bool": (r"true|True|TRUE|false|False|FALSE", "tTfF"),
    "int": (r"[-+]?(0|[1-9][0-9]{0,39})", "-+0123456789"),
    "float": (r"[-+]?[0-9]{1,40}\.[0-9]{0,400}([eE][-+][0-9]{1,3})?", "-+0123456789"),
}


def parse(source: Source) -> Any:
    """Data of a YAML file.

    Raises
    ------
    SnapshotError
        If it is not YAML, a mapping has one key twice, or it is nested too deeply or too large.
    ModuleNotFoundError
        If PyYAML is not installed.
    """
    import yaml

    text = source.text()
    try:
        _check_events(yaml.parse(text, Loader=_loader()))
        data = yaml.load(text, Loader=_loader())
        _n_values(data, {}, MAX_DEPTH)
        return data
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = f"not YAML: {error.problem or error.context}"
        raise source.error(what, *((mark.line + 1, mark.column + 1) if mark else ())) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise source.error(f"not YAML: {error.reason}: #x{ord(text[error.position]):04x}", line) from None
    except SnapshotError as error:
        raise source.error(str(error)) from None
    except Exception as error:  # besides its own errors it lets out KeyError, IndexError and others for odd tags
        raise source.error(f"not YAML: {' '.join(str(error).split()) or type(error).__name__}") from None


def dump(data: Any) -> str:
    """YAML text of plain data.

    Raises
    ------
    SnapshotError
        If it has more values than are read.
    """
    import yaml

    _n_values(data, {}, MAX_DEPTH)

    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        """Quotes what does not print: as plain text, PyYAML turns some line breaks of Unicode into blanks."""

    def quoted(dumper: Any, text: str) -> Any:
        return dumper.represent_scalar(_PREFIX + "str", text, style=None if text.isprintable() else '"')

    Dumper.add_representer(str, quoted)
    text: str = yaml.dump(data, Dumper=Dumper, sort_keys=False, allow_unicode=True)
    return text


def place(text: str, parts: tuple[str | int, ...]) -> tuple[int, int]:
    """As `rmqalloc.snapshot.files.json_text.place`."""
    import yaml

    node = yaml.compose(text, Loader=_loader())
    if node is None:
        return 1, 1
    for part in parts:
        found = node.value[part] if isinstance(part, int) else _member(node, part)
        if found is None:
            break
        node = found
    return node.start_mark.line + 1, node.start_mark.column + 1


def _member(node: Any, key: str) -> Any:
    return next((value for name, value in node.value if name.value == key), None)


def _check_events(events: Any) -> None:
    """Refuse what would take too much memory or stack to build."""
    import yaml

    depth = 0
    for count, event in enumerate(events):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise yaml.MarkedYAMLError(problem=f"nested deeper than {MAX_DEPTH} levels", problem_mark=event.start_mark)
        if count > _EVENTS_OF_A_VALUE * MAX_NODES:
            _too_large()


def _n_values(data: Any, known: dict[int, int], depth: int) -> int:
    """How many values data has if every alias is written out; each piece is counted once however often it is repeated."""
    if not isinstance(data, (dict, list)):
        return 1
    if id(data) not in known:
        if depth < 0:
            raise SnapshotError(f"is nested deeper than {MAX_DEPTH} levels")
        inner = data.values() if isinstance(data, dict) else data
        known[id(data)] = 1 + sum(_n_values(item, known, depth - 1) for item in inner)
        if known[id(data)] > MAX_NODES:
            _too_large()
    return known[id(data)]


def _too_large() -> NoReturn:
    raise SnapshotError(f"has more than {MAX_NODES} values; write it as JSON")


def _repeated(nodes: list[Any]) -> Any:
    """The first node whose text was there before; the last one if none was, for ``1`` and ``1.0`` are one key."""
    seen: set[str] = set()
    for node in nodes:
        if node.value in seen:
            return node
        seen.add(node.value)
    return nodes[-1]


@cache
def _loader() -> Any:
    """PyYAML's safe loader, the C one where it is there, with the words of JSON and nothing that merges mappings."""
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 (the loader's own way of configuring it)

        def flatten_mapping(self, node: Any) -> None:
            """Merges of merges grow without end."""

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            found = super().construct_mapping(node, deep)
            if len(found) < len(node.value):
                twice = _repeated([name for name, _ in node.value])
                raise yaml.MarkedYAMLError(problem=f"{twice.value!r} is given twice", problem_mark=twice.start_mark)
            return found

    for name, (words, first) in _WORDS.items():
        Loader.add_implicit_resolver(
            _PREFIX + name, re.compile(f"(?:{words})$"), ["" if c == "\0" else c for c in first]
        )
    return Loader
