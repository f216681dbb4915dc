"""Text for people: tables and progress."""

import sys
import time
from collections.abc import Sequence

from rmqalloc.cli._sink import say
from rmqalloc.results.terminal import text_table
from rmqalloc.text import printable as printable

_LINE_EVERY = 5.0


def printable_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of texts; every cell is made printable."""
    return "\n".join(text_table(header, rows))


class ProgressLine:
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
