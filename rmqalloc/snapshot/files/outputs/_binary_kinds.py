"""Kinds of files that are no text in UTF-8: what they are, and what to give instead.

The beginning of a file decides. A history of rmqalloc and Parquet are read, but not among outputs.
"""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from typing import NamedTuple

from rmqalloc.snapshot.files.outputs._formats import LAG, OWNERS, ROUTE


class BinaryKind(NamedTuple):
    """A kind of file that is no text."""

    what: str
    instead: str
    marks: tuple[tuple[int, bytes], ...]  # place and bytes; one of them suffices
    within: bytes = b""  # what else must stand somewhere


_UNPACK = "unpack it, and give the files in it"
_TEXT = "give the outputs themselves as text (mqadmin ... > FILE)"
_ZIP = ((0, b"PK\x03\x04"), (0, b"PK\x05\x06"))
_OURS = b"rmqa"  # the application id of histories, at byte 68 of an SQLite file

BINARY = (
    BinaryKind("a workbook of a spreadsheet (xlsx)", "save its table as CSV or TSV", _ZIP, b"xl/"),
    BinaryKind("a document of Word (docx)", _TEXT, _ZIP, b"word/"),
    BinaryKind("a program of Java (jar)", _TEXT, _ZIP, b"META-INF/"),
    BinaryKind("a zip file", _UNPACK, _ZIP),
    BinaryKind("a file packed by gzip", "unpack it (gunzip FILE), and give what was in it", ((0, b"\x1f\x8b"),)),
    BinaryKind("a tar file", _UNPACK, ((257, b"ustar"),)),
    BinaryKind(
        "a packed file (bzip2, xz, zstd, lz4, 7z or rar)",
        _UNPACK,
        ((0, b"BZh"), (0, b"\xfd7zXZ"), (0, b"\x28\xb5\x2f\xfd"), (0, b"\x04\x22\x4d\x18"), (0, b"7z\xbc\xaf"), (0, b"Rar!")),
    ),
    BinaryKind("a PDF", _TEXT, ((0, b"%PDF-"),)),
    BinaryKind(
        "an image, such as a screenshot",
        _TEXT,
        ((0, b"\x89PNG"), (0, b"\xff\xd8\xff"), (0, b"GIF8"), (8, b"WEBP"), (4, b"ftyphei"), (4, b"ftypmif")),
    ),
    BinaryKind(
        "a history of rmqalloc serve",
        "rmqalloc history -f FILE and -f FILE --at TIME read it; with outputs it cannot be put together",
        ((68, _OURS),),
        b"SQLite format 3\0",
    ),
    BinaryKind("a database of SQLite", _TEXT, ((0, b"SQLite format 3\0"),)),
    BinaryKind(
        "a Parquet file that is damaged, or given together with other files",
        "give it alone; if that fails, write it again",
        ((0, b"PAR1"),),
    ),
    BinaryKind(
        "a recording of network packets (pcap)",
        _TEXT,
        ((0, b"\xd4\xc3\xb2\xa1"), (0, b"\xa1\xb2\xc3\xd4"), (0, b"\x0a\x0d\x0d\x0a"), (0, b"\x4d\x3c\xb2\xa1")),
    ),
    BinaryKind(
        "a dump of a JVM's heap (hprof) or its flight recording (jfr)",
        OWNERS,
        ((0, b"JAVA PROFILE "), (0, b"FLR\0")),
    ),
    BinaryKind("a program", _TEXT, ((0, b"\x7fELF"), (0, b"MZ\x90"), (0, b"\xca\xfe\xba\xbe"))),
    BinaryKind(
        "a commit log of a broker's store",
        f"{ROUTE}; {LAG}",
        ((4, b"\xda\xa3\x20\xa7"), (4, b"\xda\xa3\x20\xa3")),
    ),
    BinaryKind("an old document of Office (xls, doc)", "save its table as CSV or TSV", ((0, b"\xd0\xcf\x11\xe0"),)),
)  # fmt: skip


def has_marks(kind: BinaryKind, data: bytes) -> bool:
    """Return whether a file is of a kind."""
    is_marked = any(data.startswith(mark, place) for place, mark in kind.marks)
    return is_marked and kind.within in data


_BOMS = {
    b"\xff\xfe\0\0": "UTF-32",
    b"\0\0\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
LONGEST_CHARACTER = 4  # bytes, in UTF-8 and GB 18030
_CHINESE = re.compile("[\u3000-\u9fff\uff00-\uffef]")
_LEAST_CHINESE = 0.8  # of the characters that are not ASCII


def encoding_of(data: bytes) -> str | None:
    """Return the encoding of a text that is not UTF-8."""
    for mark, encoding in _BOMS.items():
        if data.startswith(mark):
            return encoding
    if data[1:512:2].strip(b"\0") == b"" and data[:512:2].isascii() and len(data) > 3:
        return "UTF-16LE"
    if data[:512:2].strip(b"\0") == b"" and data[1:512:2].isascii() and len(data) > 3:
        return "UTF-16BE"
    if b"\0" in data or not _is_visible(data):
        return None
    text = _decoded(data, "gb18030")
    return "GB18030" if text is not None and _is_chinese(text) else "ISO-8859-1"


def text_of(data: bytes) -> str | None:
    """Return a text in UTF-8; None if it is none."""
    return None if b"\0" in data else _decoded(data, "utf-8")


def _decoded(data: bytes, encoding: str) -> str | None:
    """Return bytes as text, the last character perhaps cut; None if they are not of an encoding."""
    try:
        return getincrementaldecoder(encoding)().decode(data)
    except UnicodeDecodeError:
        return None


def _is_chinese(text: str) -> bool:
    wide = [character for character in text if not character.isascii()]
    chinese = sum(_CHINESE.match(character) is not None for character in wide)
    return bool(wide) and chinese >= _LEAST_CHINESE * len(wide)


def _is_visible(data: bytes) -> bool:
    """Return whether nearly all bytes are such as texts have."""
    hidden = sum(byte < 32 and byte not in b"\t\n\r\f\x1b" for byte in data[:4096])
    return hidden * 100 <= len(data[:4096])
