"""Tables of every release, strategy and event; and the same as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from clusters.beside_java.owners import Settled
from clusters.beside_java.play import Event, Played

HEAD = """Owners after every event by Java's process queue tables, by the Python members' tables and by the
engine; "settled" is the time from the event to the last change of any member's queues. "Without owner" and "two owners" are
seconds summed over queues, and in brackets those of the queue that waited longest. "Twice" are deliveries of messages that had
been delivered already, "late" those of messages that came after a later one of their queue. After every event `check`, `show`,
`plan`, `explain` and `guard` are asked about every group until all that they say is right. "Strategy stated" are groups whose
owners do not show the virtual nodes of their ring, which no client reports: there the last three were asked with `--strategy`.
"""
TABLE = """| strategy | consumes | event | owners equal | settled (s) | without owner (s) | two owners (s) | twice | late |
| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"""
MESSAGES = """| group | stored | distinct consumed | lost | delivered twice | unexplained | late | retry topic equal |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |"""
OFFSETS = """| from, to | handovers | begins where the other stopped | begins before it (messages) | begins after it |
| --- | ---: | ---: | ---: | ---: |"""
VERBS = """| event | groups | verbs right of | after (s) | found before that | found then | strategy stated |
| --- | ---: | ---: | ---: | --- | --- | --- |"""


class Section(NamedTuple):
    """A part of the page, its data, and what is wrong."""

    text: str
    data: list[dict[str, Any]]
    wrong: list[str]


def section(played: Played, title: str) -> Section:
    """The tables of one stage."""
    lines = [f"## {title}", "", TABLE]
    data = [_row(played, event, one) for event in played.events for one in event.groups]
    order = [one.group.name for one in played.events[0].groups]
    lines += [_line(one) for name in order for one in data if one["group"] == name]
    lines += ["", VERBS, *map(_verbs, played.events)]
    lines += ["", MESSAGES, *_messages(played), "", *_twice(played), "", OFFSETS, *_offsets(played)]
    return Section(
        "\n".join([*lines, *(f"\n{one}" for one in played.notes), ""]), data, wrong(played)
    )


def wrong(played: Played) -> list[str]:
    """What must not be."""
    found = [
        f"{event.name}, {one.group.name}: {one.wrong}"
        for event in played.events
        for one in event.groups
        if one.wrong
    ]
    for event in played.events:
        for look in event.looks:
            found += [f"{event.name}, {look.group.name}: {text}" for text in look.wrong]
    for one in played.events[0].groups:
        name = one.group.name
        found += [f"{name}: {text}" for text in played.messages[name].wrong(one.group.orderly)]
        found += played.losses[name]
    return found + [
        f"retry topic of {name}: {text}" for name, text in played.retries.items() if text
    ]


def _row(played: Played, event: Event, one: Settled) -> dict[str, Any]:
    messages = played.messages[one.group.name]
    return {
        "release": played.release,
        "group": one.group.name,
        "strategy": one.group.strategy,
        "orderly": one.group.orderly,
        "event": event.name,
        "owners": one.n_owners,
        "owners_equal": not one.wrong,
        "settle_seconds": round(one.seconds, 3),
        "unowned_queue_seconds": round(one.unowned_seconds, 3),
        "longest_unowned_seconds": round(one.longest, 3),
        "double_owned_queue_seconds": round(one.double_seconds, 3),
        "twice": sum(n for (name, _), n in messages.twice.items() if name == event.name),
        "late": messages.out_of_order[event.name],
    }


def _line(row: dict[str, Any]) -> str:
    equal = f"{row['owners']} of {row['owners']}" if row["owners_equal"] else "**differ**"
    cells = (
        row["strategy"],
        "in order" if row["orderly"] else "at once",
        row["event"],
        equal,
        f"{row['settle_seconds']:.1f}",
        f"{row['unowned_queue_seconds']:.1f} ({row['longest_unowned_seconds']:.1f})",
        f"{row['double_owned_queue_seconds']:.1f}",
        row["twice"],
        row["late"],
    )
    return f"| {' | '.join(map(str, cells))} |"


def _verbs(event: Event) -> str:
    """What the verbs said after an event."""
    before, found = (
        ", ".join(sorted({f"`{rule}`" for rules in some for rule in rules}))
        for some in ([look.before for look in event.looks], [look.found for look in event.looks])
    )
    n_right = sum(not look.wrong for look in event.looks)
    seconds = max(look.seconds for look in event.looks)
    stated = ", ".join(look.group.name for look in event.looks if look.is_stated)
    cells = (event.name, len(event.looks), n_right, f"{seconds:.1f}", before, found, stated)
    return f"| {' | '.join(map(str, cells))} |"


def _messages(played: Played) -> Iterator[str]:
    for name, one in played.messages.items():
        cells = (
            name,
            f"{one.n_stored:,}",
            f"{one.n_distinct:,}",
            one.lost,
            f"{one.twice.total():,}",
            one.unexplained,
        )
        equal = "**no**" if played.retries[name] else "yes"
        yield f"| {' | '.join(map(str, (*cells, one.out_of_order.total(), equal)))} |"


def _twice(played: Played) -> Iterator[str]:
    """By which handover messages came twice."""
    found = Counter[tuple[str, str]]()
    for one in played.messages.values():
        found += one.twice
    if found:
        yield "| came twice after | from, to | messages |\n| --- | --- | ---: |"
        yield from (f"| {event} | {kinds} | {n:,} |" for (event, kinds), n in found.most_common())
    else:
        yield "No message came twice."


def _offsets(played: Played) -> Iterator[str]:
    all_of_them = [one for messages in played.messages.values() for one in messages.handovers]
    for kinds in sorted({one.kinds for one in all_of_them}):
        begins = [one.begins for one in all_of_them if one.kinds == kinds]
        before = [-n for n in begins if n < 0]
        cells = (
            kinds,
            len(begins),
            begins.count(0),
            f"{len(before)} ({sum(before):,})",
            sum(n > 0 for n in begins),
        )
        yield f"| {' | '.join(map(str, cells))} |"
