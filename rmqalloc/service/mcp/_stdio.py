"""The lines of the protocol on standard input and output: each line that is not a valid message is
answered here, and every answer is ASCII.

The SDK drops what it cannot read without an answer, and writes names of a cluster as they are. The
rules are those of JSON-RPC 2.0: an error bears the ``id`` of the request if the request has one,
else null; notifications, answers and blank lines get no answer.
"""

from __future__ import annotations

import json
import os
import re
import threading
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anyio import AsyncFile

MOST_LINE = 1 << 20
"""Most bytes of a line that is read; the arguments of a call have at most 64 KiB."""

_NOT_ASCII = re.compile(r"[^\n -~]")


class CheckedLines:
    """The lines of an input that hold a valid message; the others are answered.

    Parameters
    ----------
    lines : binary file
    answers : AsciiLines
    """

    def __init__(self, lines: IO[bytes], answers: AsciiLines) -> None:
        self._lines, self._answers = lines, answers

    def readline(self) -> str:
        """Return the next valid message, an empty text at the end of the input."""
        while line := self._lines.readline(MOST_LINE + 1):
            if len(line) > MOST_LINE and not line.endswith(b"\n"):
                self._skip_line()
            answer = refusal(line)
            if answer is not None:
                self._answers.write(json.dumps(answer) + "\n")
            elif not line.isspace():
                return line.decode()
        return ""

    def _skip_line(self) -> None:
        """Read the rest of a line, a piece at a time."""
        while piece := self._lines.readline(MOST_LINE):
            if piece.endswith(b"\n"):
                break


class AsciiLines:
    """An output of which every line is ASCII, whole lines at a time.

    Parameters
    ----------
    lines : binary file
    """

    def __init__(self, lines: IO[bytes]) -> None:
        self._lines, self._turn = lines, threading.Lock()

    def write(self, text: str) -> None:
        """Write JSON, with escapes for what is not printable ASCII."""
        with self._turn:
            self._lines.write(_NOT_ASCII.sub(_escape, text).encode("ascii"))
            self._lines.flush()

    def flush(self) -> None:
        """Do nothing: what is written is flushed."""


def checked_stdio() -> tuple[AsyncFile[str], AsyncFile[str]]:
    """Return standard input and output for the protocol alone; whatever else the process prints
    goes to standard error, and whatever else it reads is empty.
    """
    from anyio import wrap_file

    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    answers = AsciiLines(outgoing)
    lines: Any = CheckedLines(incoming, answers)
    written: Any = answers
    return wrap_file(lines), wrap_file(written)


def refusal(line: bytes) -> dict[str, Any] | None:
    """Return the error that answers a line, None for a valid message and a blank line.

    Examples
    --------
    >>> refusal(b'{"jsonrpc": "2.0", "id": 7, "method": "ping"}')
    >>> refusal(b'{"jsonrpc": "2.0", "id": 7, "method": 5}')["error"]["code"]
    -32600
    """
    if line.isspace():
        return None
    if len(line) > MOST_LINE:
        return _error(-32600, None, f"a line may have at most {MOST_LINE:,} bytes")
    try:
        content = json.loads(line.decode())
    except (ValueError, RecursionError):
        return _error(-32700, None, "the line is not JSON in UTF-8")
    fields = content if isinstance(content, dict) else {}
    number = fields.get("id")
    if not isinstance(number, int | str) or isinstance(number, bool):
        number = None
    if _is_message(line, fields):
        return None
    is_named = fields.get("jsonrpc") == "2.0" and isinstance(fields.get("method"), str)
    has_list = is_named and isinstance(fields.get("params"), list)
    if has_list and "id" not in fields:
        return None  # a notification is not answered
    if has_list and number is not None:
        return _error(-32602, number, "params must be an object")
    return _error(-32600, number, "the line is not a JSON-RPC 2.0 message of this protocol")


def _is_message(line: bytes, fields: dict[str, Any]) -> bool:
    """Return whether the SDK reads a line; a request whose id is neither an integer nor a text would
    be a notification to it.
    """
    from mcp.types import JSONRPCNotification, jsonrpc_message_adapter

    try:
        found = jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:  # pydantic's error is one
        return False
    return not (isinstance(found, JSONRPCNotification) and "id" in fields)


def _error(code: int, number: int | str | None, text: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": text}}


def _escape(found: re.Match[str]) -> str:
    """Return a character as JSON escapes it, in one or two units of UTF-16."""
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
