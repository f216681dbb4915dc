"""Decide whether a verb answers about a group: one decision for each group and verb.

The first row that holds decides::

    what holds of the group                  show guard plan expl comp simu swit reco diff
    its client list is not known               U    U    L    L    L    L    L    L    -
    a broker does not answer                   U    U    L    L    L    L    L    L    -
    it has no client, and is in doubt          -    X    D    R    D    R    D    D    -
    it has no client                           -    X    -    R    -    R    -    -    -
    its subscriptions are not known            U    U    L    L    L    L    L    L    -
    the route of a topic is not known          U    U    L    L    L    L    L    L    -
    it reads lite topics                       U    U    D    D    D    D    D    D    D
    its clients do not divide the queues       -    -    -    D    D    D    D    D    D
    its strategy cannot be computed            U    U    R    R    R    R    R    R    R
    brokers let it pop messages                -    -    -    D    D    D    D    D    D
    its clients use several strategies         -    -    N    N    N    N    N    R    -
    its strategy is in doubt                   U    U    R    N    R    R    R    R    R
    brokers list different clients             -    X    N    N    L    L    L    L    -
    some clients do not report their queues    U    U    N    N    N    N    N    N    -
    none of these                              -    -    -    -    -    -    -    -    -

``-`` is an answer, N an answer with a note, U an answer with unknown parts, X is "no". D: the
queues are not divided by a strategy, so the group is left out with a warning, and a verb without
another group fails. L: a fact is missing and the group is left out; ``--allow-partial`` skips the
row and adds a note. R: the group is refused until the doubtful fact is stated.

``show`` includes groups and check: they report for each row whether it is known. ``swit`` is
``rollout strategy``, which replays each client by its own strategy; ``reco`` includes the remaining
rollouts, which do not. "No client" applies to groups that divide queues, if no change adds a
client.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from rmqalloc.dataclass import dataclass
from rmqalloc.evidence.client_method import (
    brokers_differ,
    divides,
    kinds_of,
    known_by_client,
    method_of,
)
from rmqalloc.results.and_more import named
from rmqalloc.snapshot.matching import NoMatchError
from rmqalloc.snapshot.snapshot import Client, Group
from rmqalloc.snapshot.unknown import Unknowns


class Verb(StrEnum):
    """Verbs with different decisions, named as on the pages."""

    SHOW = "show, groups, check"
    GUARD = "guard"
    PLAN = "plan"
    EXPLAIN = "explain"
    COMPARE = "compare"
    SIMULATE = "simulate"
    SWITCH = "rollout strategy"
    RECOMMEND = "recommend, other rollouts"
    DIFF = "diff"


class Outcome(StrEnum):
    """The outcome of a verb for a group, named as on the pages."""

    ANSWERED = "answered"
    NOTED = "noted"
    UNKNOWN = "in part unknown"
    NO = "no"
    NOT_DIVIDED = "not divided"
    LEFT_OUT = "left out (4)"
    REFUSED = "refused (1)"

    @property
    def is_answer(self) -> bool:
        """True if the verb answers about the group."""
        return self not in (Outcome.NOT_DIVIDED, Outcome.LEFT_OUT, Outcome.REFUSED)


class Decision(NamedTuple):
    """The outcome of a verb for a group, with the reason.

    Attributes
    ----------
    outcome : Outcome
    reason : str
        The condition that holds for the group; empty if there is nothing to report.
    remedy : str
        The flag or the output that would allow an answer; empty if there is none.
    partly : tuple of (str, str)
        Further conditions of a group that is answered in part, each with the known part.
    """

    outcome: Outcome
    reason: str = ""
    remedy: str = ""
    partly: Sequence[tuple[str, str]] = ()

    def __str__(self) -> str:
        notes = [f"{reason}: {partly}" for reason, partly in self.partly]
        return "; ".join(filter(None, (*notes, self.reason, self.remedy)))


class UnansweredError(NoMatchError):
    """A verb cannot answer about any of its groups.

    Attributes
    ----------
    outcome : Outcome
        `REFUSED` if a group is refused, else `LEFT_OUT` if a fact of a group is missing, else
        `NOT_DIVIDED`.
    """

    def __init__(self, message: str, outcome: Outcome) -> None:
        super().__init__(message)
        self.outcome = outcome


class _Facts(NamedTuple):
    """What a decision depends on."""

    group: Group
    topics: Sequence[str]
    unknown: Unknowns
    clients_join: bool


@dataclass(frozen=True)
class Row:
    """A row of the table.

    Attributes
    ----------
    what : str
        The condition of the group.
    outcomes : tuple of Outcome
        One outcome per verb, in their order.
    holds : callable
        Returns why the row holds for a group; None if it does not.
    remedy : str
        The remedy that would allow an answer.
    partly : str
        The part that ``--allow-partial`` answers with.
    """

    what: str
    outcomes: Sequence[Outcome]
    holds: Callable[[_Facts], str | None]
    remedy: str = ""
    partly: str = ""

    @property
    def allows(self) -> str:
        """The remedy that would allow an answer; empty if there is none."""
        partly = f"--allow-partial answers with {self.partly}" if self.partly else ""
        return ", or ".join(filter(None, (self.remedy, partly)))

    def decision(self, verb: Verb, reason: str) -> Decision:
        """Return the outcome of a verb for a group for which the row holds."""
        outcome = self.outcomes[_COLUMN[verb]]
        return Decision(outcome, reason, "" if outcome.is_answer else self.allows)


_COLUMN = {verb: column for column, verb in enumerate(Verb)}
_OF_LETTER = {
    "-": Outcome.ANSWERED,
    "N": Outcome.NOTED,
    "U": Outcome.UNKNOWN,
    "X": Outcome.NO,
    "D": Outcome.NOT_DIVIDED,
    "L": Outcome.LEFT_OUT,
    "R": Outcome.REFUSED,
}


def _row(what: str, letters: str, holds: Callable[[_Facts], str | None], **words: str) -> Row:
    return Row(what, [_OF_LETTER[letter] for letter in letters.split()], holds, **words)


# --- What may hold of a group ---


def _clients(facts: _Facts) -> str | None:
    why = facts.unknown.why("clients", facts.group.name)
    return why and f"its client list is not known ({why})"


def _brokers(facts: _Facts) -> str | None:
    if why := facts.group.unknown.get("brokers"):
        return f"its brokers are not known ({why})"
    name = facts.unknown.silent_broker_of(facts.topics)
    return name and f"its broker {name} does not answer"


def _no_client_in_doubt(facts: _Facts) -> str | None:
    reason = _no_client(facts)
    why = reason and _doubt(facts)
    return f"{reason}, and {why}" if why else None


def _no_client(facts: _Facts) -> str | None:
    listed = (facts.group.broker_client_ids or {}).values()
    is_empty = not (facts.group.clients or any(listed) or facts.clients_join)
    return "it has no client" if is_empty and divides(facts.group) else None


def _subscriptions(facts: _Facts) -> str | None:
    why = facts.group.unknown.get("subscriptions")
    return why and f"its subscriptions are not known ({why})"


def _routes(facts: _Facts) -> str | None:
    for topic in facts.topics:
        if why := facts.unknown.why_route(topic):
            return f"the route of topic {topic} is not known ({why})"
    return None


def _lite(facts: _Facts) -> str | None:
    return "it reads lite topics" if facts.group.lite_topic is not None else None


def _shared(facts: _Facts) -> str | None:
    if facts.group.message_model != "CLUSTERING":
        return "all its clients read every queue (BROADCASTING)"
    if facts.group.is_shared:
        return "its clients share the messages of every queue, as clients behind a proxy do"
    return None


def _not_computed(facts: _Facts) -> str | None:
    group = facts.group
    if group.server_assignment is None and group.strategy != "CONFIG":
        return None
    clients = [Client("", strategy=name) for name, _, _ in kinds_of(group)]
    problems = (method_of(group, client).problem for client in (Client(""), *clients))
    problem = next(filter(None, problems), None)
    return problem and f"its strategy cannot be computed: {problem}"


def _pops(facts: _Facts) -> str | None:
    is_pop = not divides(facts.group)
    return "brokers let it pop messages (POP), so no queue has a single owner" if is_pop else None


def _by_client(facts: _Facts) -> str | None:
    group = facts.group
    if group.strategy_doubt is None or not known_by_client(group):
        return None
    return f"its clients use different strategies ({group.strategy_doubt})"


def _doubt(facts: _Facts) -> str | None:
    group = facts.group
    if group.strategy is None:
        return "its strategy is not known"
    doubt = group.strategy_doubt
    return None if doubt is None else f"its strategy is in doubt ({doubt})"


def _lists_differ(facts: _Facts) -> str | None:
    return "brokers list different clients" if brokers_differ(facts.group) else None


def _silent(facts: _Facts) -> str | None:
    clients = facts.group.clients
    answered = {client.client_id for client in clients if client.owned is not None}
    silent = [client.client_id for client in clients if client.client_id not in answered]
    if not silent or not answered:
        return None
    return f"not all of its clients report their queues ({named(silent)}): owners are computed"


def _nothing(facts: _Facts) -> str | None:
    return ""


_STATE = "--strategy states the strategy, --require any accepts any evidence"
_CONNECTION = "the output of consumerConnection shows it"
ROWS = (
    _row("its client list is not known", "U U L L L L L L -", _clients,
         remedy=_CONNECTION, partly="the known clients"),
    _row("a broker does not answer", "U U L L L L L L -", _brokers,
         partly="the brokers that answered"),
    _row("it has no client, and is in doubt", "- X D R D R D D -", _no_client_in_doubt),
    _row("it has no client", "- X - R - R - - -", _no_client),
    _row("its subscriptions are not known", "U U L L L L L L -", _subscriptions,
         remedy=_CONNECTION, partly="the known topics"),
    _row("the route of a topic is not known", "U U L L L L L L -", _routes,
         remedy="the output of topicRoute shows it", partly="the known queues"),
    _row("it reads lite topics", "U U D D D D D D D", _lite),
    _row("its clients do not divide the queues", "- - - D D D D D D", _shared),
    _row("its strategy cannot be computed", "U U R R R R R R R", _not_computed,
         remedy="state another strategy in the snapshot, or with --strategy if clients divide the queues"),
    _row("brokers let it pop messages", "- - - D D D D D D", _pops),
    _row("its clients use several strategies", "- - N N N N N R -", _by_client, remedy=_STATE),
    _row("its strategy is in doubt", "U U R N R R R R R", _doubt, remedy=_STATE),
    _row("brokers list different clients", "- X N N L L L L -", _lists_differ,
         partly="the clients of all lists"),
    _row("some clients do not report their queues", "U U N N N N N N -", _silent),
    _row("none of these", "- - - - - - - - -", _nothing),
)  # fmt: skip
"""The table; see the docstring of this module."""


# --- Decisions ---


def decide(
    group: Group,
    verb: Verb,
    unknown: Unknowns,
    topics: Sequence[str] | None = None,
    allow_partial: bool = False,
    clients_join: bool = False,
) -> Decision:
    """Decide whether a verb answers about a group.

    Parameters
    ----------
    group : Group
        With its strategy, see `rmqalloc.evidence.known`.
    verb : Verb
    unknown : Unknowns
        Facts that the group's snapshot does not have.
    topics : sequence of str, optional
        Requested topics; by default all topics of the group.
    allow_partial : bool
        True to answer from the known facts if a fact is missing.
    clients_join : bool
        True if a change adds clients to groups that may have none.

    Examples
    --------
    >>> from rmqalloc.snapshot import Snapshot
    >>> group = Group("g", clients=(Client("c"),), strategy="AVG", message_model="BROADCASTING")
    >>> decide(group, Verb.PLAN, Unknowns(Snapshot())).outcome.name
    'ANSWERED'
    >>> print(decide(group, Verb.COMPARE, Unknowns(Snapshot())))
    all its clients read every queue (BROADCASTING)
    """
    read = group.all_subscriptions if topics is None else topics
    facts, notes = _Facts(group, read, unknown, clients_join), list[tuple[str, str]]()
    for row in ROWS:
        reason = row.holds(facts)
        if reason is None:
            continue
        found = row.decision(verb, reason)
        if found.outcome is Outcome.LEFT_OUT and allow_partial:
            notes.append((reason, f"answered with {row.partly}"))
            continue
        return _with_notes(found, notes)
    raise AssertionError("the last row always holds")


def _with_notes(found: Decision, notes: Sequence[tuple[str, str]]) -> Decision:
    """Return a decision with notes on what the answer leaves out."""
    if not notes or not found.outcome.is_answer:
        return found
    return Decision(Outcome.NOTED, found.reason, partly=tuple(notes))


_ANSWERED = Decision(Outcome.ANSWERED)


def _is_ordinary(group: Group) -> bool:
    """Return whether nothing of the table holds of a group of which all is known, as of most."""
    is_divided = group.message_model == "CLUSTERING" and group.server_assignment is None
    is_given = group.strategy not in (None, "CONFIG") and group.strategy_doubt is None
    if not is_divided or not is_given or group.is_shared or group.lite_topic is not None:
        return False
    if group.broker_client_ids is not None or group.unknown:
        return False
    return len({client.owned is None for client in group.clients}) == 1


def _said_of(found: Decision) -> Iterator[tuple[str, str, str]]:
    """Yield the text of a decision: what stands before the names of groups, after them, and at the
    end of the line.
    """
    if found.outcome is Outcome.ANSWERED:
        return
    for reason, partly in found.partly:
        yield "", reason, f": {partly}"
    if found.reason:
        head = "" if found.outcome.is_answer else "left out: "
        yield head, found.reason, f"; {found.remedy}" if found.remedy else ""


class Decisions:
    """Decisions of one verb, by group."""

    def __init__(
        self,
        verb: Verb,
        unknown: Unknowns,
        allow_partial: bool = False,
        clients_join: bool = False,
    ) -> None:
        self._verb, self._unknown = verb, unknown
        self._allow_partial, self._clients_join = allow_partial, clients_join
        self._is_all_known = unknown.is_empty
        self.by_group: dict[str, Decision] = {}

    def is_answered(self, group: Group, topics: Sequence[str]) -> bool:
        """Decide about a group and its requested topics."""
        if self._is_all_known and _is_ordinary(group):
            self.by_group[group.name] = _ANSWERED
            return True
        found = decide(
            group, self._verb, self._unknown, topics, self._allow_partial, self._clients_join
        )
        self.by_group[group.name] = found
        return found.outcome.is_answer

    def warnings(self) -> Iterator[str]:
        """Yield the groups that are left out, refused or noted; texts with the same end share a
        line.
        """
        lines: dict[tuple[str, str], dict[str, list[str]]] = {}
        for name, found in self.by_group.items():
            for head, reason, tail in _said_of(found):
                reasons = lines.setdefault((head, tail), {})
                reasons.setdefault(reason, []).append(name)
        for (head, tail), reasons in lines.items():
            texts = [f"{named(names)}: {reason}" for reason, names in reasons.items()]
            yield f"{head}{'; '.join(texts)}{tail}"

    @property
    def worst(self) -> Outcome | None:
        """The outcome that decides the exit code of a verb: None if every group is answered."""
        found = {decision.outcome for decision in self.by_group.values() if decision.reason}
        worst = (Outcome.REFUSED, Outcome.LEFT_OUT, Outcome.NOT_DIVIDED)
        return next((outcome for outcome in worst if outcome in found), None)

    def check(self) -> None:
        """Raise `UnansweredError` if there are groups and none of them is answered."""
        worst = self.worst
        is_any = any(decision.outcome.is_answer for decision in self.by_group.values())
        if worst is not None and not is_any:
            text = "; ".join(self.warnings())
            raise UnansweredError(f"no group can be planned: {text}", worst)
