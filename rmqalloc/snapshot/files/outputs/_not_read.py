"""What a text or a file is that no reader reads, and what to give instead.

Every file and every stretch of lines that is not read is named in one sentence. The table of kinds
is `_kinds_not_read`; nothing of a text is repeated that may hold a secret.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import islice
from pathlib import PurePath
from typing import NamedTuple

from rmqalloc.snapshot.files.outputs._binary_kinds import (
    BINARY,
    LONGEST_CHARACTER,
    encoding_of,
    has_marks,
    text_of,
)
from rmqalloc.snapshot.files.outputs._client_log import has_results
from rmqalloc.snapshot.files.outputs._formats import FORMATS
from rmqalloc.snapshot.files.outputs._kinds_not_read import GENERIC, KINDS, NOISE, NOTHING, Kind
from rmqalloc.text import quoted, shortened

_HEAD = 1 << 16
_MOST_LINES = 400
"""Characters and lines at the beginning of a text that decide on its kind."""

_SHOWN = 60
"""Most characters that are shown of a line of no known kind."""


class NotRead(NamedTuple):
    """A kind of text or file that is not read."""

    what: str
    shows: str  # what it could show; empty if nothing about groups
    instead: str  # which command gives what is needed


def recognised(text: str, path: str = "") -> NotRead | None:
    """Return what a text is that is not read.

    Parameters
    ----------
    text : str
        A whole file, or a few lines of one.
    path : str
        The file it is from; its name decides where the content does not.

    Returns
    -------
    NotRead or None
        None if it has an output that is read, or is of no known kind.

    Examples
    --------
    >>> recognised("bootTimestamp                   : 1690000000000").what
    'the output of mqadmin brokerStatus'
    >>> recognised("#ClientId                  #ClientAddr            #Language  #Version")
    """
    head = _head(text)
    if _is_read(head):
        return None
    found = next((kind for kind in KINDS if _fits(kind, head)), None) or _of_name(path)
    if found is None:
        found = None if head.lines else NOTHING
    return NotRead(found.what, found.shows, found.instead) if found else None


def is_foreign(text: str, path: str = "") -> bool:
    """Return whether a text is of a kind that no parser of snapshots need look at.

    Examples
    --------
    >>> is_foreign('{"offsetTable":{"orders@order-svc":{0:120}}}'), is_foreign('{"a": 1}')
    (True, False)
    """
    found = recognised(text, path)
    return found is not None and found.what not in {kind.what for kind in GENERIC}


def is_binary(data: bytes) -> bool:
    """Return whether a file is of a kind that is no text.

    Examples
    --------
    >>> is_binary(b"PK\\x03\\x04"), is_binary(b"#Topic")
    (True, False)
    """
    return any(has_marks(kind, data[:_HEAD]) for kind in BINARY)


def recognised_bytes(data: bytes, path: str = "") -> NotRead | None:
    """Return what a file is that is not read, also if it is no text.

    Parameters
    ----------
    data : bytes
        Its content, or as much of its beginning as is at hand; 4 KiB are enough for most kinds.
    path : str
        As for `recognised`.

    Examples
    --------
    >>> recognised_bytes(b"PK\\x03\\x04...xl/workbook.xml").what
    'a workbook of a spreadsheet (xlsx)'
    """
    data = data[: _HEAD * LONGEST_CHARACTER]
    found = next((kind for kind in BINARY if has_marks(kind, data)), None)
    if found is not None:
        return NotRead(found.what, "", found.instead)
    if (text := text_of(data)) is not None:
        return recognised(text, path)
    encoding = encoding_of(data)
    if encoding is not None:
        instead = f"save it as UTF-8 (iconv -f {encoding} -t UTF-8 FILE > NEW)"
        return NotRead(f"text in {encoding}", "", instead)
    kind = _of_name(path)
    return NotRead(kind.what, kind.shows, kind.instead) if kind else None


def not_read(text: str, path: str = "") -> str:
    """Return what a text is that is not read, and what to give instead, as one sentence.

    Examples
    --------
    >>> not_read("clone group offset success. srcGroup[a], destGroup=[b], topic[t]")[:58]
    'this is the output of mqadmin cloneGroupOffset, which is n'
    >>> print(not_read("lorem ipsum"))
    this is of no kind that is known; it begins with 'lorem ipsum'
    """
    found = recognised(text, path)
    return _sentence(found) if found else _unknown(text)


def not_read_bytes(data: bytes, path: str = "") -> str:
    """Return the sentence of `not_read` for a file that may be no text.

    Examples
    --------
    >>> print(not_read_bytes(bytes([127, 1, 2, 128])))
    this is of no kind that is known, and no text; it begins with the bytes 7f 01 02 80
    """
    if found := recognised_bytes(data, path):
        return _sentence(found)
    if (text := text_of(data[: _HEAD * LONGEST_CHARACTER])) is not None:
        return _unknown(text)
    shown = data[:8].hex(" ")
    return f"this is of no kind that is known, and no text; it begins with the bytes {shown}"


def is_noise(line: str) -> bool:
    """Return whether a line is one of those that Java, its logging or the shell prints around the
    output of mqadmin: they say nothing about groups, and need no warning.

    Examples
    --------
    >>> is_noise("RocketMQLog:WARN No appenders could be found for logger (io.netty.Foo)."), is_noise("[root@mq1 ~]# ")
    (True, True)
    >>> is_noise("Unrecognized VM option 'UseConcMarkSweepGC'")
    False
    """
    line = line[:_LONGEST_LINE].strip()
    return not line or _NOISE.match(line) is not None


_LONGEST_LINE = 1000
_EMPTY_PROMPTS = (
    r"(?:\([\w.-]{1,80}\) ?)?(?:\[[^\]]{1,120}\]|[A-Za-z_][\w.-]{0,60}@[\w.-]{1,80}:\S{1,200}"
    r"|(?:\w{0,3}sh-\d[\d.]{0,8})|[/~][\w./~-]{0,200})? ?[$#%>]\Z|[A-Z]:\\[^\s>]{0,200}>\Z"
)
"""Prompts of shells that show a user, a host or a path; not what ends like one, as client ids may."""

_NOISE = re.compile(rf"{NOISE}|{_EMPTY_PROMPTS}")


def _sentence(kind: NotRead) -> str:
    if not kind.shows:
        return f"this is {kind.what}; {kind.instead}"
    return f"this is {kind.what}, which is not read; it could show {kind.shows}; {kind.instead}"


_SECRET = re.compile(
    r"(?i)pass(?:word|wd)|secret|token|credential|access.?key|private.?key|\bak\b|\bsk\b"
)
_ADDRESS_WITH_USER = re.compile(r"\w://[^/\s@]{1,200}@")


def _unknown(text: str) -> str:
    """Return the sentence for a text of no known kind: with its first line that is not blank, where
    that cannot hold a secret.
    """
    head = _head(text)
    if _is_read(head):
        return "this is a part of an output that is read; give that output whole"
    start = head.lines[0] if head.lines else 0
    line = head.text[start : start + _LONGEST_LINE].partition("\n")[0].strip()
    if _SECRET.search(line) or _ADDRESS_WITH_USER.search(line):
        return (
            "this is of no kind that is known; its first line may hold a secret, and is not shown"
        )
    return f"this is of no kind that is known; it begins with {quoted(shortened(line, _SHOWN))}"


_COLOURS = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")


def _plain(text: str) -> str:
    """Return a text with plain line ends, without colours and without the mark before UTF-8."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return _COLOURS.sub("", text) if "\x1b" in text else text


_HEADS_READ = "|".join(dict.fromkeys(form.head for form in FORMATS if form.kind != "json"))
_JSON_READ = r'"(?:brokerDatas|queueDatas)"\s{0,9}:|\{\s{0,99}"result"\s{0,9}:\s{0,9}\{'


class _Head(NamedTuple):
    """The beginning of a text, and where its lines that are not blank begin in it."""

    text: str
    lines: tuple[int, ...]

    def has_line(self, pattern: str) -> bool:
        """Return whether a line begins like that."""
        match = _compiled(pattern).match
        return any(match(self.text, place) for place in self.lines)

    def has(self, pattern: str) -> bool:
        """Return whether that stands anywhere."""
        return _compiled(pattern).search(self.text) is not None


def _head(text: str) -> _Head:
    plain = _plain(text[:_HEAD])
    starts = islice(_LINE.finditer(plain), _MOST_LINES)
    return _Head(plain, tuple(found.start() for found in starts))


_LINE = re.compile(r"^[^\n]*\S", re.MULTILINE)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE)


def _is_read(head: _Head) -> bool:
    """Return whether a text has the head of an output that is read, or is a snapshot."""
    if has_results(head.text) or head.has_line(rf"[ \t]*(?:{_HEADS_READ})"):
        return True
    if head.has(_JSON_READ):
        return '"errMsg"' not in head.text  # that of RocketMQ Dashboard
    is_snapshot = head.has_line(r'[ \t{]*"?kind"?[ \t]*:[ \t]*"?Snapshot\b')
    return is_snapshot and not head.has(r'kind"?[ \t]*:[ \t]*"?Plan\b')


def _fits(kind: Kind, head: _Head) -> bool:
    has_line = bool(kind.line) and head.has_line(kind.line)
    has_mark = has_line or (bool(kind.mark) and head.has(kind.mark))
    has_any = has_mark or any(word in head.text for word in kind.words)
    return has_any and (not kind.also or head.has(kind.also))


def _of_name(path: str) -> Kind | None:
    name = PurePath(path).name[:255]
    named = (kind for kind in KINDS if kind.file_name)
    return next((kind for kind in named if _compiled(kind.file_name).fullmatch(name)), None)
