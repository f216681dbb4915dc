"""Draw unread messages as text: a table, or one line if there are none."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import IO

from rmqalloc.audit.reach import Reach, queue_ranges
from rmqalloc.audit.reach_answers import Answer
from rmqalloc.audit.reach_reasons import REASONS
from rmqalloc.results.and_more import first_of, more, named
from rmqalloc.results.renderer import text_table
from rmqalloc.results.wrapping import wrapped
from rmqalloc.text import counted, printable

_HEADER = ("messages", "group", "topic", "reason", "", "queue", "detail")
_MOST_RANGES = 4


def reach_lines(
    reach: Reach,
    most: int | None,
    file: IO[str] | None = None,
    is_known: bool = True,
    named_below: Collection[str] = (),
) -> Iterator[str]:
    """Yield the table, or that every queue is read; and the queues of which that is not known, with
    reasons that are not ``named_below``.
    """
    unread = reach.unread
    yield from wrapped(headline(reach, is_known), file)
    if unread:
        shown = unread[:most]
        header: Sequence[str] = _HEADER
        rows = [_row(answer, most is None) for answer in shown]
        if not any(answer.detail for answer in shown):
            header, rows = _HEADER[:-1], [row[:-1] for row in rows]
        yield from text_table(header, rows, ("messages", ""), file, prose=("detail",))
        yield from more(len(unread) - len(shown), "row", ": -o wide shows all")
        found = {answer.reason for answer in shown}
        for reason in REASONS:
            if reason in found:
                yield from wrapped(f"{reason}: {REASONS[reason].meaning}", file)
    if reach.unknown:
        yield from wrapped(unknown_words(reach, named_below), file)


def headline(reach: Reach, is_known: bool = True) -> str:
    """Return in one line how much is unread; that all is read only if all that decides it
    ``is_known``.
    """
    if not reach.unread:
        topics = counted(reach.n_topics, "topic")
        if not reach.n_topics:
            return f"No topic {'has' if is_known else 'is known to have'} a queue that producers write to."
        return (
            f"No queue of {topics} is known to be unread."
            if reach.unknown or not is_known
            else f"Every written queue of {topics} is read."
        )
    known = [answer.messages for answer in reach.unread if answer.messages is not None]
    wait = "backlog not known"
    if known:
        is_least = any(answer.n_without_lag for answer in reach.unread)
        wait = f"{'at least ' if is_least else ''}{counted(sum(known), 'message')} waiting"
    return f"Unread messages: {_sizes(reach.unread)}, {wait}"


def _sizes(answers: Sequence[Answer]) -> str:
    """Return how many queues and topics answers are about."""
    n_queues = sum(len(answer.queues) for answer in answers)
    topics = {answer.topic for answer in answers}
    return f"{counted(n_queues, 'queue')} of {counted(len(topics), 'topic')}"


def unknown_words(reach: Reach, named_below: Collection[str] = ()) -> str:
    """Return of how many queues the readers are not known, and why as far as that is not
    ``named_below``; empty if there are none.
    """
    if not reach.unknown:
        return ""
    details = dict.fromkeys(answer.detail for answer in reach.unknown)
    whys = [printable(why) for why in details if why and why not in named_below]
    return f"It is not known who reads {_sizes(reach.unknown)}{': ' if whys else ''}{named(whys)}"


def messages_text(answer: Answer) -> str:
    """Return the backlog of an answer: a bound if some queues are not known, ``-`` if none is."""
    if answer.messages is None:
        return "-"
    return f"{'≥ ' if answer.n_without_lag else ''}{answer.messages:,}"


def ranges_text(answer: Answer, is_whole: bool = False) -> str:
    """Return the queues of an answer by broker, those of the first few brokers."""
    most = None if is_whole else _MOST_RANGES
    return " ".join(first_of([*queue_ranges(answer.queues)], most, "broker"))


def _row(answer: Answer, is_whole: bool) -> list[str]:
    return [
        messages_text(answer),
        "(none)" if answer.consumer_group is None else answer.consumer_group,
        answer.topic,
        answer.reason,
        f"{len(answer.queues):,}",
        ranges_text(answer, is_whole),
        answer.detail,
    ]
