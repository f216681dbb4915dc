"""What is read: bytes with a name, no more than a machine can bear."""

from __future__ import annotations

import os
import sys
import zlib
from pathlib import Path

from rmqalloc.dataclass import dataclass
from rmqalloc.documents import read_budget
from rmqalloc.documents.document_errors import DocumentError

STDIN = "-"
_GZIP = zlib.MAX_WBITS | 16
"""For zlib: the header and the sum of gzip."""

_BOMS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


@dataclass(frozen=True)
class Source:
    """The content of one file.

    Attributes
    ----------
    path : str
        As it was given; ``-`` is standard input.
    data : bytes
    error_class : type of DocumentError
        Class of errors in this content.
    """

    path: str
    data: bytes
    error_class: type[DocumentError] = DocumentError

    @property
    def name(self) -> str:
        """What to call it in messages."""
        return "standard input" if self.path == STDIN else self.path

    @property
    def n_lines(self) -> int:
        """Lines of the content, at least one."""
        return max(1, self.data.count(b"\n") + (not self.data.endswith(b"\n")))

    def text(self) -> str:
        """Return the content as text, without the mark that some programs put before UTF-8.

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
                f"byte {error.start} (0x{self.data[error.start]:02x}) is not UTF-8; save the file as UTF-8",
                line,
            ) from None

    def error(self, what: str, line: int | None = None, column: int | None = None) -> DocumentError:
        """Return an error that names the file, and the place in it as far as it is known."""
        place = ":".join(str(part) for part in (self.name, line, column, "") if part is not None)
        return self.error_class(what, (), place)


def read_source(
    path: str | os.PathLike[str], error: type[DocumentError] = DocumentError, packed: bool = False
) -> Source:
    """Read a file, or standard input for the text ``-``.

    Parameters
    ----------
    path : path
    error : type of DocumentError
        Class of errors in this content.
    packed : bool
        It is packed by gzip; no more of it is unpacked at any time than is read of a plain file.

    Raises
    ------
    OSError
        If it cannot be read.
    DocumentError
        As ``error``, if it has more than `MAX_BYTES`, packed or unpacked, or is not packed.
    """
    most = read_budget.MAX_BYTES
    if path == STDIN:
        data = sys.stdin.buffer.read(most + 1)
    else:
        with Path(path).open("rb") as file:
            data = file.read(most + 1)
    source = Source(os.fspath(path), data, error)
    if packed and len(data) <= most:
        source = Source(source.path, _unpacked(source, most), error)
    if len(source.data) > most:
        raise error(f"{source.name} has more than {most >> 20} MiB; give fewer groups")
    return source


def _unpacked(source: Source, most: int) -> bytes:
    """Return what gzip packed, one part after the other, or one byte more than ``most``."""
    rest, pieces, left = source.data, [], most + 1
    try:
        while rest and left:
            part = zlib.decompressobj(wbits=_GZIP)
            pieces.append(part.decompress(rest, left))
            left -= len(pieces[-1])
            if not part.eof and left:
                raise source.error_class(
                    f"{source.name} is truncated: it ends inside of its gzip data"
                )
            rest = part.unused_data.lstrip(b"\0")  # zeros may fill the last block of a tape
    except zlib.error as error:
        raise source.error_class(
            f"{source.name} is not gzip data, or is damaged: {error}"
        ) from None
    return b"".join(pieces)
