"""The one way to a terminal: everything that the command line prints goes through here.

Names and messages come from files and servers and may hold anything: escapes that clear the screen, line breaks that forge a
line of ours, marks that turn the direction of writing, remarks of any length. So

* `say` prints lines of ours; whatever in them is not plainly visible is escaped, wherever they go,
* `tell` prints what somebody else says, behind a word of ours, in one line of bounded length,
* `hand_over` gives results to programs, exactly as they are, unless a terminal is what gets them,
* `guarded` stands before standard error, and before standard output where that is a terminal, so that nothing which any library
  writes there gets past it.

Colours are ours and pass where there are colours; of all other control characters only what changes the line of progress does.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from rmqalloc.results.terminal import has_colour
from rmqalloc.text import harmless, message

__all__ = ["CLEARED_LINE", "guarded", "hand_over", "say", "tell"]

_COLOUR = re.compile("(\x1b\\[(?:[012]|3[1-7])m)")
CLEARED_LINE = "\r\x1b[K"
"""What takes a changing line away."""


def say(text: str = "", err: bool = False, end: str = "\n") -> None:
    """Print lines of ours."""
    file = sys.stderr if err else sys.stdout
    _write(file, _safe(text + end, file))
    file.flush()


def tell(what: str, said: str) -> None:
    """Print to standard error what somebody else says, behind what it is."""
    say(f"{what}: {message(said)}", err=True)


def hand_over(text: str, end: str = "\n") -> None:
    """Print a result for programs as it is; on a terminal, which `guarded` stands before, it is harmless all the same."""
    _write(sys.stdout, text + end)
    sys.stdout.flush()


@contextmanager
def guarded() -> Iterator[None]:
    """Stand before standard error, and before standard output where that is a terminal, while the block runs."""
    out, err = sys.stdout, sys.stderr
    sys.stderr = Guard(err)
    if out.isatty():
        sys.stdout = Guard(out)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = out, err


class Guard(io.TextIOBase):
    """A text stream that lets through nothing but visible text, line breaks, and our own colours and progress.

    Examples
    --------
    >>> _ = Guard(sys.stdout).write("a\\x1b]0;title\\x07\\u202e\\n")
    a\\x1b]0;title\\x07\\u202e
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write what is harmless of it."""
        _write(self._stream, _safe(text, self._stream))
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
        """Whether the stream is a terminal."""
        return self._stream.isatty()

    def fileno(self) -> int:
        """The stream's."""
        return self._stream.fileno()

    def writable(self) -> bool:
        """It is for writing only."""
        return True

    def flush(self) -> None:
        """Flush the stream, which stays open whatever becomes of this."""
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
    """Text as it may go to a stream."""
    if text.isprintable() or (text == CLEARED_LINE and file.isatty()):
        return text
    before = "\r" if text.startswith("\r") and file.isatty() else ""  # a changing line begins anew
    text = text[len(before) :]
    if "\x1b" not in text or not has_colour(file):
        return before + harmless(text)
    return before + "".join(part if _COLOUR.fullmatch(part) else harmless(part) for part in _COLOUR.split(text))


def _write(file: TextIO, text: str) -> None:
    """Write text; what the encoding of the stream lacks is written as an escape."""
    encoding = getattr(file, "encoding", None) or "utf-8"
    file.write(text.encode(encoding, "backslashreplace").decode(encoding))
