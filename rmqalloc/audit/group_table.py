"""Every consumer group of a snapshot in one row, worst first; each figure comes from the room that computes it.

Who owns what is the present state of a plan, what is wrong are the findings of a check, who reads what is its reach. Of a group
of which something is not known, the figures that depend on it are null.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from rmqalloc.audit._check import findings_of
from rmqalloc.audit._signed_groups import ChosenGroups, SignedGroup, chosen_groups
from rmqalloc.audit._written import readable_counts
from rmqalloc.audit.finding import SEVERITIES
from rmqalloc.audit.findings import Findings
from rmqalloc.audit.not_known import not_known_kinds
from rmqalloc.audit.reach import reach_of
from rmqalloc.documents.read_budget import no_collection
from rmqalloc.evidence import Known
from rmqalloc.evidence.client_method import accepted
from rmqalloc.plans import plan_snapshot
from rmqalloc.results import TableResult
from rmqalloc.results.renderer import order_of
from rmqalloc.results.schemas import columns
from rmqalloc.snapshot.matching import ALL, NoMatchError
from rmqalloc.snapshot.snapshot import Snapshot
from rmqalloc.views.without_owners import sharing_of

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

_OF_OWNERS = ("idle", "unowned", "double_owned", "skew")
_NO_FINDINGS: Mapping[str, int] = {f"{one}s": 0 for one in SEVERITIES}
_DECIDING = frozenset(("clients", "subscriptions", "routes"))
"""Kinds of facts without which who owns what is not computed."""


@dataclass(frozen=True, eq=False, repr=False)
class GroupList(TableResult):
    """All groups, each in one row; `group_list` makes it.

    Attributes
    ----------
    groups : pyarrow.Table
        `GROUP_LIST_SCHEMA`, worst first. ``n_topics`` are those that are subscribed to, retry topics aside. ``strategy`` is
        "POP", "PROXY" or "BROADCASTING" where clients share queues, ``strategy_source`` as in `rmqalloc.plans.Plan.evidence`.
        ``messages`` is the lag. ``idle``, ``unowned``, ``double_owned`` and ``skew`` are the present state of `rmqalloc.plan`;
        ``unread`` counts queues that hold or get messages and that nobody reads. ``errors``, ``warnings`` and ``notes`` count
        the findings of `rmqalloc.check`, ``worst`` is the rule of the most severe one. ``not_known`` are kinds of facts that
        the snapshot lacks; figures that depend on them are null.
    findings : Findings
        What the groups are counted from; those of no group in particular too.
    """

    TABLES: ClassVar = ("groups",)
    NOTES: ClassVar = ()

    groups: pa.Table
    findings: Findings


def group_list(snapshot: Snapshot | Known, groups: Sequence[str] = ALL, topics: Sequence[str] = ALL) -> GroupList:
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
    chosen = chosen_groups(known.snapshot, groups, topics)
    findings = findings_of(known, chosen)
    kinds = not_known_kinds(chosen.all, known.snapshot, chosen.has_topic)
    of_snapshot, evidence = _Facts(known.snapshot, chosen), _strategies(findings)
    owned, found, unread = _owned(known, chosen, groups, topics), _counts(findings), _unread(known.snapshot, chosen)
    rows = []
    for signed in chosen.all:
        name = signed.group.name
        lacking = kinds.get(name, [])
        row = {"consumer_group": name, "not_known": lacking, "unread": 0, **_NO_FINDINGS}
        row |= of_snapshot.row(signed, lacking) | evidence.get(name, {}) | unread.get(name, {}) | found.get(name, {})
        row |= {} if _DECIDING.intersection(lacking) else owned.get(name, {})
        sharing = sharing_of(signed.group)
        rows.append(row if sharing is None else row | {"strategy": sharing.name})
    table = pa.Table.from_pylist(rows, GROUP_LIST_SCHEMA)
    return GroupList(table.take(worst_first(table)), findings)


def is_unknown(table: pa.Table) -> pa.ChunkedArray:
    """Return of which groups the owners are not known: of one without clients they are, there are none."""
    has_clients = pc.fill_null(pc.not_equal(table["n_clients"], 0), True)
    return pc.and_(pc.is_null(table["unowned"]), has_clients)


def worst_first(table: pa.Table) -> pa.Array:
    """Return the positions of groups, the worst first: queues without an owner or with several, errors, unread queues, unknown
    owners, idle clients, skew, lag."""
    worst = ("unowned", "double_owned", "errors", "unread", "is_unknown", "idle", "skew", "messages")
    made = table.append_column("is_unknown", is_unknown(table).cast(pa.int64()))
    filled = {name: pc.fill_null(made[name], 0) for name in worst}
    keys = pa.table(filled | {"consumer_group": table["consumer_group"]})
    return order_of(keys, [*(f"-{name}" for name in worst), "consumer_group"])


class _Facts:
    """What the snapshot itself says of groups: clients, topics, queues and lags."""

    def __init__(self, snapshot: Snapshot, chosen: ChosenGroups) -> None:
        self._n_queues = {one.name: sum(readable_counts(one).values()) for one in snapshot.topics}
        self._chosen = chosen

    def row(self, signed: SignedGroup, lacking: Collection[str]) -> dict[str, Any]:
        """Return columns of one group; null where the kinds that are lacking decide."""
        group = signed.group
        clients = group.clients if signed.is_ordinary else signed.audited.clients
        topics = list(filter(self._chosen.counts_topic, signed.topics))
        has_topics = "subscriptions" not in lacking
        has_queues = has_topics and "routes" not in lacking
        return {
            "n_clients": None if "clients" in lacking else len(clients),
            "n_topics": len(topics) if has_topics else None,
            "n_queues": sum(self._n_queues.get(one, 0) for one in topics) if has_queues else None,
            "messages": self._messages(signed),
        }

    def _messages(self, signed: SignedGroup) -> int | None:
        """Return the lag in all topics that match, None if none is known: brokers know none of a group that broadcasts."""
        group = signed.group
        if not group.lags or group.message_model != "CLUSTERING":
            return None
        topics = set(filter(self._chosen.has_topic, signed.topics))
        known = [one.messages for one in group.lags if one.queue.topic in topics]
        return sum(known) if known else None


def _owned(
    known: Known, chosen: ChosenGroups, groups: Sequence[str], topics: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Return the present state of groups that can be planned whole: of ordinary ones it is computed already."""
    if tuple(topics) != ALL or chosen.owners is None:
        return _planned(known, groups, topics)
    ordinary = {one.group.name for one in chosen.all if one.is_ordinary and accepted(one.group).strategy_doubt is None}
    others = tuple(one.group for one in chosen.all if not one.is_ordinary)
    found = _planned(Known.already(replace(known.snapshot, groups=others)), ALL, ALL) if others else {}
    each = {"unowned": 0, "double_owned": 0}
    balance = chosen.owners.balance().items()
    return found | {name: {"idle": idle, "skew": skew, **each} for name, (idle, skew) in balance if name in ordinary}


def _planned(known: Known, groups: Sequence[str], topics: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the same as a plan has it."""
    try:
        plan = plan_snapshot(known, (), groups, topics)
    except NoMatchError:  # all are left out
        return {}
    failed = set(plan.units.filter(pc.not_equal(plan.units["err_code"], 0))["consumer_group"].to_pylist())
    rows = plan.groups.select(["consumer_group", *_OF_OWNERS]).to_pylist()
    return {row["consumer_group"]: row for row in rows if row["consumer_group"] not in failed}


def _strategies(findings: Findings) -> dict[str, dict[str, Any]]:
    if findings.evidence is None:
        return {}
    rows = findings.evidence.groups.select(["consumer_group", "strategy", "source"]).to_pylist()
    return {one["consumer_group"]: {"strategy": one["strategy"], "strategy_source": one["source"]} for one in rows}


def _counts(findings: Findings) -> dict[str, dict[str, Any]]:
    """Return the findings of each group by severity, and the rule of the first, which is the most severe."""
    found: dict[str, dict[str, Any]] = {}
    for one in findings:
        row = found.setdefault(one.consumer_group, {"worst": one.rule, **_NO_FINDINGS})
        row[f"{one.severity}s"] += 1
    return found


def _unread(snapshot: Snapshot, chosen: ChosenGroups) -> dict[str, dict[str, int | None]]:
    """Return how many queues nobody reads; null where it is known of none, and of some it is not known."""
    counts: dict[str, Counter[str]] = {}
    open_ones = [one for one in chosen.all if not one.reads_all]
    for one in reach_of(open_ones, snapshot, chosen.has_topic, with_all_groups=False).answers:
        counts.setdefault(str(one.consumer_group), Counter())[one.state] += len(one.queues)
    return {name: {"unread": n["unread"] if n["unread"] or not n["unknown"] else None} for name, n in counts.items()}
