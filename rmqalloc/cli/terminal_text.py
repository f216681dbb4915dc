"""Text for people: tables, progress, and marks."""

import shutil
import sys
import time
from collections.abc import Sequence

import click

from rmqalloc.cli.sink import say
from rmqalloc.report.terminal import LEAST_WIDTH, has_colour, width_of
from rmqalloc.text import printable as printable
from rmqalloc.text import shortened

_LINE_EVERY = 5.0
_MARK_WIDTH = 2
_COLOURS = {"+": "green", "-": "red", "~": "yellow", "!": "red"}


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns set flush left, two blanks apart; every cell is made printable."""
    cells = [header, *[[printable(cell) for cell in row] for row in rows]]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in cells)


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table whose first column is flush left and whose others are flush right; names are made printable.

    Examples
    --------
    >>> print(*aligned(("client", "before"), [("10.0.0.1@7", "12"), ("订单", "8")]), sep="\\n")
    client      before
    10.0.0.1@7      12
    订单             8
    """
    cells = [header, *[[printable(cell) for cell in row] for row in rows]]
    widths = [max(map(width_of, column)) for column in zip(*cells, strict=True)]
    if sys.stdout.isatty():  # elsewhere names stay whole
        room = shutil.get_terminal_size().columns - _MARK_WIDTH - sum(width + 2 for width in widths[1:])
        widths[0] = min(widths[0], max(room, LEAST_WIDTH))
    lines = []
    for name, *others in cells:
        first = fitting(name, widths[0])
        numbers = (" " * (width - width_of(cell)) + cell for cell, width in zip(others, widths[1:], strict=True))
        lines.append("  ".join([first + " " * (widths[0] - width_of(first)), *numbers]).rstrip())
    return lines


def fitting(name: str, width: int) -> str:
    """A name in so many places of a terminal, both of its ends kept."""
    most = width
    while width_of(shown := shortened(name, most)) > width:
        most -= 1
    return shown


def marked(mark: str, line: str) -> str:
    """A line behind its mark, in a colour of its own on a terminal that has colours."""
    text = f"{mark} {line}"
    return click.style(text, fg=_COLOURS[mark]) if mark in _COLOURS and has_colour(sys.stdout) else text


class Progress:
    """Pieces done of all, on standard error: one changing line on a terminal, else a line every few seconds."""

    def __init__(self) -> None:
        self._on_terminal = sys.stderr.isatty()
        self._started = self._last = time.monotonic()

    def __call__(self, done: int, in_all: int) -> None:
        """Show that ``done`` pieces of ``in_all`` are done."""
        now = time.monotonic()
        if not self._on_terminal and now - self._last < _LINE_EVERY:
            return
        self._last = now
        line = f"{100 * done // in_all:3d} %  {done} of {in_all} pieces  {now - self._started:.0f} s"
        last_of_all = done == in_all
        say(
            f"\r{line}" if self._on_terminal else line,
            err=True,
            end="\n" if last_of_all or not self._on_terminal else "",
        )
