"""What an audit finds, and what a rule is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from rmqalloc.audit.audited_group import AuditedGroup
from rmqalloc.audit.unit import Unit
from rmqalloc.model import MessageQueue
from rmqalloc.text import counted

SEVERITIES = ("error", "warning", "note")
"""The gravest first."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault, named exactly.

    Attributes
    ----------
    rule : str
        A key of `rmqalloc.audit.RULES`.
    severity : {"error", "warning", "note"}
        Messages are not consumed or consumed twice; something is likely wrong or wasted; good to know.
    consumer_group : str
        Empty where no single group is concerned.
    topic : str or None
        None where all topics of the group are, or none is.
    queues : tuple of MessageQueue
        Those concerned, in Java's order.
    clients : tuple of str
        Client ids concerned, in Java's order.
    message : str
        What is the audited, with the facts.
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


Find = Callable[[AuditedGroup], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing to look for.

    Attributes
    ----------
    title : str
        In a few words.
    description : str
        What is found, and why it matters.
    help : str
        What to do.
    severity : str
        The gravest that it gives.
    find : callable
        From the case of one group to its findings.
    """

    title: str
    description: str
    help: str
    severity: str
    find: Find


def some_of(n: int, unit: Unit) -> str:
    """So many of the queues of a unit."""
    return f"{n:,} of {counted(len(unit.queues), 'queue')} of {unit.topic}"


def exposed(n_unowned: int, n_double: int) -> str:
    """What something makes of queues.

    Examples
    --------
    >>> exposed(1, 4)
    'that makes 1 queue without an owner and 4 with several'
    """
    return f"that makes {counted(n_unowned, 'queue')} without an owner and {n_double:,} with several"


def backlog(audited: AuditedGroup, queues: Iterable[MessageQueue]) -> str:
    """How many messages wait in some queues, as the end of a sentence; nothing where it is not known."""
    n = audited.waiting(queues)
    return "" if n is None else f"; {counted(n, 'message')} wait there"
