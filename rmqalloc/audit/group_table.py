"""Every consumer group of a snapshot in one row, worst first; each figure comes from the room that
computes it.

Who owns what is the table of states, what is wrong are the findings of a check, who reads what is
its reach. Of a group of which something is not known, the figures that depend on it are
null.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

import pyarrow as pa

from rmqalloc.audit._check import findings_of
from rmqalloc.audit._owner_signs import computed_owners
from rmqalloc.audit._signed_groups import ChosenGroups, SignedGroup, chosen_groups
from rmqalloc.audit._written import readable_counts
from rmqalloc.audit.finding import SEVERITIES
from rmqalloc.audit.findings import Findings
from rmqalloc.audit.not_known import not_known_kinds
from rmqalloc.audit.reach import reach_of
from rmqalloc.dataclass import dataclass
from rmqalloc.documents.memory import no_collection
from rmqalloc.evidence import Known
from rmqalloc.evidence.views.without_owners import sharing_of
from rmqalloc.ownership.owner_figures import OwnerFigures, figures_of
from rmqalloc.results import TableResult
from rmqalloc.results import compute as pc
from rmqalloc.results.renderer import order_of
from rmqalloc.results.schemas import columns, table_of
from rmqalloc.snapshot.matching import ALL
from rmqalloc.snapshot.snapshot import Group, Snapshot
from rmqalloc.snapshot.unknown import Unknowns
from rmqalloc.text import counted

GROUP_LIST_SCHEMA = columns(
    "consumer_group: string",
    "n_clients n_topics n_queues: int64",
    "strategy strategy_source: string",
    "messages idle unowned double_owned unread: int64",
    "skew: float64",
    "errors warnings notes: int64",
    "worst: string",
    "not_known: [string]",
)
"""Columns of `GroupList.groups`."""

_SEVERITIES = [f"{severity}s" for severity in SEVERITIES]
_IN_ORDER = (
    *("consumer_group", "n_clients", "n_topics", "n_queues", "messages"),
    *("strategy", "strategy_source", *OwnerFigures._fields, "worst", *_SEVERITIES),
    *("unread", "not_known"),
)
_ROWS = pa.schema(map(GROUP_LIST_SCHEMA.field, _IN_ORDER))
"""The same columns in the order in which rows are made."""

_NO_FINDINGS = (None, *(0 for _ in SEVERITIES))
_NO_FIGURES = (None,) * len(OwnerFigures._fields)
_DECIDING = frozenset(("clients", "subscriptions", "routes"))
"""Kinds of facts without which who owns what is not computed."""


@dataclass(frozen=True, eq=False, repr=False)
class GroupList(TableResult):
    """All consumer groups, one row each; the result of `group_list`.

    Attributes
    ----------
    groups : pyarrow.Table
        `GROUP_LIST_SCHEMA`, worst first. ``n_topics`` counts subscribed topics without retry
        topics. ``strategy`` is "POP", "PROXY" or "BROADCASTING" where clients share queues,
        ``strategy_source`` as in `rmqalloc.plans.Plan.evidence`. ``messages`` is the lag. ``idle``,
        ``unowned``, ``double_owned`` and ``skew`` are figures of the present owners, null if the
        owners are not known; ``unread`` counts unread queues that hold or get messages. ``errors``,
        ``warnings`` and ``notes`` count the findings of `rmqalloc.check`, ``worst`` is the rule of
        the most severe one. ``not_known`` are kinds of facts that the snapshot lacks; figures that
        depend on them are null.
    findings : Findings
        The findings that are counted, with findings that are not about a single group.
    """

    TABLES: ClassVar = ("groups",)
    NOTES: ClassVar = ()
    SHOWN: ClassVar = (
        *("consumer_group", "n_clients", "n_topics", "n_queues", "strategy", "messages"),
        *("unowned", "double_owned", "unread", "idle", "worst"),
    )
    _drawn_by: ClassVar = "rmqalloc.audit.group_table_text"

    groups: pa.Table
    findings: Findings

    def _in_short(self) -> str:
        n_clients = pc.sum(self.groups["n_clients"]).as_py() or 0
        sizes = f"{counted(self.groups.num_rows, 'group')}, {counted(n_clients, 'client')}"
        return f"GroupList of {sizes}; {self.findings.summary()}"


def group_list(
    snapshot: Snapshot | Known, groups: Sequence[str] = ALL, topics: Sequence[str] = ALL
) -> GroupList:
    """List consumer groups, each in one row, worst first.

    Parameters
    ----------
    snapshot : Snapshot or Known
    groups, topics : sequence of str
        Patterns as in `fnmatch.fnmatchcase`, as for `check_snapshot`.

    Returns
    -------
    GroupList

    Raises
    ------
    NoMatchError
        A pattern matches nothing.
    ValueError
        Two groups or topics have one name, or a topic has too many queues to be checked.

    Examples
    --------
    >>> from rmqalloc.snapshot import Client, Group, Topic, TopicBroker
    >>> topic, clients = Topic("T", (TopicBroker("b", 2),)), (Client("c1"), Client("c2"), Client("c3"))
    >>> found = group_list(Snapshot((topic,), (Group("g", ("T",), clients, strategy="AVG"),))).groups.to_pylist()
    >>> [(row["n_clients"], row["n_queues"], row["idle"], row["messages"], row["worst"]) for row in found]
    [(3, 2, 1, None, 'idle-client')]
    """
    return _listed(Known.of(snapshot, groups), groups, topics)


@no_collection()
def _listed(known: Known, groups: Sequence[str], topics: Sequence[str]) -> GroupList:
    chosen = chosen_groups(known, groups, topics)
    findings = findings_of(known, chosen)
    lacking = not_known_kinds(chosen.all, known.snapshot, chosen.has_topic)
    n_queues = _queue_counts(known.snapshot)
    owned = _owned(known.snapshot, chosen, n_queues)
    strategies, counts = _strategies(findings), _counts(findings)
    unread, rows = _unread(known.snapshot, chosen), []
    for signed in chosen.all:
        name = signed.group.name
        missing = lacking.get(name, [])
        strategy, source = strategies.get(name, (None, None))
        if not signed.is_ordinary and (sharing := sharing_of(signed.group)) is not None:
            strategy = sharing.name
        is_decided = _DECIDING.isdisjoint(missing)
        row = (
            name,
            *_facts(signed, chosen, n_queues, missing),
            strategy,
            source,
            *(owned.get(name, _NO_FIGURES) if is_decided else _NO_FIGURES),
            *counts.get(name, _NO_FINDINGS),
            unread.get(name, 0),
            missing,
        )
        rows.append(row)
    table = table_of(rows, _ROWS).select(GROUP_LIST_SCHEMA.names)
    return GroupList(pc.take(table, worst_first(table)), findings)


def is_unknown(table: pa.Table) -> pa.ChunkedArray:
    """Return of which groups the owners are not known: of one without clients they are, there are
    none.
    """
    has_clients = pc.fill_null(pc.not_equal(table["n_clients"], 0), True)
    return pc.and_(pc.is_null(table["unowned"]), has_clients)


def worst_first(table: pa.Table) -> pa.Array:
    """Return the positions of groups, the worst first: errors, queues without an owner or with
    several, unread queues, unknown owners, warnings, idle clients, skew, lag.
    """
    worst = (
        "errors",
        "unowned",
        "double_owned",
        "unread",
        "is_unknown",
        "warnings",
        "idle",
        "skew",
        "messages",
    )
    made = table.append_column("is_unknown", pc.cast(is_unknown(table), pa.int64()))
    filled = {name: pc.fill_null(made[name], 0) for name in worst}
    keys = pa.table(filled | {"consumer_group": table["consumer_group"]})
    return order_of(keys, [*(f"-{name}" for name in worst), "consumer_group"])


def _queue_counts(snapshot: Snapshot) -> dict[str, int]:
    """Return the readable queues of each topic."""
    of_brokers = {id(topic.brokers): topic for topic in snapshot.topics}  # that many topics share
    counts = {key: sum(readable_counts(topic).values()) for key, topic in of_brokers.items()}
    return {topic.name: counts[id(topic.brokers)] for topic in snapshot.topics}


def _facts(
    signed: SignedGroup,
    chosen: ChosenGroups,
    n_queues: Mapping[str, int],
    missing: Collection[str],
) -> tuple[int | None, ...]:
    """Return what the snapshot itself says of a group, from clients to lag; None where a kind that
    is missing decides.
    """
    topics = list(filter(chosen.counts_topic, signed.topics))
    clients = signed.group.clients if signed.is_ordinary else signed.audited.clients
    has_topics = "subscriptions" not in missing
    has_queues = has_topics and "routes" not in missing
    return (
        None if "clients" in missing else len(clients),
        len(topics) if has_topics else None,
        sum([n_queues.get(topic, 0) for topic in topics]) if has_queues else None,
        None if "lags" in missing else _messages(signed, chosen),
    )


def _messages(signed: SignedGroup, chosen: ChosenGroups) -> int | None:
    """Return the lag in all topics that match, None if none is known: brokers know none of a group
    that broadcasts.
    """
    group = signed.group
    if group.message_model != "CLUSTERING" or not group.lags:
        return None
    topics = set(filter(chosen.has_topic, signed.topics))
    known = [lag.messages for lag in group.lags if lag.queue.topic in topics]
    return sum(known) if known else None


def _owned(
    snapshot: Snapshot, chosen: ChosenGroups, n_queues: Mapping[str, int]
) -> dict[str, OwnerFigures]:
    """Return the figures of who owns what, of groups of which they are known: those of ordinary
    groups are computed for all of them at once.
    """
    found = _of_ordinary(snapshot, chosen, n_queues) if chosen.is_of_all_topics else {}
    unknown = Unknowns(snapshot)
    is_any_silent = any(broker.is_silent for broker in snapshot.brokers)
    for signed in chosen.all:
        name = signed.group.name
        if name in found and not is_any_silent:
            continue
        topics = [topic for topic in signed.topics if chosen.counts_topic(topic)]
        if unknown.silent_broker_of(topics) is not None:
            found.pop(name, None)
        elif name not in found:
            figures = figures_of(signed.audited.states, topics)
            if figures is not None:
                found[name] = figures
    return found


def _of_ordinary(
    snapshot: Snapshot, chosen: ChosenGroups, n_queues: Mapping[str, int]
) -> dict[str, OwnerFigures]:
    """Return the figures of groups in which each queue has one owner, over all their topics.

    Where signs needed no owners, these follow from numbers of clients and queues alone: they are
    computed once for all groups with the same.
    """
    figures = {} if chosen.owners is None else chosen.owners.figures()
    found = dict[str, OwnerFigures]()
    alike = dict[tuple[Any, ...], list[Group]]()
    for signed in chosen.all:
        group = signed.group
        if not signed.is_ordinary or (signed.doubt is not None and not signed.reports_owners):
            continue
        if group.name in figures:
            found[group.name] = figures[group.name]
        else:
            sizes = sorted([n_queues.get(topic, 0) for topic in {*group.subscriptions}])
            alike.setdefault((group.strategy, len(group.clients), *sizes), []).append(group)
    owners = computed_owners([some[0] for some in alike.values()], snapshot.topics)
    figures = {} if owners is None else owners.figures()
    for first, *others in alike.values():
        if first.name in figures:
            found |= dict.fromkeys((group.name for group in (first, *others)), figures[first.name])
    return found


def _strategies(findings: Findings) -> dict[str, tuple[str | None, str | None]]:
    if findings.evidence is None:
        return {}
    groups = findings.evidence.groups
    columns = (groups[name].to_pylist() for name in ("consumer_group", "strategy", "source"))
    return {name: (strategy, source) for name, strategy, source in zip(*columns, strict=True)}


def _counts(findings: Findings) -> dict[str, list[Any]]:
    """Return the rule of the first finding of each group, which is the most severe, and the
    findings by severity.
    """
    found: dict[str, list[Any]] = {}
    for finding in findings:
        row = found.setdefault(finding.consumer_group, [finding.rule, *(0 for _ in SEVERITIES)])
        row[1 + SEVERITIES.index(finding.severity)] += 1
    return found


def _unread(snapshot: Snapshot, chosen: ChosenGroups) -> dict[str, int | None]:
    """Return how many queues nobody reads, of groups of which that is in question; None where it is
    known of none, and of some it is not known.
    """
    counts: dict[str, Counter[str]] = {}
    open_groups = [signed for signed in chosen.all if not signed.reads_all]
    reach = reach_of(open_groups, snapshot, chosen.has_topic, with_all_groups=False)
    for answer in reach.answers:
        of_group = counts.setdefault(str(answer.consumer_group), Counter())
        of_group[answer.state] += len(answer.queues)
    return {
        name: n["unread"] if n["unread"] or not n["unknown"] else None for name, n in counts.items()
    }
