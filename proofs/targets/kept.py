"""Rows of earlier runs over the very same sources."""

import hashlib
import json
from dataclasses import asdict

from checkout import ROOT

from targets.linking import BUILD
from targets.listed import Target
from targets.page import Row
from targets.running import Replayed

SOURCES = [
    "setup.py",
    "pyx/*",
    "pyx/vector/*",
    "rmqalloc/**/*.py*",
    "tests/data/golden.jsonl.gz",
    "tests/support/c/*",
]


def digest() -> str:
    """Of all files that decide what a target answers."""
    found = sorted(
        path
        for pattern in SOURCES
        for path in ROOT.glob(pattern)
        if path.is_file() and path.suffix != ".pyc"
    )
    whole = hashlib.sha256()
    for path in found:
        whole.update(
            f"{path.relative_to(ROOT)} {path.stat().st_size}\n".encode() + path.read_bytes()
        )
    return whole.hexdigest()


def keep(target: Target, row: Row) -> None:
    """Write a row down."""
    path = BUILD / "rows" / f"{target.zig}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"digest": digest(), "row": asdict(row)}))


def kept(target: Target) -> Row | None:
    """The row of a target, unless a file has changed or something was wrong."""
    path = BUILD / "rows" / f"{target.zig}.json"
    if not path.exists():
        return None
    document = json.loads(path.read_text())
    row = Row(**document["row"])
    row.replayed = row.replayed and Replayed(**row.replayed)
    return row if document["digest"] == digest() and not row.faults else None
