"""Clients of one group that take different messages of one topic: by other tags, or by other
conditions.

A message is given to the owner of its queue alone. A broker has one expression for the whole group,
the newest that any client sent, and leaves out for everybody what that does not take; then every
client leaves out what its own does not take. Either way the group's offset moves past the message.
"""

from __future__ import annotations

from collections.abc import Iterator

from rmqalloc.audit._audited_group import AuditedGroup
from rmqalloc.audit.finding import Fault
from rmqalloc.model import RETRY_PREFIX
from rmqalloc.results.and_more import named
from rmqalloc.snapshot.snapshot import TAG, Filter
from rmqalloc.text import counted, printable, shortened

_MOST_SHOWN = 80  # characters of an expression

Taken = tuple[str, frozenset[str] | str] | None
"""What a filter takes, equal for equal filters: None for all messages, tags as a set, other expressions as text."""


def mixed_filters(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield topics of which clients take different messages, or brokers other messages than the
    clients.
    """
    for topic in audited.topics:
        if topic.startswith(RETRY_PREFIX):
            continue
        known = {
            slot: (audited.clients[slot].filters or {}).get(topic, Filter())
            for slot in audited.subscribers(topic)
            if audited.clients[slot].filters is not None
            and audited.clients[slot].subscriptions is not None
        }
        listed = (
            () if audited.group.filters is None else audited.group.filters.get(topic, (Filter(),))
        )
        taken = {_taken(one) for one in known.values()}
        if len(taken) > 1:
            yield _skipped(audited, topic, known)
        elif len(taken | {_taken(one) for one in listed}) > 1:
            yield _listed_otherwise(audited, topic, known, listed)


def _taken(one: Filter) -> Taken:
    if one.takes_all:
        return None
    return one.type, one.expression.strip() if one.tags is None else one.tags


def _skipped(audited: AuditedGroup, topic: str, known: dict[int, Filter]) -> Fault:
    """Return the fault of clients that take different messages, and who of them does not take what
    others do.
    """
    taken = {slot: _taken(one) for slot, one in known.items()}
    is_of_tags = all(one is None or one[0] == TAG for one in taken.values())
    has_all = None in taken.values()
    every_tag = frozenset(tag for one in known.values() for tag in one.tags or ())
    less = [
        s
        for s, one in taken.items()
        if one is not None and (has_all or not is_of_tags or one != (TAG, every_tag))
    ]
    what = "whose tag" if is_of_tags else "that"
    who = "every client that gets it" if not audited.is_clustering else "the owner of its queue"
    return Fault(
        f"Clients take different messages of {topic} ({_shown(known)}): a message {what} {who} does not subscribe to is "
        "skipped for ever, for offsets move past it; and brokers leave out for all clients what the newest subscription does "
        "not take.",
        "Let all clients of a group subscribe to a topic with the same expression; give others a group of their own. What was "
        "skipped is read again only if the group's offsets are reset.",
        topic=topic,
        clients=audited.ids(less),
    )


def _listed_otherwise(
    audited: AuditedGroup, topic: str, known: dict[int, Filter], listed: tuple[Filter, ...]
) -> Fault:
    """Return the fault of brokers that leave out other messages than any client that is known."""
    theirs = f"while {_shown(known)}" if known else "and do not agree"
    return Fault(
        f"Brokers take {named([_words(one) for one in listed])} of {topic} for the group, {theirs}: a client that did not say "
        "what it takes differs, or one that is gone did; a message that a broker does not take is skipped for ever, for "
        "offsets move past it.",
        "Look for the client that subscribes otherwise. Brokers keep the newest subscription until a newer one comes: restart "
        "a client of the group that has the right one.",
        topic=topic,
        clients=audited.ids(slot for slot in audited.subscribers(topic) if slot not in known),
        severity="warning",
    )


def _shown(known: dict[int, Filter]) -> str:
    """Return how many clients take what."""
    counts: dict[Taken, int] = {}
    words: dict[Taken, str] = {}
    for one in known.values():
        counts[_taken(one)] = counts.get(_taken(one), 0) + 1
        words.setdefault(_taken(one), _words(one))
    shown = sorted((text, counts[taken]) for taken, text in words.items())
    return ", ".join(f"{text}: {counted(n, 'client')}" for text, n in shown)


def _words(one: Filter) -> str:
    if one.takes_all:
        return "all messages"
    text = one.expression.strip() if one.tags is None else " || ".join(sorted(one.tags))
    return f"{printable(one.type)} {shortened(printable(text), _MOST_SHOWN)}"
