"""Recorded answers of RocketMQ for authors of clients: ``python -m differential.conformance`` writes
the files in ``tests/data/conformance`` from what the real classes answer (JDK, Maven).

The proof makes them again, compares, gives the same to the product, and the strategies to client-go
(Go; without it that part is left out). The short form gives the files to the product alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import go_driver
from proof import Report

from differential.conformance import client_sequences, strategy_answers, wire_bodies
from differential.conformance.files import (
    MOST_BYTES,
    Line,
    first_difference,
    path_of,
    read_lines,
    write_lines,
)


class Row(NamedTuple):
    """A file: its lines, the answers in them, and what the product says otherwise."""

    name: str
    lines: int
    answers: int
    wrong: list[str]


def conformance(report: Report, is_quick: bool) -> None:
    """Compare the files with the real classes, the product and client-go."""
    rows = list(compared())
    columns = ("file", "lines", "answers", "lines that rmqalloc answers otherwise")
    report.table(columns, [(*row[:3], len(row.wrong)) for row in rows])
    for row in rows:
        for text in row.wrong or ([] if row.lines else ["no lines"]):
            report.fault(f"{row.name}: {text}")
    size = sum(path_of(row.name).stat().st_size for row in rows)
    if size > MOST_BYTES:
        report.fault(f"the files take {size:,} bytes, at most {MOST_BYTES:,} are wanted")
    if is_quick:
        return
    for name, lines in remade():
        if said := first_difference(name, lines):
            report.fault(said)
    go = _of_go(list(read_lines(strategy_answers.NAME)))
    report.table(
        ("client-go", "groups", "shared otherwise than by Java"),
        [(name, *counts) for name, counts in go.items()],
    )


def remade() -> Iterator[tuple[str, Iterator[Line]]]:
    """Return every file's name and its lines, from the real classes."""
    yield strategy_answers.NAME, strategy_answers.recorded()
    yield wire_bodies.NAME, wire_bodies.recorded()
    for version in client_sequences.RELEASED:
        yield client_sequences.file_of(version), client_sequences.recorded(version)


def compared() -> Iterator[Row]:
    """Give every file to the product."""
    lines = list(read_lines(strategy_answers.NAME))
    answers = sum(len(line["takes"]) for line in lines)
    wrong = [
        f"{line['strategy']}: {', '.join(bad)}"
        for line in lines
        if (bad := strategy_answers.wrong_of_product(line))
    ]
    yield Row(strategy_answers.NAME, len(lines), answers, wrong)
    lines = list(read_lines(wire_bodies.NAME))
    wrong = [
        f"{line['name']}: {said}" for line in lines if (said := wire_bodies.wrong_of_product(line))
    ]
    yield Row(wire_bodies.NAME, len(lines), len(lines), wrong)
    for version in client_sequences.RELEASED:
        name = client_sequences.file_of(version)
        lines = list(read_lines(name))
        events = sum(len(line["events"]) for line in lines)
        found = ((line, client_sequences.wrong_event(line)) for line in lines)
        wrong = [
            f"{line['level']}, seed {line['seed']}: event {at}"
            for line, at in found
            if at is not None
        ]
        yield Row(name, len(lines), events, wrong)


def _of_go(lines: list[Line]) -> dict[str, tuple[int, int]]:
    try:
        return strategy_answers.wrong_of_go(lines)
    except go_driver.GoMissing as missing:
        print(f"client-go is left out: {missing}")
        return {}


if __name__ == "__main__":
    for file, made in remade():
        write_lines(file, made)
