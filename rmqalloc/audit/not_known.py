"""What an audit could not decide: the facts that its rules need and the snapshot does not have."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from rmqalloc.audit._audited_group import AuditedGroup
from rmqalloc.audit._rules import RULES
from rmqalloc.audit._signed_groups import SignedGroup
from rmqalloc.audit._signs import OF_OWNERS, Sign
from rmqalloc.audit.reach import topics_without_group
from rmqalloc.evidence.views.group_views import is_clustering
from rmqalloc.model import RETRY_PREFIX
from rmqalloc.results.and_more import named
from rmqalloc.snapshot.snapshot import Snapshot
from rmqalloc.snapshot.unknown import KINDS, NotKnown, Unknowns, words_by_kind
from rmqalloc.text import printable

_LISTS = ("clients", "subscriptions")
_NO_LAGS = "none are known"

_LACKING = OF_OWNERS | Sign.ROUTES | Sign.BROKERS
"""Signs of groups of which something may not be known."""

_OF_READERS = ("clients", "subscriptions", "owners", "routes", "brokers")


def not_known(
    looked_at: Sequence[SignedGroup],
    snapshot: Snapshot,
    rules: Collection[str],
    has_topic: Callable[[str], object],
    is_whole: bool,
) -> tuple[NotKnown, ...]:
    """Return facts that some of the rules need and that are not known, by kind."""
    kinds = set[str]().union(*(RULES[rule].needs for rule in rules))
    if "no-consumer" in rules:  # who reads what is looked at too
        kinds.update(_OF_READERS)
    found: dict[NotKnown, None] = {}
    for signed in looked_at:
        if signed.signs & _LACKING:
            found |= dict.fromkeys(_of_group(signed.audited, has_topic))
    found |= dict.fromkeys(_lags(looked_at, Unknowns(snapshot)))
    if is_whole:
        found |= dict.fromkeys(_of_all(snapshot, has_topic))
    return tuple(sorted(fact for fact in found if fact.kind in kinds))


def not_known_of_group(
    signed: SignedGroup, kinds: Collection[str], has_topic: Callable[[str], object]
) -> tuple[NotKnown, ...]:
    """Return facts of these kinds that are not known of one group; lags aside."""
    if not signed.signs & _LACKING:
        return ()
    found = dict.fromkeys(_of_group(signed.audited, has_topic))
    return tuple(sorted(fact for fact in found if fact.kind in kinds))


def _of_group(audited: AuditedGroup, has_topic: Callable[[str], object]) -> Iterator[NotKnown]:
    name = audited.group.name
    for kind in (*_LISTS, "brokers"):
        why = audited.why_unknown(kind)
        # What else a group without clients subscribes to decides nothing where its offsets say what
        # waits for it.
        is_decided = kind == "subscriptions" and not audited.clients and audited.group.subscriptions
        if why and (not is_decided or audited.why_unknown("clients")):
            yield NotKnown(kind, name, why)
    if audited.reported.any_answer and audited.reported.silent:
        # Who reads what does not depend on it where every client reads everything.
        yield NotKnown(
            "owners",
            name,
            f"{named(audited.reported.silent)} did not report",
            not audited.is_clustering,
        )
    elif audited.clients and (why := audited.why_unknown("owners")):
        yield NotKnown("owners", name, why, not audited.is_clustering)
    for topic in filter(has_topic, audited.with_retry):
        route = audited.routes.get(topic)
        why = audited.unknown.why("routes", topic) or (
            None if route else audited.unknown.why_more("routes")
        )
        if why and not topic.startswith(RETRY_PREFIX):
            yield NotKnown("routes", topic, why)
        for broker in route.brokers if route else ():
            if broker.broker_name in audited.silent_brokers:
                yield NotKnown("brokers", broker.broker_name, "it does not answer")


def _lags(looked_at: Sequence[SignedGroup], unknown: Unknowns) -> Iterator[NotKnown]:
    """Yield groups of which no lag is known: what waits for them is not seen, which alone puts
    nothing in doubt.
    """
    without = _without_lags(looked_at, unknown)
    if len(without) == len(looked_at) and {*without.values()} == {_NO_LAGS}:
        without = {"": "no lags are known"}
    yield from (NotKnown("lags", name, why, True) for name, why in without.items())


def _without_lags(looked_at: Sequence[SignedGroup], unknown: Unknowns) -> dict[str, str]:
    """Return groups of which not all lags are known, and why."""
    found = {}
    for group in (signed.group for signed in looked_at):
        if not is_clustering(group):
            continue
        why = unknown.why("lags", group.name)
        if why or not group.lags:
            found[group.name] = why or _NO_LAGS
    return found


def not_known_kinds(
    looked_at: Sequence[SignedGroup], snapshot: Snapshot, has_topic: Callable[[str], object]
) -> dict[str, list[str]]:
    """Return kinds of facts that are not known of groups, by group; only groups that lack some."""
    found: dict[str, set[str]] = {}
    for signed in looked_at:
        if signed.signs & _LACKING:
            kinds = {fact.kind for fact in _of_group(signed.audited, has_topic)}
            if kinds:
                found[signed.group.name] = kinds
    for name in _without_lags(looked_at, Unknowns(snapshot)):
        found.setdefault(name, set()).add("lags")
    return {name: sorted(kinds, key=KINDS.index) for name, kinds in found.items()}


def _of_all(snapshot: Snapshot, has_topic: Callable[[str], object]) -> Iterator[NotKnown]:
    """Yield what there may be besides, groups that may read topics of which no known one reads, and
    routes asked for in vain.
    """
    if not snapshot.topics and not snapshot.groups:
        yield NotKnown("routes", "", "the snapshot has neither a topic nor a group")
    unknown = Unknowns(snapshot)
    declared = {(fact.kind, fact.reason) for fact in unknown.scope()}
    for kind in ("subscriptions", "routes"):
        if why := unknown.why_more(kind):
            is_at_stake = kind == "subscriptions" and topics_without_group(snapshot, has_topic)
            yield NotKnown(kind, "", why, (kind, why) in declared and not is_at_stake)
    for fact in unknown:
        if fact.kind == "routes" and fact.subject and has_topic(fact.subject):
            yield fact


def not_known_words(found: Iterable[NotKnown]) -> str:
    """Return what is not known, by kind, as the end of a sentence.

    Examples
    --------
    >>> not_known_words([NotKnown("clients", "a", "no list is given"), NotKnown("clients", "b", "no list is given")])
    'clients of a, b (no list is given)'
    """
    return "; ".join(words_by_kind(found))


def scope_words(found: Iterable[NotKnown]) -> str:
    """Return what was not given of all that there may be.

    Examples
    --------
    >>> scope_words([NotKnown("lags", "a", "none are known", True), NotKnown("lags", "b", "none are known", True)])
    'lags of a, b: none are known'
    """
    parts = []
    for (kind, reason), subjects in _by_reason(found).items():
        text = printable(reason)
        if all(subjects):
            text = f"{kind} of {named([*map(printable, subjects)])}: {text}"
        parts.append(text)
    return "; ".join(parts)


def _by_reason(found: Iterable[NotKnown]) -> dict[tuple[str, str], list[str]]:
    """Return what each kind and reason is about, in the order in which they first come."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for fact in found:
        by_reason.setdefault((fact.kind, fact.reason), []).append(fact.subject)
    return by_reason
