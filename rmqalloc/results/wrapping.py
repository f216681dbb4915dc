"""How wide a line is, and how text wraps to it: sentences between words, figures between figures."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import IO, Any

GAP = "  "
PIPED_WIDTH = 100
"""Places of a line that goes to no terminal."""
LEAST_WIDTH = 10
"""Neither columns of names nor text behind its indent have less, however narrow the terminal is."""


def width_of(text: str) -> int:
    """Return the places that a text takes in a terminal: two for a Chinese character, none for a
    combining mark.

    Examples
    --------
    >>> width_of("订单 e\\u0301")
    6
    """
    return len(text) if text.isascii() else _width_of(text)


@lru_cache(4096)  # of the cells of a table many are alike
def _width_of(text: str) -> int:
    return sum(
        0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )


def line_width(file: IO[Any] | None) -> int:
    """Return the places of a line: of the terminal, 100 elsewhere; the variable COLUMNS comes
    before both.
    """
    try:
        columns = int(os.environ.get("COLUMNS", ""))
    except ValueError:
        columns = 0
    if columns > 0:
        return columns
    try:
        return (
            PIPED_WIDTH
            if file is None
            else os.get_terminal_size(file.fileno()).columns or PIPED_WIDTH
        )
    except (OSError, ValueError, AttributeError):  # no terminal, or no file of the system
        return PIPED_WIDTH


def wrapped(text: str, file: IO[Any] | None, hang: str = "  ") -> list[str]:
    """Return the lines of a text, broken between words; those after the first begin with `hang`.

    A word that is longer than a line is broken on a terminal, which would do so anyway, and else
    stays whole.

    Examples
    --------
    >>> print(*wrapped("    - " + "queue " * 20, None, "      "), sep="\\n")
        - queue queue queue queue queue queue queue queue queue queue queue queue queue queue queue
          queue queue queue queue queue
    """
    return _fitted(re.findall(" *[^ ]+", text), file, hang)


def fields(parts: Iterable[str], file: IO[Any] | None, hang: str = "  ") -> list[str]:
    """Return the lines of some figures two blanks apart, broken between figures, and within one
    that is longer than a line.

    Examples
    --------
    >>> print(*fields(["moved 6 of 24 queues"] * 5, None), sep="\\n")
    moved 6 of 24 queues  moved 6 of 24 queues  moved 6 of 24 queues  moved 6 of 24 queues
      moved 6 of 24 queues
    """
    parts, width = list(parts), line_width(file)
    if any(width_of(part) > width - len(hang) for part in parts):
        return wrapped(GAP.join(parts), file, hang)
    return _fitted([part if i == 0 else GAP + part for i, part in enumerate(parts)], file, hang)


def _fitted(tokens: Iterable[str], file: IO[Any] | None, hang: str) -> list[str]:
    """Return lines of tokens; on a terminal tokens that are longer than a line are broken, as it
    would do anyway.
    """
    width = line_width(file)
    hang = hang[: max(width - LEAST_WIDTH, 0)]
    lines = _filled(tokens, width, hang)
    if file is None or not file.isatty():
        return lines
    return [part for line in lines for part in _broken(line, width, hang)]


def _filled(tokens: Iterable[str], width: int, hang: str) -> list[str]:
    """Return lines of tokens, each with the blanks before it, which go where a line breaks."""
    lines, n_places = [""], 0
    for token in tokens:
        n_places += width_of(token)
        if n_places > width and lines[-1].strip():
            lines.append(hang + token.lstrip())
            n_places = width_of(lines[-1])
        else:
            lines[-1] += token
    return lines


def _broken(line: str, width: int, hang: str) -> Iterator[str]:
    """Yield the parts of a line whose words are longer than a line of the terminal."""
    while width_of(line) > width:
        end = max(
            len(hang) + 1,
            next(i for i in range(len(line), 0, -1) if i == 1 or width_of(line[:i]) <= width),
        )
        yield line[:end]
        line = hang + line[end:]
        if width_of(line) - len(hang) < 1:
            return
    yield line
