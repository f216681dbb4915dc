"""The page of a comparison."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from conformance.strategy_answers import GO_DIFFERS

MOST_WRONG = 20

HEAD = """# Conformance data

`python -m conformance --report FILE`. The files that authors of clients check theirs with: rebuilt from RocketMQ's own
classes and compared with what is kept, then given to rmqalloc, and the strategies to client-go 2.1.2.
"""


class Row(NamedTuple):
    """A file: its lines, the answers in them, and what the product says otherwise."""

    name: str
    lines: int
    answers: int
    wrong: list[str]


def page(
    rows: Sequence[Row],
    wrong: Sequence[str],
    go: Mapping[str, tuple[int, int]],
    size: int,
    seconds: float,
) -> str:
    """Return all of it."""
    return "\n".join(
        [HEAD, *_files(rows, size), *_wrong(rows, wrong), *_go(go), f"{seconds:.0f} s in all.", ""]
    )


def _files(rows: Sequence[Row], size: int) -> Iterator[str]:
    yield "| file | lines | answers | lines that rmqalloc answers otherwise |\n| --- | ---: | ---: | ---: |"
    for row in rows:
        yield f"| {row.name} | {row.lines:,} | {row.answers:,} | {len(row.wrong):,} |"
    yield f"\n{size:,} bytes.\n"


def _wrong(rows: Sequence[Row], wrong: Sequence[str]) -> Iterator[str]:
    found = [*wrong, *(f"{row.name}: {one}" for row in rows for one in row.wrong)]
    yield from (f"- {one}" for one in found[:MOST_WRONG])
    if len(found) > MOST_WRONG:
        yield f"- and {len(found) - MOST_WRONG:,} more"
    yield ""


def _go(go: Mapping[str, tuple[int, int]]) -> Iterator[str]:
    if not go:
        return
    yield "| client-go | groups | shared otherwise than by Java | why |\n| --- | ---: | ---: | --- |"
    for name, (n, differ) in go.items():
        yield f"| {name} | {n} | {differ} | {GO_DIFFERS[name] if differ else ''} |"
    yield ""
