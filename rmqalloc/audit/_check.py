"""The audit of a snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rmqalloc.audit._rules import RULES
from rmqalloc.audit._signed_groups import ChosenGroups, SignedGroup, chosen_groups
from rmqalloc.audit._signs import Sign
from rmqalloc.audit.finding import SEVERITIES, Finding, Rule
from rmqalloc.audit.findings import Findings
from rmqalloc.audit.not_known import not_known
from rmqalloc.audit.reach import reach_of
from rmqalloc.audit.rules_planned import Planned, absent_groups
from rmqalloc.documents.memory import no_collection
from rmqalloc.errors import ArgumentError
from rmqalloc.evaluation.differing import evidence_known
from rmqalloc.evidence import Known
from rmqalloc.evidence.inferred_strategies import OwnedQueues, candidates, fits_of
from rmqalloc.evidence.method import Rooms
from rmqalloc.snapshot.matching import ALL
from rmqalloc.snapshot.snapshot import Snapshot
from rmqalloc.strategies import sort_client_ids
from rmqalloc.text import did_you_mean


@no_collection()
def check_snapshot(
    snapshot: Snapshot | Known,
    groups: Sequence[str] = ALL,
    topics: Sequence[str] = ALL,
    rules: Iterable[str] | None = None,
    planned: Planned | None = None,
    seen_for: Mapping[tuple[str, str], float] | None = None,
) -> Findings:
    """Check a snapshot for faults of ownership and configuration.

    The queues that each client should own are computed from its own strategy, client list, routes
    and subscriptions. They are compared with the queues that clients report, if the snapshot has
    these.

    Parameters
    ----------
    snapshot : Snapshot or Known
    groups, topics : sequence of str
        Patterns as in `fnmatch.fnmatchcase`. A group is checked if it matches and subscribes to a
        topic that matches; findings about topics that do not match are left out.
    rules : iterable of str, optional
        Keys of `RULES` to apply; all by default.
    planned : mapping of consumer group to mapping of MessageQueue to client id, optional
        Owners to compare with, see `rmqalloc.audit.owners_after`; None for an unowned queue, a
        tuple for several owners.
    seen_for : mapping of (consumer group, client id) to float, optional
        Least age of clients in seconds, from earlier readings: new clients may not own their queues
        yet.

    Returns
    -------
    Findings
        By consumer group, most severe first, then in the order of `RULES`, then by topic; equal for
        equal snapshots. Its tables ``unread`` and ``reach`` state the readers of every queue,
        independent of ``rules``.

    Raises
    ------
    NoMatchError
        A pattern matches nothing.
    ValueError
        A rule is unknown, two groups or topics have one name, or a topic has too many queues to be
        checked.

    Examples
    --------
    >>> from rmqalloc.snapshot import Client, Group, Topic, TopicBroker
    >>> topic = Topic("T", (TopicBroker("b", 4),))
    >>> snapshot = Snapshot((topic,), (Group("g", ("T",), (Client("c1"), Client("c1")), strategy="AVG"),))
    >>> [(finding.rule, [queue.queue_id for queue in finding.queues]) for finding in check_snapshot(snapshot)]
    [('unowned-queue', [2, 3]), ('double-owned-queue', [0, 1]), ('duplicate-client-id', [])]
    """
    ages: dict[str, dict[str, float]] = {}
    for (name, client_id), age in (seen_for or {}).items():
        ages.setdefault(name, {})[client_id] = age
    followed = _known_rules(RULES if rules is None else rules)
    # decide: the strategy of each group
    known = Known.of(snapshot, groups)
    # lay out: the groups with something unusual, client by client
    chosen = chosen_groups(known, groups, topics, planned, ages)
    return findings_of(known, chosen, followed, planned)


def findings_of(
    known: Known,
    looked_at: ChosenGroups,
    rules: Sequence[str] = tuple(RULES),
    planned: Planned | None = None,
) -> Findings:
    """Return the findings of some rules in groups that were chosen already: the steps of
    docs/contributors/how-it-works.md after the views are laid out.
    """
    snapshot, has_topic, is_whole = known.snapshot, looked_at.has_topic, looked_at.is_whole
    # assign: the strategies that explain owners other than the computed ones
    if "differs-from-expected" in rules:
        _fit_strategies(looked_at.all, snapshot)
    # compare: what each rule finds
    wanted = [RULES[name] for name in rules]
    found = [*_found(looked_at.all, wanted), *_found_in_cluster(looked_at, snapshot, wanted)]
    if "differs-from-plan" in rules:
        found += _found_in_absent_groups(looked_at, snapshot, planned or {})
    kept = [finding for finding in found if finding.topic is None or has_topic(finding.topic)]
    in_order = sorted(dict.fromkeys(kept), key=_by_group_and_severity)
    # answer
    reach = reach_of(looked_at.all, snapshot, has_topic, is_whole)
    missing = not_known(looked_at.all, snapshot, rules, has_topic, is_whole)
    return Findings(in_order, reach, evidence_known(known), missing, known.given.sources)


def _by_group_and_severity(finding: Finding) -> tuple[str, int]:
    return finding.consumer_group, SEVERITIES.index(finding.severity)


def _found(groups: Sequence[SignedGroup], rules: Sequence[Rule]) -> list[Finding]:
    """Return what the rules find in groups that have something unusual."""
    of_signs: dict[int, list[Rule]] = {}  # many groups have the same signs
    found: list[Finding] = []
    for signed in groups:
        if signed.signs not in of_signs:
            of_signs[signed.signs] = [rule for rule in rules if rule.is_asked(signed.signs)]
        for rule in of_signs[signed.signs]:
            found += rule.findings(signed)
    return found


def _found_in_cluster(
    looked_at: ChosenGroups, snapshot: Snapshot, rules: Sequence[Rule]
) -> list[Finding]:
    """Return what the rules find that look at the whole snapshot, of no group or a chosen one."""
    found: list[Finding] = []
    for rule in rules:
        found += rule.findings_in_cluster(snapshot)
    return [
        finding
        for finding in found
        if not finding.consumer_group or looked_at.has_name(finding.consumer_group)
    ]


def _found_in_absent_groups(
    looked_at: ChosenGroups, snapshot: Snapshot, planned: Planned
) -> list[Finding]:
    """Return findings about groups of a plan that the snapshot does not have."""
    names = {group.name for group in snapshot.groups}
    found = []
    for finding in absent_groups(planned, names):
        has_queue = any(looked_at.has_topic(queue.topic) for queue in finding.queues)
        if has_queue and looked_at.has_name(finding.consumer_group):
            found.append(finding)
    return found


def _known_rules(rules: Iterable[str]) -> list[str]:
    wanted = list(rules)
    if strange := [name for name in wanted if name not in RULES]:
        raise ArgumentError(
            f"unknown rule {strange[0]!r}; known are {', '.join(RULES)}{did_you_mean(strange[0], RULES)}"
        )
    return [name for name in RULES if name in wanted]


def _fit_strategies(groups: Sequence[SignedGroup], snapshot: Snapshot) -> None:
    """Find the strategies that explain the owners of groups with owners that no strategy in use
    gives.
    """
    owned, audited_groups = [], []
    for signed in groups:
        if not signed.signs & Sign.OWNED or signed.is_ordinary or not signed.audited.elsewhere:
            continue
        audited = signed.audited
        units = [unit for unit in audited.units if not unit.is_pop]
        ids = tuple(sort_client_ids(audited.group.client_ids))
        queues = [unit.queues for unit in units]
        owners = [audited.reported.single(unit) for unit in units]
        owned.append(OwnedQueues(audited.group.name, ids, queues, owners))
        audited_groups.append(audited)
    if not owned:
        return
    rooms = Rooms.of(snapshot)
    fits = fits_of(owned, [candidates(rooms)] * len(owned), rooms)
    for audited, fit in zip(audited_groups, fits, strict=True):
        audited.fit = fit
