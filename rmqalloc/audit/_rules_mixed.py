"""Rules on groups whose clients differ in strategy, subscriptions, language, release, routes or
client lists.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from rmqalloc.audit._audited_group import AuditedGroup
from rmqalloc.audit._rules_filters import mixed_filters
from rmqalloc.audit._signs import NONE, Sign
from rmqalloc.audit.finding import COMPUTED, Fault, exposed, rule
from rmqalloc.evidence.method import DEFAULT_STRATEGY
from rmqalloc.evidence.views.group_views import seen_queues
from rmqalloc.evidence.views.unit_views import Queues, UnitViews
from rmqalloc.model import RETRY_PREFIX, MessageQueue
from rmqalloc.results.and_more import named
from rmqalloc.strategies import sort_client_ids, sort_queues
from rmqalloc.strategies.by_name import outer_name
from rmqalloc.strategies.dialects import DIALECTS, JAVA, dialect_of
from rmqalloc.text import counted


@rule(
    "mixed-strategies",
    title="Different strategies in one group",
    description="Every client computes the allocation alone and assumes that all clients use the same strategy.",
    help="Give all clients the same strategy.",
    severity="error",
    signs=Sign.KINDS,
    needs=("clients",),
)
def mixed_strategies(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield clients that divide by different strategies."""
    names = [method.name for method in audited.methods]
    if audited.is_clustering and len(set(names)) > 1:
        units = []
        for unit in audited.units:
            if len({view.method.name for view in unit.views}) > 1:
                units.append(unit)
        yield _mixed(
            audited,
            units,
            names,
            "Clients use different strategies",
            "Give all clients the same strategy, and change it for all clients at once: while two strategies are in use, "
            "queues have no owner or two owners.",
        )


@rule(
    "mixed-virtual-nodes",
    title="Different numbers of virtual nodes in one group",
    description="Rings with different numbers of virtual nodes give queues different owners.",
    help="Give all clients the same number of virtual nodes.",
    severity="error",
    signs=Sign.KINDS,
    needs=("clients",),
)
def mixed_virtual_nodes(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield clients on rings of different sizes."""
    nodes = [
        None if method.virtual_nodes is None else f"{method.virtual_nodes} virtual nodes"
        for method in audited.methods
    ]
    if audited.is_clustering and not audited.is_served and len(set(filter(None, nodes))) > 1:
        yield _mixed(
            audited,
            audited.units,
            nodes,
            "Clients use different numbers of virtual nodes",
            "Give all clients the same number of virtual nodes.",
        )


def _mixed(
    audited: AuditedGroup,
    units: Sequence[UnitViews],
    kinds: Sequence[str | None],
    what: str,
    advice: str,
) -> Fault:
    """Return the fault of clients that differ in something, with the queues that are unowned or
    double-owned.
    """
    outcome = _outcome(audited, units)
    return Fault(
        f"{what} ({_counts(kinds)}); {outcome.words}.",
        advice,
        queues=outcome.queues,
        clients=_minority(audited, kinds),
        severity=outcome.severity,
    )


class _Outcome(NamedTuple):
    """The effect of different views on queues: unowned and double-owned ones."""

    words: str
    queues: Queues
    severity: str


def _outcome(audited: AuditedGroup, units: Sequence[UnitViews]) -> _Outcome:
    # What an incomplete snapshot leaves open is no fault of the clients.
    sure = [unit for unit in units if not unit.unsure]
    unowned = list(chain.from_iterable(map(audited.unowned, sure)))
    double = list(chain.from_iterable(map(audited.double_owned, sure)))
    doubts = [unit.problem or audited.states.doubt for unit in units]
    unknown = [doubt for doubt in doubts if doubt is not None]
    is_open = any(unit.problem is not None and unit.unknown is None for unit in sure)
    is_open = is_open or audited.states.doubt is not None
    words = f"by all that is known of the clients, {exposed(len(unowned), len(double))}"
    if unknown:
        words = f"the effect on owners is not known: {unknown[0]}"
    severity = "error" if unowned or double or is_open else "warning"
    return _Outcome(words, tuple(sort_queues({*unowned, *double})), severity)


def _counts(kinds: Sequence[str | None]) -> str:
    """Return how many clients there are of each kind."""
    counts = Counter(filter(None, kinds))
    return ", ".join(f"{kind}: {counted(counts[kind], 'client')}" for kind in sorted(counts))


def _minority(audited: AuditedGroup, kinds: Sequence[Hashable]) -> tuple[str, ...]:
    """Return clients that are not of the most frequent kind; ties go to the group's strategy, then
    to the first by name.
    """
    counts: dict[Any, int] = {}
    for kind in kinds:
        if kind is not None:
            counts[kind] = counts.get(kind, 0) + 1
    usual = min(
        counts,
        key=lambda kind: (-counts[kind], not str(kind).startswith(audited.strategy), str(kind)),
    )
    return audited.ids(
        slot for slot, kind in enumerate(kinds) if kind is not None and kind != usual
    )


@rule(
    "mixed-subscriptions",
    title="Different subscriptions in one group",
    description=(
        "A topic's queues are divided among all clients of the group, also if some do not subscribe to it, and every "
        "heartbeat replaces the broker's subscription table with that client's. If clients have different tags or SQL92 "
        "conditions for a topic, a message that the owner of its queue excludes is skipped permanently."
    ),
    help="Give all clients of a group the same topics and tags.",
    severity="error",
    signs=Sign.FILTERS,
    needs=("clients", "subscriptions"),
)
def mixed_subscriptions(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield clients of a group that subscribe to different topics, or take different messages of
    one.
    """
    yield from _mixed_topics(audited)
    yield from mixed_filters(audited)


def _mixed_topics(audited: AuditedGroup) -> Iterator[Fault]:
    reported = [
        None if client.subscriptions is None else _own(client.subscriptions)
        for client in audited.clients
    ]
    known = {topics for topics in reported if topics is not None}
    if len(known) < 2:
        return
    apart = frozenset.union(*known) - frozenset.intersection(*known)
    units = [unit for unit in audited.units if unit.topic in apart]
    dark = list(chain.from_iterable(map(audited.unowned, units)))
    lacking = audited.ids(
        slot for slot, names in enumerate(reported) if names is not None and not names >= apart
    )
    makes = "and every heartbeat replaces the broker's subscription table with that client's"
    if dark:
        makes = f"but its queues are divided among all clients: that leaves {counted(len(dark), 'queue')} without an owner"
    topics = named(sorted(apart))
    yield Fault(
        f"{len(lacking):,} of {counted(len(audited.clients), 'client')} do not subscribe to all of {topics}, {makes}.",
        "Give all clients of a group the same topics and tags; give clients with other subscriptions their own group.",
        topic=min(apart) if len(apart) == 1 else None,
        queues=tuple(sort_queues(dark)),
        clients=lacking,
        severity="error" if dark else "warning",
    )


def _own(topics: Sequence[str]) -> frozenset[str]:
    return frozenset(topic for topic in topics if not topic.startswith(RETRY_PREFIX))


@rule(
    "mixed-languages",
    title="Different SDKs in one group",
    description=(
        "SDKs use the same names for different strategies: Go's CONSISTENT_HASH, AllocateByMachineNearby and "
        "AllocateByMachineRoom differ from Java's, and the C++ client has only AVG. The allocations that clients compute "
        "are compared."
    ),
    help="Use one SDK in a group, or use AVG.",
    severity="error",
    signs=Sign.KINDS,
    needs=("clients",),
)
def mixed_languages(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield SDKs of different languages in one group."""
    languages = [client.language for client in audited.clients]
    sdks = ["JAVA" if dialect_of(language) == JAVA else language for language in languages]
    known = {sdk for sdk in sdks if sdk is not None}
    if len(known) < 2 or not audited.is_clustering or audited.is_served:
        return
    units = []
    for unit in audited.units:
        if len({view.method for view in unit.views}) > 1:
            units.append(unit)
    outcome = _outcome(audited, units)
    why = f"they agree on {audited.strategy} as long as all see the same queues and clients in the same order"
    severity = "note"
    if differs := _dialects(audited.strategy, known):
        why, severity = f"{'; '.join(differs)}; {outcome.words}", outcome.severity
    keep = "keep" if audited.strategy == DEFAULT_STRATEGY else "use"
    yield Fault(
        f"Clients of different SDKs share the group ({_counts(languages)}): {why}.",
        f"Use one SDK in a group, or {keep} {DEFAULT_STRATEGY}, which all SDKs compute alike.",
        queues=outcome.queues if differs else (),
        clients=_minority(audited, sdks),
        severity=severity,
    )


def _dialects(strategy: str, languages: set[str]) -> list[str]:
    """Return how what the SDKs compute differs from Java under the name of a strategy."""
    found, outer = [], outer_name(strategy)
    for dialect in DIALECTS.values():
        used = sorted(languages.intersection(dialect.languages))
        if used and outer in dialect.differs:
            found.append(dialect.differs[outer])
        elif used and outer not in dialect.made:
            alone = f"have only {dialect.only}" if dialect.only else f"have no {outer}"
            found.append(
                f"{' and '.join(used)} clients {alone}, and the group should use {strategy}"
            )
    return found


@rule(
    "mixed-versions",
    title="Releases of different major numbers in one group",
    description=(
        "Java clients before 5.0 use different rebalance timers and never let brokers assign their queues. Only clients of "
        "one language are compared, because SDKs other than Java's report a fixed version (Go: 4.5.2)."
    ),
    help="Finish the upgrade.",
    severity="warning",
    signs=Sign.KINDS,
    needs=("clients",),
)
def mixed_versions(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield releases of different major numbers among the clients of one language.

    Clients report the number of a Java release (``MQVersion``). SDKs of other languages report a
    fixed number (every release of Go's reports 4.5.2), so numbers of different languages cannot be
    compared.
    """
    majors = [_major(client.version) for client in audited.clients]
    kinds: dict[str, list[str | None]] = {}
    for language in sorted({client.language or "" for client in audited.clients}):
        of_language = [
            major if (client.language or "") == language else None
            for client, major in zip(audited.clients, majors, strict=True)
        ]
        if len(set(filter(None, of_language))) > 1:
            kinds[language] = [major and f"{language} {major}".strip() for major in of_language]
    if not kinds or not audited.is_clustering:
        return
    counts = ", ".join(map(_counts, kinds.values()))
    releases = _releases(audited, not kinds.keys().isdisjoint(_OF_JAVAS_NUMBERS))
    fewer = (_minority(audited, of_language) for of_language in kinds.values())
    yield Fault(
        f"Clients of one language and different releases share the group ({counts}): {releases.differ}.",
        releases.advice,
        clients=tuple(sort_client_ids(set(chain.from_iterable(fewer)))),
        severity=releases.severity,
    )


_OF_JAVAS_NUMBERS = ("JAVA", "")  # a client of unknown language is most likely Java's


def _major(version: str | None) -> str | None:
    if version is None or not version[:1].isdigit():
        return None
    return f"{version.partition('.')[0]}.x"


class _Releases(NamedTuple):
    """What releases differ in, and what to do."""

    differ: str
    severity: str
    advice: str


def _releases(audited: AuditedGroup, of_java: bool) -> _Releases:
    if not of_java:
        return _Releases(
            "how these releases of the SDK differ is not known",
            "note",
            "Finish the upgrade.",
        )
    if audited.is_served:
        return _Releases(
            "Java clients before 5.0 do not let brokers assign queues and divide the queues themselves",
            "warning",
            "Finish the upgrade before brokers assign the queues.",
        )
    return _Releases(
        "before 5.0, Java's ring hashes ids in the platform's charset, and a rebalance is retried only after 20 s",
        "note",
        "Finish the upgrade; meanwhile, ASCII ids give the same allocation.",
    )


@rule(
    "stale-route",
    title="Client with an old route",
    description="Clients that see different queues divide different queues: some queues are then unowned and some "
    "double-owned.",
    help="Wait for the next route poll (30 s); if the finding persists, check the client's name servers.",
    severity="warning",
    signs=NONE,
    needs=COMPUTED,
)
def stale_route(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield clients whose route of a topic is not the name server's."""
    if not audited.is_clustering:
        yield from _unseen(audited)
    elif audited.is_served:
        return
    for unit in audited.units:
        old = [view for view in unit.views if view.queues != unit.queues]
        stale = set[int]().union(*(unit.acting[id(view)] for view in old))
        if stale:
            seen = set[MessageQueue]().union(*(view.queues for view in old))
            unowned, double = audited.unowned(unit), audited.double_owned(unit)
            at_risk = {*unowned, *double}
            yield _stale(
                audited,
                unit.topic,
                slots=stale,
                makes=_makes(unit, unowned, double),
                gone=seen.difference(unit.queues),
                queues=[queue for queue in unit.queues if queue in at_risk],
            )


def _unseen(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield clients that each read every queue they see, and see others than there are."""
    for topic in audited.with_retry:
        queues = audited.queues_of(topic)
        seen = {
            slot: seen_queues(audited.clients[slot], topic, queues)
            for slot in audited.subscribers(topic)
        }
        stale = {slot: of_slot for slot, of_slot in seen.items() if of_slot != queues}
        if stale and queues:
            of_all = set(queues).intersection(*stale.values())
            missed = [queue for queue in queues if queue not in of_all]
            yield _stale(
                audited,
                topic,
                slots=stale,
                makes=f"they do not read {counted(len(missed), 'queue')}",
                gone=set[MessageQueue]().union(*stale.values()).difference(queues),
                queues=missed,
            )


def _stale(
    audited: AuditedGroup,
    topic: str,
    *,
    slots: Collection[int],
    makes: str,
    gone: Collection[MessageQueue],
    queues: Sequence[MessageQueue],
) -> Fault:
    beyond = f", and {counted(len(gone), 'queue')} that they see do not exist" if gone else ""
    return Fault(
        f"{len(slots):,} of {counted(len(audited.clients), 'client')} have a route of {topic} that differs from the name "
        f"server's: {makes}{beyond}.",
        "Wait 30 s, until clients have polled the route again; if the finding persists, check the name servers of these "
        "clients.",
        topic=topic,
        queues=tuple(queues),
        clients=audited.ids(slots),
    )


@rule(
    "split-client-list",
    title="Brokers list different clients",
    description=(
        "Every client requests the client list from a random broker of the topic. If the lists differ, so do the allocations."
    ),
    help="Wait for the next heartbeats (30 s); if the finding persists, find the clients that cannot reach every broker.",
    severity="warning",
    signs=NONE,
    needs=("clients",),
)
def split_client_list(audited: AuditedGroup) -> Iterator[Fault]:
    """Yield brokers that list different clients, each client asking one of them at random."""
    for unit in audited.units:
        listed = {view.client_ids for view in unit.views}
        if len(listed) < 2:
            continue
        unowned = unit.where(unit.always, lambda n: n == 0)
        double = () if unit.is_pop else unit.where(unit.perhaps, lambda n: n > 1)
        at_risk = {*unowned, *double} - {*audited.unowned(unit), *audited.double_owned(unit)}
        sizes, counts = sorted(map(len, listed)), list(map(Counter, listed))
        slots = []
        for slot, client_id in enumerate(unit.client_ids):
            if len({count[client_id] for count in counts}) > 1:
                slots.append(slot)
        yield Fault(
            f"Brokers of {unit.topic} list different clients ({' or '.join(map(str, sizes))}), "
            f"and every client requests the list of a random broker: {_makes(unit, unowned, double, 'at worst ')}.",
            "Wait for the next heartbeats (30 s); if the finding persists, find the clients that cannot reach every broker "
            "of the topic.",
            topic=unit.topic,
            queues=tuple(queue for queue in unit.queues if queue in at_risk),
            clients=unit.ids(slots),
        )


def _makes(unit: UnitViews, unowned: Queues, double: Queues, when: str = "") -> str:
    """Return how many queues of a unit different views leave unowned and double-owned."""
    if unit.problem is not None:
        return f"the effect on owners is not known ({unit.problem})"
    return when + exposed(len(unowned), len(double))
