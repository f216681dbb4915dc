"""Recorded answers of RocketMQ for authors of clients: ``python -m conformance [--quick] [--write]
[--report FILE]``.

Ask the real classes again (JDK, Maven), compare with the files in ``tests/data/conformance``, give
the same to the product, and the strategies to client-go (Go; without it that part is left out).
``--quick`` gives the files to the product alone. Ends with 1 if anything differs.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import go_driver

from conformance import client_sequences, strategy_answers, wire_bodies
from conformance.files import MOST_BYTES, Line, first_difference, path_of, read_lines, write_lines
from conformance.page import Row, page


def main() -> int:
    """Compare, and write a page."""
    parser = argparse.ArgumentParser(prog="python -m conformance", description=__doc__)
    parser.add_argument(
        "--quick",
        action="store_true",
        help="compare the product with the files, and ask nobody else",
    )
    parser.add_argument(
        "--write", action="store_true", help="write the files from what the real classes answer"
    )
    parser.add_argument("--report", metavar="FILE", help="page to write")
    given = parser.parse_args()
    started = time.monotonic()
    if given.write:
        for name, lines in remade():
            write_lines(name, lines)
    wrong = (
        []
        if given.quick
        else [said for name, lines in remade() if (said := first_difference(name, lines))]
    )
    rows = list(compared())
    go = {} if given.quick else _of_go(list(read_lines(strategy_answers.NAME)))
    size = sum(path_of(row.name).stat().st_size for row in rows)
    if size > MOST_BYTES:
        wrong.append(f"the files take {size:,} bytes, at most {MOST_BYTES:,} are wanted")
    text = page(rows, wrong, go, size, time.monotonic() - started)
    print(text)
    if given.report:
        Path(given.report).write_text(text, encoding="utf-8")
    return 1 if wrong or any(row.wrong for row in rows) or not all(row.lines for row in rows) else 0


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
    sys.exit(main())
