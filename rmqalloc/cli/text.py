"""Text for people: names made harmless for a terminal, tables, and progress."""

import sys
import time
from collections.abc import Sequence

import click

_LINE_EVERY = 5.0


def printable(name: str) -> str:
    """A name as it may stand in a terminal; names come from the network and may hold anything.

    Whatever is not plainly visible (control and escape characters, line breaks, marks that turn the direction of
    writing, lone surrogates) is written as its Python escape, and a backslash is doubled, so no escape is ambiguous.

    Examples
    --------
    >>> print(printable("10.0.0.1@1\\x1b[2J"))
    10.0.0.1@1\\x1b[2J
    """
    name = name.replace("\\", "\\\\")
    return name if name.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in name)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns set flush left, two blanks apart; every cell is made printable."""
    cells = [header, *[[printable(cell) for cell in row] for row in rows]]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in cells)


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
        click.echo(f"\r{line}" if self._on_terminal else line, nl=last_of_all or not self._on_terminal, err=True)
