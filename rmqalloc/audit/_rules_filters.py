"""Clients of one group that take different messages of one topic: by other tags, or by other
conditions.

A message is given to the owner of its queue alone. A broker has one expression for the whole group,
the newest that any client sent, and leaves out for everybody what that does not take; then every
client leaves out what its own does not take. Either way the group's offset moves past the message.
"""

from __future__ import annotations

from collections import Counter
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
    at_brokers = audited.group.filters
    for topic in audited.topics:
        if topic.startswith(RETRY_PREFIX):
            continue
        known = _known_filters(audited, topic)
        listed = () if at_brokers is None else at_brokers.get(topic, (Filter(),))
        taken = set(map(_taken, known.values()))
        if len(taken) > 1:
            yield _skipped(audited, topic, known)
        elif len(taken.union(map(_taken, listed))) > 1:
            yield _listed_otherwise(audited, topic, known, listed)


def _known_filters(audited: AuditedGroup, topic: str) -> dict[int, Filter]:
    """Return the filters of the clients that report which messages of a topic they take, by slot."""
    known = {}
    for slot in audited.subscribers(topic):
        client = audited.clients[slot]
        if client.filters is not None and client.subscriptions is not None:
            known[slot] = client.filters.get(topic, Filter())
    return known


def _taken(given: Filter) -> Taken:
    if given.takes_all:
        return None
    return given.type, given.expression.strip() if given.tags is None else given.tags


def _skipped(audited: AuditedGroup, topic: str, known: dict[int, Filter]) -> Fault:
    """Return the fault of clients that take different messages; it names those that do not take
    what others take.
    """
    taken = {slot: _taken(given) for slot, given in known.items()}
    is_of_tags = all(of_slot is None or of_slot[0] == TAG for of_slot in taken.values())
    most: Taken = None
    if is_of_tags and None not in taken.values():
        most = TAG, frozenset[str]().union(*(given.tags or () for given in known.values()))
    less = [slot for slot, of_slot in taken.items() if of_slot not in (None, most)]
    what = "whose tag" if is_of_tags else "that"
    who = "every client that gets it" if not audited.is_clustering else "the owner of its queue"
    return Fault(
        f"Clients take different messages of {topic} ({_shown(known)}): a message {what} {who} does not subscribe to is "
        "skipped permanently, because offsets move past it. Brokers also skip, for all clients, messages that the newest "
        "subscription excludes.",
        "Give all clients of the group the same subscription expression, or give clients with another expression their own "
        "group. Skipped messages are read again only after an offset reset.",
        topic=topic,
        clients=audited.ids(less),
    )


def _listed_otherwise(
    audited: AuditedGroup, topic: str, known: dict[int, Filter], listed: tuple[Filter, ...]
) -> Fault:
    """Return the fault of brokers that leave out other messages than any known client."""
    clients = f"unlike the clients ({_shown(known)})" if known else "which differ"
    return Fault(
        f"Brokers have the filter {named(list(map(_words, listed)))} for {topic}, {clients}: a client with another filter "
        "has not reported it, or has left. Messages that the brokers' filter excludes are skipped permanently, because "
        "offsets move past them.",
        "Find the client that subscribes differently. Brokers keep the newest subscription until a newer one arrives: "
        "restart a client of the group that has the right subscription.",
        topic=topic,
        clients=audited.ids(slot for slot in audited.subscribers(topic) if slot not in known),
        severity="warning",
    )


def _shown(known: dict[int, Filter]) -> str:
    """Return how many clients take what."""
    counts = Counter(map(_taken, known.values()))
    words: dict[Taken, str] = {}
    for given in known.values():
        words.setdefault(_taken(given), _words(given))
    shown = sorted((text, counts[taken]) for taken, text in words.items())
    return ", ".join(f"{text}: {counted(n, 'client')}" for text, n in shown)


def _words(given: Filter) -> str:
    if given.takes_all:
        return "all messages"
    text = given.expression.strip() if given.tags is None else " || ".join(sorted(given.tags))
    return f"{printable(given.type)} {shortened(printable(text), _MOST_SHOWN)}"
