"""Frames of RocketMQ's remoting protocol, sent with JSON headers and received with JSON or binary
headers.

Java's ``RemotingCommand``: `encode` returns the bytes of a request, an answer or a one-way request,
`decode` reads them.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rmqalloc.errors import Error

JSON, ROCKETMQ = 0, 1
RESPONSE, ONEWAY = 1, 2
LANGUAGE = "PYTHON"
VERSION = 479  # of 5.3.3, so that brokers answer in standard JSON where they can
MAX_FRAME = 64 << 20
"""Maximum bytes of a frame; a broker sends at most 16 MiB unless configured otherwise."""

MAX_HEADER = 1 << 20
"""Maximum bytes of a header: real headers have some hundred, and a remark may contain a Java stack trace."""

_MAX_HEADER_MARKS = 100_000
"""Maximum brackets, braces and commas of a JSON header; they bound the time of its parsing, which happens in one step."""

_INT = 1 << 31
_BINARY = struct.Struct(">hbhii")


class FrameError(Error, ValueError):
    """Bytes are not a frame of RocketMQ's remoting protocol.

    Attributes
    ----------
    opaque : int or None
        Number of the answered request, if it can be read.
    """

    def __init__(self, message: str, opaque: int | None = None) -> None:
        super().__init__(message)
        self.opaque = opaque


@dataclass(frozen=True, slots=True)
class Command:
    """One request or answer; Java's ``RemotingCommand``."""

    code: int  # request code, or response code in an answer (0: success)
    opaque: int = 0  # number that an answer repeats from its request
    ext_fields: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    remark: str | None = None
    flag: int = 0  # `RESPONSE`: an answer; `ONEWAY`: a request that is not answered

    @property
    def is_response(self) -> bool:
        """Whether this answers a request."""
        return bool(self.flag & RESPONSE)

    @property
    def is_oneway(self) -> bool:
        """Whether this is a request without an answer."""
        return bool(self.flag & ONEWAY)

    def answering(self, request: Command) -> Command:
        """Return this command as the answer to a request: with its number, and marked as an answer.

        Examples
        --------
        >>> answer = Command(0, body=b"{}").answering(Command(307, opaque=7))
        >>> answer.opaque, answer.is_response
        (7, True)
        """
        return replace(self, opaque=request.opaque, flag=RESPONSE)


def encode(command: Command) -> bytes:
    """Return the bytes of a command with a JSON header, its length in front.

    Examples
    --------
    >>> frame = encode(Command(105, opaque=7, ext_fields={"topic": "orders"}))
    >>> decode(frame[4:]).ext_fields
    {'topic': 'orders'}
    """
    header = {
        "code": command.code,
        "language": LANGUAGE,
        "version": VERSION,
        "opaque": command.opaque,
        "flag": command.flag,
        "extFields": dict(command.ext_fields),
        "serializeTypeCurrentRPC": "JSON",
    }
    if command.remark is not None:
        header["remark"] = command.remark
    text = json.dumps(header, separators=(",", ":")).encode()
    return (
        struct.pack(">ii", 4 + len(text) + len(command.body), JSON << 24 | len(text))
        + text
        + command.body
    )


def decode(frame: bytes) -> Command:
    """Return the command of a frame without its leading length."""
    if len(frame) < 4:
        raise FrameError(f"a frame must have at least 4 bytes, got {len(frame)}")
    mark = int.from_bytes(frame[:4])
    kind, length = mark >> 24, mark & 0xFFFFFF
    if length > len(frame) - 4:
        raise FrameError(
            f"a header of {length} bytes does not fit into a frame of {len(frame)} bytes"
        )
    if length > MAX_HEADER:
        raise FrameError(f"a header of {length} bytes was announced; the limit is {MAX_HEADER}")
    header, body = frame[4 : 4 + length], frame[4 + length :]
    if kind == JSON:
        return _from_json(header, body)
    if kind == ROCKETMQ:
        return _from_binary(header, body)
    raise FrameError(f"header serialisation {kind} is unknown; known are 0 (JSON) and 1 (ROCKETMQ)")


def _from_json(header: bytes, body: bytes) -> Command:
    if sum(map(header.count, b"[{,")) > _MAX_HEADER_MARKS:
        raise FrameError(
            f"a header of {len(header)} bytes has more than {_MAX_HEADER_MARKS} values"
        )
    try:
        content = json.loads(header)
    except (ValueError, RecursionError) as error:
        raise _no_command(header) from error
    if not isinstance(content, dict):
        raise _no_command(header)
    opaque, code, flag = (
        _int(content.get("opaque", 0)),
        _int(content.get("code")),
        _int(content.get("flag", 0)),
    )
    fields, remark = content.get("extFields") or {}, content.get("remark")
    if opaque is None or code is None or flag is None or not isinstance(fields, dict):
        raise _no_command(header, opaque)
    texts = {key: text for key, value in fields.items() if (text := _field(value)) is not None}
    said = None if remark is None else _field(remark)
    if len(texts) < len(fields) or (said is None and remark is not None):
        raise _no_command(header, opaque)
    return Command(code, opaque, texts, body, said, flag)


def _no_command(header: bytes, opaque: int | None = None) -> FrameError:
    return FrameError(f"a header is not the JSON of a command: {header[:80]!r}", opaque)


def _int(value: Any) -> int | None:
    """Return a whole number of Java's ``int``; None for others: true, 1e999 and "1" are none."""
    return value if type(value) is int and -_INT <= value < _INT else None


def _field(value: Any) -> str | None:
    """Return a field's text; some servers write numbers bare. None for a list or an object."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, (bool, int, float)):
        return "" if value is None else json.dumps(value)
    return None


def _from_binary(header: bytes, body: bytes) -> Command:
    opaque = None
    try:
        code, _language, _version, opaque, flag = _BINARY.unpack_from(header)
        remark, at = _text(header, _BINARY.size, ">i")
        (length,) = struct.unpack_from(">i", header, at)
        at += 4
        end, fields = at + length, {}
        if not at <= end <= len(header):
            raise struct.error("fields longer than the header")
        while at < end:
            key, at = _text(header, at, ">h")
            fields[key], at = _text(header, at, ">i")
        return Command(code, opaque, fields, body, remark or None, flag)
    except (struct.error, UnicodeDecodeError) as error:
        raise FrameError(f"a binary header is cut or damaged: {header[:80]!r}", opaque) from error


def _text(data: bytes, at: int, width: str) -> tuple[str, int]:
    """Return a text after its length, and where it ends."""
    (length,) = struct.unpack_from(width, data, at)
    start = at + struct.calcsize(width)
    if not 0 <= length <= len(data) - start:
        raise struct.error("a text longer than the header")
    return data[start : start + length].decode(), start + length
