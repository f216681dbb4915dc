"""Findings of an audit, the rules that make them, and phrases that several rules use."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from rmqalloc.audit._audited_group import AuditedGroup
from rmqalloc.audit._signed_groups import SignedGroup
from rmqalloc.audit._signs import NONE, OF_OWNERS
from rmqalloc.evidence.views.unit_views import UnitViews
from rmqalloc.model import MessageQueue
from rmqalloc.text import counted

SEVERITIES = ("error", "warning", "note")
"""Most severe first."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault, with exactly the queues and clients that it concerns.

    Attributes
    ----------
    rule : str
        A key of `rmqalloc.audit.RULES`.
    severity : {"error", "warning", "note"}
        Messages are not consumed or consumed twice; something is probably wrong or wasted; worth
        knowing.
    consumer_group : str
        Empty if the finding is about no group in particular.
    topic : str or None
        None if it concerns all topics of the group, or none.
    queues : tuple of MessageQueue
        In Java's order.
    clients : tuple of str
        Client ids, in Java's order.
    message : str
        What was found, with the figures.
    advice : str
        What to do.
    """

    rule: str
    severity: str
    consumer_group: str
    topic: str | None
    queues: tuple[MessageQueue, ...]
    clients: tuple[str, ...]
    message: str
    advice: str


@dataclass(frozen=True, slots=True)
class Fault:
    """What a rule says of a group; `Rule.findings` adds the rule's id and the group's name.

    Attributes
    ----------
    message, advice, topic, queues, clients
        See `Finding`.
    severity : str, optional
        The rule's own by default.
    of_group : bool
        Whether it is a fault of the group; if not, it is reported once, whichever groups it was
        found in.
    """

    message: str
    advice: str
    topic: str | None = None
    queues: tuple[MessageQueue, ...] = ()
    clients: tuple[str, ...] = ()
    severity: str | None = None
    of_group: bool = True


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing to look for.

    Attributes
    ----------
    title : str
        A few words.
    description : str
        What it finds, and why that matters.
    help : str
        What to do.
    severity : str
        The most severe that it gives.
    find : callable
        Yields the faults of one group.
    signs : int
        Of an ordinary group it has nothing to say unless the group has one of these.
    """

    title: str
    description: str
    help: str
    severity: str
    find: Callable[[AuditedGroup], Iterator[Fault]]
    signs: int = NONE

    def findings(self, name: str, signed: SignedGroup) -> Iterator[Finding]:
        """Yield the findings of the rule, whose id this is, for one group."""
        if not signed.signs & (self.signs | OF_OWNERS):
            return
        for one in self.find(signed.audited):
            group, severity = (
                signed.group.name if one.of_group else "",
                one.severity or self.severity,
            )
            yield Finding(
                name, severity, group, one.topic, one.queues, one.clients, one.message, one.advice
            )


def some_of(n: int, unit: UnitViews) -> str:
    """Return how many of the queues of a unit, such as ``2 of 8 queues of T``."""
    return f"{n:,} of {counted(len(unit.queues), 'queue')} of {unit.topic}"


def exposed(n_unowned: int, n_double: int) -> str:
    """Return how many queues a fault leaves unowned and double-owned.

    Examples
    --------
    >>> exposed(1, 4)
    'that makes 1 queue without an owner and 4 with several'
    """
    return (
        f"that makes {counted(n_unowned, 'queue')} without an owner and {n_double:,} with several"
    )


def backlog(audited: AuditedGroup, queues: Iterable[MessageQueue]) -> str:
    """Return how many messages wait in some queues, as the end of a sentence; empty if that is not
    known.
    """
    n = audited.waiting(queues)
    return "" if n is None else f"; {counted(n, 'message')} wait there"


def common_topic(queues: Collection[MessageQueue]) -> str | None:
    """Return the topic of queues that are all of one topic, else None."""
    topics = {queue.topic for queue in queues}
    return topics.pop() if len(topics) == 1 else None
