"""The file a broadcasting consumer keeps its offsets in, as Java writes it: JSON whose keys are
objects.

A consumer writes it every 5 s, so what is brought to the disk is chosen with care. The content is,
before it gets its name: a loss of power leaves a whole file, at worst that of 5 s before, whose
messages are consumed twice, as after any crash. Its name is not, nor is the backup, which is read
only where something else has damaged the file. Java brings nothing to the disk.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rmqalloc.documents import DocumentError, read_source
from rmqalloc.documents.store import locked, make_folder, write_file
from rmqalloc.errors import ArgumentError, Error
from rmqalloc.model import MessageQueue, queue_fields

_SPACE = re.compile(r"\s*")
_INT64 = 2**63
_LOCK_SECONDS = 5.0


class OffsetFileError(Error, ValueError):
    """An offset file and its backup contain data that are not offsets."""


def offset_path(directory: Path, client_id: str, consumer_group: str) -> Path:
    """Return the path where a client keeps the offsets of a group.

    Examples
    --------
    >>> offset_path(Path("offsets"), "10.0.0.1@DEFAULT", "g").as_posix()
    'offsets/10.0.0.1@DEFAULT/g/offsets.json'
    """
    for name, text in (("client id", client_id), ("consumer group", consumer_group)):
        if text in ("", ".", "..") or set(text) & {"/", "\\", "\0"}:
            raise ArgumentError(
                f"the {name} {text!r} cannot name a directory, so local offsets cannot be kept under it"
            )
    return directory / client_id / consumer_group / "offsets.json"


def read_offsets(path: Path) -> dict[MessageQueue, int]:
    """Return the offsets of a file, or of its backup where the file is missing, empty or damaged;
    none without both.
    """
    if (found := _good(_text(path))) is not None:
        return found
    backup = _backup(
        path
    )  # the write of the file was cut short; what was there before is in the backup
    text = _text(backup)
    try:
        return dict(_offsets(text)) if text else {}
    except OffsetFileError as error:
        raise OffsetFileError(
            f"{backup} does not contain offsets: {error}; remove it to start over"
        ) from error


def write_offsets(path: Path, offsets: Mapping[MessageQueue, int]) -> None:
    """Replace a file of offsets in one step; what it held becomes its backup, unless that is
    damaged.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "offsets.json"
    >>> write_offsets(path, {MessageQueue("t", "b", 0): 7})
    >>> print(path.read_text())
    {"offsetTable":{
    {"brokerName":"b","queueId":0,"topic":"t"}:7
    }}
    """
    make_folder(path.parent)
    with locked(path.parent, _LOCK_SECONDS):
        _write(path, offsets)


def merge_offsets(path: Path, offsets: Mapping[MessageQueue, int]) -> None:
    """Write offsets as `write_offsets` does; offsets of other queues in the file stay, also those
    written meanwhile.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "offsets.json"
    >>> merge_offsets(path, {MessageQueue("t", "b", 0): 7})
    >>> merge_offsets(path, {MessageQueue("t", "b", 1): 8})
    >>> sorted(read_offsets(path).values())
    [7, 8]
    """
    make_folder(path.parent)
    with locked(path.parent, _LOCK_SECONDS):
        _write(path, read_offsets(path) | dict(offsets))


def _write(path: Path, offsets: Mapping[MessageQueue, int]) -> None:
    previous = _text(path)
    if previous is not None and _good(previous) is not None:  # else the backup is all there is
        write_file(_backup(path), previous, sync="nothing")
    lines = ",\n".join(f"{_key(queue)}:{offset}" for queue, offset in sorted(offsets.items()))
    write_file(path, f'{{"offsetTable":{{\n{lines}\n}}}}', sync="content")


def _good(text: str | None) -> dict[MessageQueue, int] | None:
    """Return the offsets of a text, None if it is missing, empty or damaged."""
    try:
        return dict(_offsets(text or ""))
    except OffsetFileError:
        return None


def _backup(path: Path) -> Path:
    return path.with_name(path.name + ".bak")


def _text(path: Path) -> str | None:
    """Return the text of a file; None if it cannot be read or is too large."""
    try:
        return read_source(path).data.decode("utf-8", "replace")
    except (OSError, DocumentError):
        return None


def _key(queue: MessageQueue) -> str:
    fields = {"brokerName": queue.broker_name, "queueId": queue.queue_id, "topic": queue.topic}
    return json.dumps(fields, separators=(",", ":"))


def _offsets(text: str) -> Iterator[tuple[MessageQueue, int]]:
    """Yield the entries of ``{"offsetTable":{{queue}:offset,...}}``; OffsetFileError for anything
    else.
    """
    at = _after(text, _after(text, 0, "{"), '"offsetTable"')
    at = _after(text, _after(text, at, ":"), "{")
    first = True
    while not text.startswith("}", at):
        if not first:
            at = _after(text, at, ",")
        key, at = _value(text, at)
        at = _after(text, at, ":")
        offset, at = _value(text, at)
        at = _blank(text, at)
        yield _entry(key, offset)
        first = False
    if _after(text, _after(text, at, "}"), "}") != len(text):
        raise OffsetFileError("text after its end")


def _value(text: str, at: int) -> tuple[Any, int]:
    """Return a JSON value and where it ends."""
    try:
        return json.JSONDecoder().raw_decode(text, at)
    except RecursionError:
        raise OffsetFileError(f"a value nested too deeply at character {at}") from None
    except ValueError as error:  # no JSON, or a number of more digits than Python reads
        raise OffsetFileError(str(error)) from None


def _after(text: str, at: int, token: str) -> int:
    """Return where the text goes on after a token that must be at ``at``."""
    at = _blank(text, at)
    if not text.startswith(token, at):
        raise OffsetFileError(f"expected {token} at character {at}")
    return _blank(text, at + len(token))


def _blank(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return at if match is None else match.end()


def _entry(key: Any, offset: Any) -> tuple[MessageQueue, int]:
    if not isinstance(key, dict) or type(offset) is not int or not -_INT64 <= offset < _INT64:
        raise OffsetFileError(f"expected a queue and its offset, found {key!r}: {offset!r}")
    try:
        topic, broker_name, queue_id = queue_fields(key)
    except Error as error:
        raise OffsetFileError(str(error)) from None
    if topic is None or broker_name is None:
        raise OffsetFileError(f"a queue without a topic or a broker: {key!r}")
    return MessageQueue(topic, broker_name, queue_id), offset
