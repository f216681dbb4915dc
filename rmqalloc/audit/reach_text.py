"""Draw unread messages as text: a table, or one line if there are none."""

from __future__ import annotations

from collections.abc import Collection, Iterator
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
        rows = [_row(one, most is None) for one in shown]
        details = any(one.detail for one in shown)
        header, rows = (_HEADER, rows) if details else (_HEADER[:-1], [row[:-1] for row in rows])
        yield from text_table(header, rows, ("messages", ""), file, prose=("detail",))
        yield from more(len(unread) - len(shown), "row", ": -o wide shows all")
        found = {one.reason for one in shown}
        meanings = [f"{reason}: {REASONS[reason].meaning}" for reason in REASONS if reason in found]
        yield from (line for one in meanings for line in wrapped(one, file))
    yield from wrapped(unknown_words(reach, named_below), file) if reach.unknown else ()


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
    n, names = sum(len(one.queues) for one in reach.unread), {one.topic for one in reach.unread}
    known = [one.messages for one in reach.unread if one.messages is not None]
    is_least = any(one.n_without_lag for one in reach.unread)
    wait = (
        "backlog not known"
        if not known
        else f"{'at least ' if is_least else ''}{counted(sum(known), 'message')} waiting"
    )
    return f"Messages nobody reads: {counted(n, 'queue')} of {counted(len(names), 'topic')}, {wait}"


def unknown_words(reach: Reach, named_below: Collection[str] = ()) -> str:
    """Return of how many queues the readers are not known, and why as far as that is not
    ``named_below``; empty if there are none.
    """
    if not reach.unknown:
        return ""
    n, topics = sum(len(one.queues) for one in reach.unknown), {one.topic for one in reach.unknown}
    details = dict.fromkeys(answer.detail for answer in reach.unknown)
    whys = [printable(why) for why in details if why and why not in named_below]
    return f"Not known is who reads {counted(n, 'queue')} of {counted(len(topics), 'topic')}{': ' if whys else ''}{named(whys)}"


def messages_text(one: Answer) -> str:
    """Return the backlog of an answer: a bound if some queues are not known, ``-`` if none is."""
    if one.messages is None:
        return "-"
    return f"{'≥ ' if one.n_without_lag else ''}{one.messages:,}"


def ranges_text(one: Answer, is_whole: bool = False) -> str:
    """Return the queues of an answer by broker, those of the first few brokers."""
    return " ".join(
        first_of([*queue_ranges(one.queues)], None if is_whole else _MOST_RANGES, "broker")
    )


def _row(one: Answer, is_whole: bool) -> list[str]:
    return [
        messages_text(one),
        "(none)" if one.consumer_group is None else one.consumer_group,
        one.topic,
        one.reason,
        f"{len(one.queues):,}",
        ranges_text(one, is_whole),
        one.detail,
    ]
