"""What is read: bytes with a name, no more than a machine can bear."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from rmqalloc.documents.errors import DocumentError

STDIN = "-"
MAX_BYTES = 256 << 20
"""Bytes of one file at most; 100,000 clients with the queues they own and their lags take about 50 MB as JSON."""

_BOMS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


@dataclass(frozen=True, slots=True)
class Source:
    """The content of one file.

    Attributes
    ----------
    path : str
        As it was given; ``-`` is standard input.
    data : bytes
    error_class : type of DocumentError
        What an error in it is.
    """

    path: str
    data: bytes
    error_class: type[DocumentError] = DocumentError

    @property
    def name(self) -> str:
        """What to call it in messages."""
        return "standard input" if self.path == STDIN else self.path

    def text(self) -> str:
        """The content as text, without the mark that some programs put before UTF-8.

        Raises
        ------
        DocumentError
            If it is not UTF-8; the message names the byte.
        """
        if kind := _BOMS.get(self.data[:2]):
            raise self.error_class(f"{self.name} is {kind} text; save it as UTF-8")
        try:
            return self.data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = self.data.count(b"\n", 0, error.start) + 1
            raise self.error(
                f"byte {error.start} (0x{self.data[error.start]:02x}) is not UTF-8; save the file as UTF-8", line
            ) from None

    def error(self, what: str, line: int | None = None, column: int | None = None) -> DocumentError:
        """An error that names the file, and the place in it as far as it is known."""
        place = ":".join(str(part) for part in (self.name, line, column, "") if part is not None)
        return self.error_class(what, (), place)


def read_source(path: str | os.PathLike[str], error: type[DocumentError] = DocumentError) -> Source:
    """Read a file, or standard input for the text ``-``.

    Parameters
    ----------
    path : path
    error : type of DocumentError
        What an error in it is.

    Raises
    ------
    OSError
        If it cannot be read.
    DocumentError
        As ``error``, if it has more than `MAX_BYTES`.
    """
    if path == STDIN:
        data = sys.stdin.buffer.read(MAX_BYTES + 1)
    else:
        with Path(path).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    source = Source(os.fspath(path), data, error)
    if len(data) > MAX_BYTES:
        raise error(f"{source.name} has more than {MAX_BYTES >> 20} MiB; give fewer groups at once")
    return source
