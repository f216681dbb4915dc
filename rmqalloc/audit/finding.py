"""Findings of an audit, the rules that make them, and phrases that several rules use."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator

from rmqalloc.audit._audited_group import AuditedGroup
from rmqalloc.audit._signed_groups import SignedGroup
from rmqalloc.audit._signs import NONE, OF_OWNERS
from rmqalloc.dataclass import dataclass
from rmqalloc.errors import ArgumentError, ArgumentTypeError
from rmqalloc.evidence.views.unit_views import UnitViews
from rmqalloc.model import MessageQueue
from rmqalloc.snapshot.snapshot import Group, Snapshot
from rmqalloc.text import counted

SEVERITIES = ("error", "warning", "note")
"""Most severe first."""


@dataclass(frozen=True)
class Finding:
    """A fault with the queues and clients that it affects.

    Attributes
    ----------
    rule : str
        A key of `rmqalloc.audit.RULES`.
    severity : {"error", "warning", "note"}
        error: messages are not consumed or are consumed twice; warning: probably wrong or wasted;
        note: worth knowing.
    consumer_group : str
        Empty if the finding is not about a single group.
    topic : str or None
        None if it affects all topics of the group, or none.
    queues : tuple of MessageQueue
        In Java's order.
    clients : tuple of str
        Client ids, in Java's order.
    message : str
        The fault, with figures.
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

    @property
    def fault(self) -> tuple[Hashable, ...]:
        """Key that is equal for findings of the same fault. Messages count only for cluster rules,
        because messages of group rules have figures that change.
        """
        rule = DECLARED.get(self.rule)
        is_of_cluster = rule is not None and rule.find_in_cluster is not None
        subject = self.message if is_of_cluster else None
        return self.rule, self.consumer_group, self.topic, self.queues, self.clients, subject


@dataclass(frozen=True)
class Fault:
    """A fault that a rule reports of a group; `Rule.findings` adds the rule's id and the group's
    name.

    Attributes
    ----------
    message, advice, topic, queues, clients
        See `Finding`.
    severity : str, optional
        The rule's own by default.
    of_group : bool
        False for a fault that is reported once, independent of the groups in which it was found.
    consumer_group : str
        The group of a fault that a cluster rule reports; empty for none.
    """

    message: str
    advice: str
    topic: str | None = None
    queues: tuple[MessageQueue, ...] = ()
    clients: tuple[str, ...] = ()
    severity: str | None = None
    of_group: bool = True
    consumer_group: str = ""


Find = Callable[[AuditedGroup], Iterator[Fault]]
FindInCluster = Callable[[Snapshot], Iterator[Fault]]


@dataclass(frozen=True)
class Rule:
    """A check, declared by the decorator `rule` of the function that does it.

    Attributes
    ----------
    name : str
        Its id, which never changes its meaning.
    title : str
        A few words.
    description : str
        The fault that it finds, and its effect.
    help : str
        What to do.
    severity : str
        Its greatest severity.
    find, find_in_cluster : callable or None
        Yields the faults of a group, or of a whole snapshot: a rule has exactly one of these two.
    needs : collection of str
        Kinds of facts that it needs, see `rmqalloc.snapshot.unknown.KINDS`.
    signs : int
        Signs of groups to which it applies.
    when : callable, optional
        Further groups to which it applies: those for which this is true.
    """

    name: str
    title: str
    description: str
    help: str
    severity: str
    find: Find | None
    needs: Collection[str]
    signs: int
    when: Callable[[Group], object] | None
    find_in_cluster: FindInCluster | None = None

    def is_asked(self, signs: int) -> bool:
        """Return True if the rule may find something in a group with these signs."""
        return bool(signs & (self.signs | OF_OWNERS)) or self.when is not None

    def findings(self, signed: SignedGroup) -> Iterator[Finding]:
        """Yield the findings of the rule for a group to which it applies."""
        is_asked = signed.signs & (self.signs | OF_OWNERS)
        if not (is_asked or (self.when is not None and self.when(signed.group))):
            return
        for fault in self.find(signed.audited) if self.find is not None else ():
            yield self._finding(fault, signed.group.name if fault.of_group else "")

    def findings_in_cluster(self, snapshot: Snapshot) -> Iterator[Finding]:
        """Yield the findings of a cluster rule."""
        for fault in self.find_in_cluster(snapshot) if self.find_in_cluster is not None else ():
            yield self._finding(fault, fault.consumer_group)

    def _finding(self, fault: Fault, consumer_group: str) -> Finding:
        return Finding(
            rule=self.name,
            severity=fault.severity or self.severity,
            consumer_group=consumer_group,
            topic=fault.topic,
            queues=fault.queues,
            clients=fault.clients,
            message=fault.message,
            advice=fault.advice,
        )


DECLARED: dict[str, Rule] = {}
"""Rules of the files that were imported; `rmqalloc.audit.RULES` has all of them in their order."""

COMPUTED = ("clients", "routes")
"""What rules need to know that look at who should own the queues."""


def rule(
    name: str,
    *,
    title: str,
    description: str,
    help: str,
    severity: str,
    needs: Collection[str],
    signs: int | None = None,
    when: Callable[[Group], object] | None = None,
) -> Callable[[Find], Find]:
    """Declare the decorated function as a rule; the parameters are attributes of `Rule`.

    Raises
    ------
    ArgumentTypeError
        The rule selects no groups: neither ``signs`` nor ``when`` is given.
    ArgumentError
        There is a rule of that name.
    """
    if signs is None and when is None:
        raise ArgumentTypeError(
            f"rule {name!r} selects no groups: give signs=, such as Sign.IDLE, or NONE for groups with "
            "unusual owners alone; or when=, a function of a group"
        )
    _check_new(name)

    def declare(find: Find) -> Find:
        DECLARED[name] = Rule(
            name=name,
            title=title,
            description=description,
            help=help,
            severity=severity,
            find=find,
            needs=needs,
            signs=NONE if signs is None else signs,
            when=when,
        )
        return find

    return declare


def cluster_rule(name: str, **texts: str) -> Callable[[FindInCluster], FindInCluster]:
    """Declare the decorated function as a rule for whole snapshots: ``title``,
    ``description``, ``help`` and ``severity`` as for `rule`.

    Raises
    ------
    ArgumentError
        There is a rule of that name.
    """
    _check_new(name)

    def declare(find: FindInCluster) -> FindInCluster:
        DECLARED[name] = Rule(
            name, **texts, find=None, needs=(), signs=NONE, when=None, find_in_cluster=find
        )
        return find

    return declare


def _check_new(name: str) -> None:
    if name in DECLARED:
        raise ArgumentError(f"rule {name!r} is declared twice")


def some_of(n: int, unit: UnitViews) -> str:
    """Return how many of the queues of a unit, such as ``2 of 8 queues of T``."""
    return f"{n:,} of {counted(len(unit.queues), 'queue')} of {unit.topic}"


def exposed(n_unowned: int, n_double: int) -> str:
    """Return how many queues a fault leaves unowned and double-owned.

    Examples
    --------
    >>> exposed(1, 4)
    'that leaves 1 queue without an owner and 4 with several owners'
    """
    return f"that leaves {counted(n_unowned, 'queue')} without an owner and {n_double:,} with several owners"


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
