"""What an event of live plans may say: every number, text and time of it is within bounds before
anything is made of it.

Events are checked once, where they first are texts in a worker and before Spark's watermark sees
their times. What is refused thus moves no clock and enters no state; it travels on as a text that
says why, and becomes a row.

Runs in Python workers; imports no pyspark.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, TypeGuard

import pyarrow as pa

from rmqalloc.documents.document_errors import shown
from rmqalloc.errors import ArgumentError, Error
from rmqalloc.evaluation.row_check import ErrCode, queue_twice
from rmqalloc.model import MAX_CHANNELS, MAX_READ_QUEUE_NUMS, MAX_TEXT_BYTES, MessageQueue
from rmqalloc.strategies import sort_client_ids

__all__ = [
    "CHECKED_DDL", "CODE", "JOINS", "KINDS", "MAX_COPIED", "REFUSED", "CheckedEvents", "EventError", "Window", "brokers_of",
    "check", "checked",
]  # fmt: skip

JOINS = ("join", "heartbeat")
"""Kinds of events that say that a client is there."""

KINDS = (*JOINS, "leave", "route")
"""Kinds of events."""

MAX_COPIED = 1 << 24
"""Most characters of an event in all of its topics: it is copied for each."""

REFUSED = "err_msg"
"""Field of an event that was refused: why."""

CODE = "err_code"
"""Field of an event that was refused: its `ErrCode`."""


class EventError(ArgumentError):
    """An event says what makes a row of units bad, with the code that the row would have."""

    def __init__(self, code: ErrCode, text: str) -> None:
        super().__init__(text)
        self.code = code


class Window(NamedTuple):
    """Which times of events are taken, in microseconds.

    Examples
    --------
    >>> week = Window(lateness=0, max_age=7 * 24 * 3_600_000_000, max_ahead=3_600_000_000)
    >>> week.refusal(1_800_000_000_000_000_000, now=1_800_000_000_000_000)  # doctest: +ELLIPSIS
    'event_time must be from 2027-01-08T08:00:00Z (max_age) to 2027-01-15T09:00:00Z (max_ahead), got ...
    """

    lateness: int  # before the newest event
    max_age: int  # before processing time
    max_ahead: int  # after processing time

    def refusal(self, time: int, now: int) -> str | None:
        """Return why a time is refused; None if it is not."""
        first, last = max(0, now - self.max_age), now + self.max_ahead
        if first <= time <= last:
            return None
        given = _iso(time) or f"one {time // 1_000_000} s after 1970"
        units = (
            "; it is read as seconds after 1970, and seems to be milliseconds"
            if first <= time // 1000 <= last
            else ""
        )
        return f"event_time must be from {_iso(first)} (max_age) to {_iso(last)} (max_ahead), got {given}{units}"


def check(event: Mapping[str, Any], topic: str, now: int, window: Window) -> None:
    """Raise ArgumentError for a wrong event; an empty topic is none, times are microseconds."""
    if "raw" in event:
        raise ArgumentError(
            "the event is no JSON object with the fields of EVENT_SCHEMA in their types"
        )
    if not topic:
        raise ArgumentError("the event names no topic: give topic, or topics without an empty name")
    _check_text("topic", topic)
    kind, time, sequence = event.get("kind"), event.get("time"), event.get("sequence", 0)
    if kind not in KINDS:
        raise ArgumentError(f"kind must be one of {', '.join(KINDS)}, got {_shown(kind)}")
    if not _is_whole(time) or time < 0:
        raise ArgumentError("event_time must be a time after 1970, and is missing or is none")
    refusal = window.refusal(time, now)
    if refusal is not None:
        raise ArgumentError(refusal)
    if not _is_whole(sequence):
        raise ArgumentError(f"sequence must be an integer, got {_shown(sequence)}")
    if kind == "route":
        brokers_of(event, topic)
    else:
        _check_client(event)


def _check_client(event: Mapping[str, Any]) -> None:
    """Refuse what names no client, or one of too many channels."""
    for name in ("consumer_group", "client_id"):
        given = event.get(name)
        if not isinstance(given, str) or not given:
            raise ArgumentError(
                f"an event of kind {event['kind']} needs a {name}, got {_shown(given)}"
            )
        _check_text(name, given)
    channels = event.get("channels", 1)
    if not _is_whole(channels) or not 1 <= channels <= MAX_CHANNELS:
        raise ArgumentError(
            f"channels must be an integer from 1 to {MAX_CHANNELS}, got {_shown(channels)}"
        )


def brokers_of(event: Mapping[str, Any], topic: str = "") -> tuple[tuple[str, int], ...]:
    """Return the brokers of a route in Java's order, without those that have no queues."""
    given = event.get("brokers")
    if not isinstance(given, list):
        raise ArgumentError(
            "an event of kind route needs brokers; an empty list if the topic is gone"
        )
    found: dict[str, int] = {}
    for one in given:
        name, number = (one or {}).get("broker_name"), (one or {}).get("read_queue_nums")
        if not isinstance(name, str) or not name:
            raise ArgumentError(f"every broker of a route needs a broker_name, got {_shown(name)}")
        _check_text("broker_name", name)
        if not _is_whole(number) or not 0 <= number <= MAX_READ_QUEUE_NUMS:
            raise ArgumentError(
                f"read_queue_nums of {shown(name)} must be an integer from 0 to {MAX_READ_QUEUE_NUMS}, got {_shown(number)}"
            )
        if number and found.get(name):
            raise EventError(ErrCode.DUPLICATE_QUEUE, queue_twice(MessageQueue(topic, name, 0)))
        if name in found:
            raise ArgumentError(f"broker {shown(name)} stands twice in the route")
        found[name] = number
    n_queues = sum(found.values())
    if n_queues > MAX_READ_QUEUE_NUMS:
        raise ArgumentError(
            f"the brokers of a route have at most {MAX_READ_QUEUE_NUMS} read queues together, got {n_queues}"
        )
    return tuple((name, found[name]) for name in sort_client_ids(found) if found[name])


def checked(
    topic: str, text: str, now: int, window: Window, n_copies: int = 1
) -> tuple[int | None, str]:
    """Check an event and return it as it goes on to the state.

    The time is for Spark's watermark: a clock that is ahead moves it to processing time at most, a
    refused event not at all. The text of a refused event is a JSON object of `REFUSED`, `CODE` and
    ``event``. An event that is too long to be copied for all of its ``n_copies`` topics is refused,
    and comes once, without a topic.
    """
    event = json.loads(text)
    try:
        if n_copies * len(text) > MAX_COPIED:
            raise ArgumentError(
                f"an event may have {MAX_COPIED} characters in all of its topics together, got {n_copies} × {len(text)}"
            )
        check(event, topic, now, window)
    except Error as error:
        code = error.code if isinstance(error, EventError) else ErrCode.MALFORMED
        said = {REFUSED: str(error), CODE: int(code), "event": event.get("raw", text)}
        return None, json.dumps(said, ensure_ascii=False)
    return min(event["time"], now), text


CHECKED_DDL = "event_time timestamp, topic string, event string"
"""Columns of checked events."""


class CheckedEvents:
    """`checked` as ``mapInArrow`` takes it: from ``topic``, ``event``, ``n_copies`` and ``now`` to
    `CHECKED_DDL`.
    """

    def __init__(self, window: Window) -> None:
        self._window = window

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Check the events of the batches."""
        for batch in batches:
            topics = batch.column("topic").to_pylist()
            given = zip(
                topics,
                *(batch.column(name).to_pylist() for name in ("event", "now", "n_copies")),
                strict=True,
            )
            made = [
                checked(topic, text, now, self._window, n_copies)
                for topic, text, now, n_copies in given
            ]
            times = pa.array([time for time, _ in made], pa.timestamp("us", "UTC"))
            texts = pa.array([text for _, text in made], pa.string())
            yield pa.RecordBatch.from_arrays(
                [times, pa.array(topics, pa.string()), texts], ["event_time", "topic", "event"]
            )


def _check_text(name: str, text: str) -> None:
    n_bytes = len(text.encode("utf-8", "surrogatepass"))
    if n_bytes > MAX_TEXT_BYTES:
        raise EventError(
            ErrCode.TOO_LARGE, f"{name} must be at most {MAX_TEXT_BYTES} bytes long, got {n_bytes}"
        )


def _is_whole(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    return "nothing" if value is None else shown(value)


def _iso(time: int) -> str:
    """Return a time as ISO 8601 to the second; empty if it is beyond Python's clock."""
    try:
        at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time)
    except OverflowError:
        return ""
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"
