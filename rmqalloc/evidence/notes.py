"""Notes of an answer: the evidence of its strategies and the unknown facts, one line per kind of
fact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from rmqalloc.evidence.client_method import known_by_client
from rmqalloc.evidence.evidence import Evidence, evidence_of
from rmqalloc.evidence.known_snapshot import Known
from rmqalloc.results.and_more import first_of, named
from rmqalloc.snapshot.matching import ALL
from rmqalloc.snapshot.snapshot import Group, Snapshot, SourceError
from rmqalloc.snapshot.unknown import NotKnown, words_by_kind
from rmqalloc.text import matcher

IsSaid = Callable[[str, str], bool]
"""Whether an answer says something of a group, topic or broker."""

_MOST_DOUBTS = 5
_MOST_REASONS = 20
_MOST_SOURCES = 20


def notes_on(
    known: Known,
    evidence: Evidence,
    topics: Sequence[str] = ALL,
    is_planned: bool = False,
    is_said: IsSaid = lambda subject, statement: False,
    facts: Iterable[NotKnown] = (),
) -> Iterator[str]:
    """Yield the notes on an answer about the groups of a snapshot.

    Parameters
    ----------
    known : Known
    evidence : Evidence
        The evidence of the groups.
    topics : sequence of str
        Patterns of the requested topics.
    is_planned : bool
        True if the answer itself names doubts that were not accepted, as a plan does.
    is_said : callable
        Returns True if the answer has a text already.
    facts : iterable of NotKnown
        Further unknown facts.
    """
    mine = list(known.looked_at(topics))
    yield from evidence.notes()
    yield from _reported_otherwise(known, mine)
    if not is_planned or known.is_assumed:
        yield from _doubts(known, mine, is_said)
    open_facts = [
        fact
        for fact in dict.fromkeys((*facts, *_unknown_facts(known, mine, topics)))
        if not is_said(fact.subject, fact.reason)
    ]
    yield from (f"not known: {words}" for words in words_by_kind(open_facts))
    named_already = {fact.reason for fact in open_facts}
    yield from _lacks(known, evidence, lambda name, why: why in named_already or is_said(name, why))


def evidence_lines(snapshot: Snapshot, groups: Sequence[str] = ALL) -> Iterator[str]:
    """Return the evidence of the groups and the snapshot in a few lines.

    Parameters
    ----------
    snapshot : Snapshot
        With its strategies, see `with_strategies`.
    groups : sequence of str
        Patterns.

    Examples
    --------
    >>> from rmqalloc.evidence import with_strategies
    >>> unsure = Group("h", unknown={"clients": "a broker did not answer"})
    >>> list(evidence_lines(with_strategies(Snapshot(groups=(Group("g", strategy="AVG"), unsure)))))
    ['strategy AVG, assumed, owners not known: h', 'not known: clients of h (a broker did not answer)']
    """
    known = Known(snapshot, tuple(groups), _decided=snapshot)
    return notes_on(known, evidence_of(snapshot, groups), is_planned=True)


# --- Strategies ---


def _reported_otherwise(known: Known, groups: Iterable[Group]) -> Iterator[str]:
    """Yield which groups' clients all report another strategy than the snapshot states."""
    stated = {group.name: group.strategy for group in known.found.given.groups}
    texts = [
        f"the clients of {group.name} report {group.strategy}, which is used; the snapshot states {stated[group.name]}"
        for group in groups
        if group.strategy_source == "reported"
        and stated.get(group.name) not in (None, group.strategy)
    ]
    if texts:
        yield "; ".join(first_of(texts, _MOST_DOUBTS, "such group"))


def _doubts(known: Known, groups: Iterable[Group], is_said: IsSaid) -> Iterator[str]:
    """Yield which groups' strategies are in doubt, and why, but for what the answer says."""
    of_clients, of_group = dict[str, list[str]](), dict[str, list[str]]()
    for group in groups:
        why = group.strategy_doubt
        if why is None or not group.clients or is_said(group.name, why):
            continue
        found = of_clients if known_by_client(group) else of_group
        found.setdefault(why, []).append(group.name)
    accepted = " and accepted" if known.is_assumed else ""
    for found, what in (
        (of_clients, "the clients of {} use different strategies"),
        (of_group, f"the strategy of {{}} is in doubt{accepted}"),
    ):
        texts = [f"{what.format(named(names))}: {why}" for why, names in found.items()]
        if texts:
            yield "; ".join(first_of(texts, _MOST_DOUBTS, "reason"))


# --- Facts that are not known ---


def _unknown_facts(
    known: Known, groups: Iterable[Group], topics: Sequence[str]
) -> Iterator[NotKnown]:
    """Yield what the snapshot says is not known of groups, of the topics that they read and of
    their brokers.
    """
    silent = {broker.broker_name for broker in known.given.brokers if broker.is_silent}
    is_read = matcher(tuple(topics))
    routes = {topic.name: topic for topic in known.given.topics if silent or topic.unknown}
    for group in groups:
        for kind, reason in group.unknown.items():
            yield NotKnown(kind, group.name, reason)
        names = group.all_subscriptions if routes else ()
        for topic in (routes[name] for name in names if name in routes and is_read(name)):
            for kind, reason in topic.unknown.items():
                yield NotKnown(kind, topic.name, reason)
            for broker in topic.brokers:
                if broker.broker_name in silent:
                    yield NotKnown("brokers", broker.broker_name, "it does not answer")


# --- Requests that failed ---


def _lacks(known: Known, evidence: Evidence, is_said: IsSaid) -> Iterator[str]:
    """Yield what could not be asked or read, and which groups it concerns."""
    errors = [
        error
        for error in known.given.errors
        if not is_said("", f"{error.source}: {error.request}: {error.message}")
    ]
    yield from lacks_lines(errors)
    if errors and (concerned := evidence.lacking_something()):
        yield f"data missing from the snapshot affects {named(concerned)}"


def lacks_lines(errors: Iterable[SourceError]) -> Iterator[str]:
    """Yield the data that a snapshot lacks, a line for each reason: a single broker that is down
    may fail a thousand requests.

    Examples
    --------
    >>> failed = [SourceError("broker b", request, "timeout") for request in ("X g", "X h")]
    >>> list(lacks_lines([*failed, SourceError("broker c", "X g", "timeout")]))
    ['the snapshot lacks X g, X h of broker b, X g of broker c: timeout']
    """
    reasons: dict[str, dict[str, list[str]]] = {}
    for error in errors:
        of_sources = reasons.setdefault(error.message, {})
        of_sources.setdefault(error.source, []).append(error.request)
    lines = []
    for message, of_sources in reasons.items():
        lacking = [f"{named(failed)} of {source}" for source, failed in of_sources.items()]
        lacking = first_of(lacking, _MOST_SOURCES, "source")
        lines.append(f"the snapshot lacks {', '.join(lacking)}: {message}")
    yield from first_of(lines, _MOST_REASONS, "reason why something is lacking")
