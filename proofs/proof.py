"""What all proofs share: a report of tables that ends with a verdict, and programs of several
parts.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any


class Report:
    """Tables and notes, printed as they come, and what is wrong.

    Parameters
    ----------
    title : str
        Heading of the page.

    Attributes
    ----------
    wrong : list of str
        Faults; a program that has one ends with 1.
    data : list of dict
        Figures that are written as JSON beside the page, if there are any.
    """

    def __init__(self, title: str) -> None:
        self.wrong: list[str] = []
        self.data: list[dict[str, Any]] = []
        self._lines: list[str] = []
        self._started = time.monotonic()
        self.say(f"# {title}\n")

    def say(self, text: str = "") -> None:
        """Print a line, and keep it for the page."""
        self._lines.append(text)
        print(text, flush=True)

    def head(self, columns: Sequence[str]) -> None:
        """Begin a table."""
        self.say()
        self.row(*columns)
        self.row(*["---"] * len(columns))

    def row(self, *cells: Any) -> None:
        """Print a row of a table; integers get commas."""
        texts = [f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in cells]
        escaped = [text.replace("|", "\\|").replace("\n", " ") for text in texts]
        self.say(f"| {' | '.join(escaped)} |")

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Print a whole table."""
        self.head(columns)
        for cells in rows:
            self.row(*cells)

    def fault(self, text: str) -> None:
        """Note something that is wrong."""
        self.wrong.append(text)
        self.say(f"**Wrong:** {text}")

    def end(self, path: Path | None = None) -> int:
        """Print the verdict, write the page, and return the exit code."""
        seconds = time.monotonic() - self._started
        self.say(f"\n{len(self.wrong)} faults, {seconds:,.0f} s.")
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join(self._lines) + "\n", encoding="utf-8")
            if self.data:
                data = json.dumps(self.data, indent=1)
                path.with_suffix(".json").write_text(data + "\n", encoding="utf-8")
        return int(bool(self.wrong))


def options(name: str, about: str) -> argparse.ArgumentParser:
    """Return a parser with the options that every proof has."""
    parser = argparse.ArgumentParser(prog=f"python -m {name}", description=about)
    parser.add_argument("--quick", action="store_true", help="a short form")
    parser.add_argument("--report", type=Path, metavar="FILE", help="page to write")
    return parser


Part = Callable[[Report, bool], None]
"""A part of a proof: takes the report and whether the short form is wanted."""


def run_parts(name: str, about: str, parts: Mapping[str, Part], quick: Sequence[str]) -> int:
    """Run the parts of a program one after the other.

    A part that raises an exception is a fault, and the next part runs.

    Parameters
    ----------
    name, about : str
    parts : mapping
        Parts by name.
    quick : sequence of str
        Names of the parts of the short form.

    Returns
    -------
    int
        Exit code.
    """
    parser = options(name, about)
    parser.add_argument("--only", action="append", choices=list(parts), help="may be repeated")
    given = parser.parse_args()
    report = Report(name)
    for chosen in given.only or (quick if given.quick else parts):
        report.say(f"\n## {chosen}\n")
        try:
            parts[chosen](report, given.quick)
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            report.fault(f"{chosen}: {type(error).__name__}: {error}")
    return report.end(given.report)
