"""The files: lines of JSON, compressed, equal bytes for equal content."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from checkout import ROOT

Line = dict[str, Any]

FOLDER = ROOT / "tests" / "data" / "conformance"
MOST_BYTES = 1_000_000
"""What all files together may take."""


def path_of(name: str) -> Path:
    """Return where a file is."""
    return FOLDER / f"{name}.jsonl.gz"


def read_lines(name: str) -> Iterator[Line]:
    """Return the lines of a file."""
    with gzip.open(path_of(name), "rt", encoding="ascii") as lines:
        yield from map(json.loads, lines)


def write_lines(name: str, lines: Iterable[Line]) -> None:
    """Write a file."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    path_of(name).write_bytes(gzip.compress(text.encode("ascii"), 9, mtime=0))


def first_difference(name: str, remade: Iterable[Line]) -> str | None:
    """Return where a file is not what was made now, None if it is."""
    kept, made = list(read_lines(name)), list(remade)
    for number, (old, new) in enumerate(zip(kept, made, strict=False), 1):
        if old != new:
            keys = [key for key in old | new if old.get(key) != new.get(key)]
            return f"{name}, line {number}: {', '.join(keys)} differ"
    return (
        None
        if len(kept) == len(made)
        else f"{name}: {len(kept)} lines are kept, {len(made)} were made"
    )
