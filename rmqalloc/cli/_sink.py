"""The one way to a terminal: everything that the command line prints goes through here.

Names and messages come from files and servers and may hold anything: escapes that clear the screen,
line breaks that forge a line, marks that turn the direction of writing, remarks of any length. So

* `say` prints our lines; whatever in them is not plainly visible is escaped, wherever they go,
* `draw` prints the lines of a result, which it draws for standard output,
* `tell` prints what somebody else says, behind a word of its kind, in one line of bounded length,
  which wraps on a terminal,
* `hand_over` gives results to programs, exactly as they are, unless a terminal is what gets them,
* `guarded` stands before standard error, and before standard output where that is a terminal, so
  that nothing which any library writes there gets past it.

Colours are ours and pass where there are colours; of all other control characters only what changes
the line of progress does.
"""

from __future__ import annotations

import io
import re
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from math import inf
from typing import Any, TextIO

from rmqalloc.errors import Error
from rmqalloc.results.renderer import encodable, has_colour
from rmqalloc.results.wrapping import wrapped
from rmqalloc.text import harmless, message

__all__ = [
    "ChangingLine",
    "ClosedPipeError",
    "draw",
    "guarded",
    "hand_over",
    "pipe_watched",
    "say",
    "say_lines",
    "tell",
]

_COLOUR = re.compile("(\x1b\\[(?:[012]|3[1-7])m)")
_CLEARED_LINE = "\r\x1b[K"
_LINE_EVERY = 5.0
_SAID = deque[str](maxlen=10_000)
"""The last lines that were printed for people in this run."""


class ClosedPipeError(Error):
    """Whoever read standard output (head, say) has gone."""


@contextmanager
def pipe_watched() -> Iterator[None]:
    """Turn a pipe that breaks into ClosedPipeError; of a BrokenPipeError click makes an exit with
    1, as of any failure.
    """
    try:
        yield
    except BrokenPipeError as error:
        raise ClosedPipeError("the reader of the output closed the pipe") from error


def say(text: str = "", err: bool = False, end: str = "\n") -> None:
    """Print our lines."""
    file = sys.stderr if err else sys.stdout
    _put(text, file, end)
    file.flush()


def _put(text: str, file: TextIO, end: str = "\n") -> None:
    _SAID.append(text)
    file.write(encodable(_safe(text + end, file), file))


def remember(texts: Iterable[str]) -> None:
    """Record texts that a result printed itself."""
    _SAID.extend(texts)


def printed_words() -> str:
    """Return what was printed for people in this run, with one space between words."""
    return " ".join(harmless(" ".join(_SAID)).split())


def say_lines(lines: Iterable[str]) -> None:
    """Print our lines, on a terminal each as soon as it is there."""
    from rmqalloc.documents.memory import no_collection

    with no_collection():
        try:
            for line in lines:
                _put(line, sys.stdout)
        finally:
            sys.stdout.flush()


def draw(lines: Callable[..., Iterable[str]], *given: Any) -> None:
    """Print the lines of a result as they are drawn for standard output."""
    say_lines(lines(sys.stdout, *given))


def tell(what: str, said: str) -> None:
    """Print a message to standard error behind its kind, such as ``note``: on one line, which wraps
    only on a terminal.
    """
    text = f"{what}: {message(said)}"
    for line in wrapped(text, sys.stderr) if sys.stderr.isatty() else [text]:
        say(line, err=True)


def print_notes(notes: Iterable[str], what: str = "note") -> None:
    """Print notes for people to standard error, a line each."""
    for note in notes:
        tell(what, note)


def hand_over(text: str, end: str = "\n") -> None:
    """Print a result for programs as it is; `guarded` makes it harmless on a terminal."""
    sys.stdout.write(encodable(text + end, sys.stdout))
    sys.stdout.flush()


class ChangingLine:
    """How far something is, on standard error: one changing line on a terminal, else a line every
    few seconds.

    Parameters
    ----------
    every : float
        Least seconds between two changes on a terminal.
    is_quiet : bool
        Whether nothing is shown.
    """

    def __init__(self, every: float = 0.0, is_quiet: bool = False) -> None:
        self.on_terminal = sys.stderr.isatty() and not is_quiet
        self._every = inf if is_quiet else every if self.on_terminal else _LINE_EVERY
        self._started = self._last = time.monotonic()

    @property
    def seconds(self) -> float:
        """Return the seconds since it began."""
        return time.monotonic() - self._started

    def put(self, done: str, is_last: bool = False) -> None:
        """Show what is done and the seconds it took, unless a line was shown a moment ago; the last
        line stays.
        """
        now = time.monotonic()
        if now - self._last >= self._every:
            self._last = now
            line = f"{done}  {now - self._started:.0f} s"
            changes = self.on_terminal and not is_last
            say(f"\r{line}" if self.on_terminal else line, err=True, end="" if changes else "\n")

    def clear(self) -> None:
        """Take the changing line away, for others to be printed."""
        if self.on_terminal:
            say(_CLEARED_LINE, err=True, end="")


@contextmanager
def guarded() -> Iterator[None]:
    """Stand before standard error, and before standard output where that is a terminal, while the
    block runs.
    """
    out, err = sys.stdout, sys.stderr
    _SAID.clear()
    sys.stderr = Guard(err)
    if out.isatty():
        sys.stdout = Guard(out)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = out, err


class Guard(io.TextIOBase):
    """A text stream that lets through nothing but visible text, line breaks, and our own colours
    and progress.

    Examples
    --------
    >>> _ = Guard(sys.stdout).write("a\\x1b]0;title\\x07\\u202e\\n")
    a\\x1b]0;title\\x07\\u202e
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write what is harmless of it."""
        self._stream.write(encodable(_safe(text, self._stream), self._stream))
        return len(text)

    @property
    def buffer(self) -> Any:
        """What takes UTF-8 and is guarded too."""
        return _GuardedBytes(self)

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """As the stream's."""
        return getattr(self._stream, "encoding", None) or "utf-8"

    @property
    def errors(self) -> str:  # type: ignore[override]
        """What cannot be encoded is escaped."""
        return "backslashreplace"

    def isatty(self) -> bool:
        """Return whether the stream is a terminal."""
        return self._stream.isatty()

    def fileno(self) -> int:
        """Return the stream's."""
        return self._stream.fileno()

    def writable(self) -> bool:
        """It is for writing only."""
        return True

    def flush(self) -> None:
        """Flush the stream, which stays open whatever becomes of this; one that was closed before
        has nothing to flush.
        """
        if not self._stream.closed:
            self._stream.flush()


class _GuardedBytes(io.RawIOBase):
    """The binary side of a `Guard`, for what writes encoded text."""

    def __init__(self, text: Guard) -> None:
        self._text = text

    def write(self, data: Any) -> int:
        self._text.write(bytes(data).decode("utf-8", "backslashreplace"))
        return len(data)

    def writable(self) -> bool:
        return True

    def flush(self) -> None:
        self._text.flush()


def _safe(text: str, file: TextIO) -> str:
    """Return text as it may go to a stream."""
    if text.isprintable() or (text == _CLEARED_LINE and file.isatty()):
        return text
    before = "\r" if text.startswith("\r") and file.isatty() else ""  # a changing line starts over
    text = text[len(before) :]
    if "\x1b" not in text or not has_colour(file):
        return before + harmless(text)
    return before + "".join(
        part if _COLOUR.fullmatch(part) else harmless(part) for part in _COLOUR.split(text)
    )
