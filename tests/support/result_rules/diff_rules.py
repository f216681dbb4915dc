"""Groups, queues, clients, causes and plans of a difference against one another."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from result_rules.ledger import CheckedRows, Keys, Ledger
from result_rules.places import Names, Places, client_names, joined, readers_of
from result_rules.queue_rules import change_rules, flow_rules, word
from rmqalloc.plans import Plan
from rmqalloc.plans.diffs import Diff

_STATUSES = ("same", "differs", "appeared", "vanished", "not_seen_before", "not_seen_after", "not_compared",
             "not_in_plan")  # fmt: skip
_OF_QUEUES = ("queues_before", "queues_after", "moved", "new", "gone", "unowned_before", "unowned_after",
              "double_owned_before", "double_owned_after", "repaired")  # fmt: skip
_CHANGES = ("moved", "new", "gone", "unowned", "double_owned", "repaired")
_CLIENT_STATUSES = ("joined", "left", "stays", "not_seen_before", "not_seen_after")


def diff_rules(found: Diff, ledger: Ledger, plan: Plan | None = None) -> None:
    """Check a difference, and the plan that it compares, if it is given."""
    groups = ledger.rows("groups", found.groups, ("consumer_group",))
    queues = ledger.rows(
        "queues", found.queues, ("consumer_group", "topic", "broker_name", "queue_id")
    )
    names = Names(groups.table["consumer_group"])
    for rows in (groups, queues):
        rows.distinct()
    of = names.of(queues.table["consumer_group"])
    queues.keep("its group has a row", of >= 0)
    at = Places(np.arange(len(names)))
    if len(names) < groups.n:
        return  # said above: rows of groups are not distinct
    _groups(groups, queues, of, at)
    _queues(queues, groups, of)
    _clients(found, ledger, groups, queues, names)
    _changes(found, ledger, groups, names, at)
    _causes(found, ledger, groups, queues, names, at)
    if found.of_plan:
        _planned(found, ledger, queues, names, plan)
    else:
        queues.keep(
            "planned is null where neither side is a plan",
            pc.is_null(found.queues["planned"]).to_numpy(),
        )


def _groups(groups: CheckedRows, queues: CheckedRows, of: Keys, at: Places) -> None:
    """Check that the counts of every group are those of its queues that differ."""
    groups.keep("status is one of eight words", word(groups, "status", *_STATUSES))
    known = groups.known("moved")
    for name in _OF_QUEUES:
        groups.keep(f"{name} is null where owners are not compared", groups.known(name) == known)
    groups.not_negative((*_OF_QUEUES, "joined", "left", "replayed", "not_explained"))
    n = {one: at.count(of, word(queues, "change", one)) for one in _CHANGES}
    for name in ("new", "gone", "repaired"):
        groups.same(f"{name} are the rows of queues", name, n[name])
    groups.same(
        "moved are the rows of queues of both sides",
        "moved",
        sum(n.values()) - n["new"] - n["gone"],
    )
    growth = groups["queues_after"] - groups["queues_before"]
    groups.same("queues grow by new less gone", growth, groups["new"] - groups["gone"], known)
    nobody = at.count(of, ~queues.known("owner_after") & ~word(queues, "change", "gone"))
    had_nobody = at.count(of, ~queues.known("owner_before") & ~word(queues, "change", "new"))
    growth = groups["unowned_after"] - groups["unowned_before"]
    groups.same("unowned grow by the rows of queues", growth, nobody - had_nobody, known)
    for when in ("before", "after"):
        groups.at_most(f"unowned_{when} are queues", f"unowned_{when}", f"queues_{when}")
        owned = groups[f"queues_{when}"] - groups[f"unowned_{when}"]
        groups.at_most(f"double_owned_{when} queues have an owner", f"double_owned_{when}", owned)
    replayed = groups["replayed"] + groups["not_explained"]
    all_after = (replayed == 0) | (replayed == groups["queues_after"])
    groups.keep(
        "replayed and not explained are all queues after",
        all_after,
        replayed,
        groups["queues_after"],
    )
    rows = at.count(of)
    same = word(groups, "status", "same")
    groups.keep("no queue of a group that is the same differs", ~same | (rows == 0), rows)
    for name, when in (("appeared", "before"), ("vanished", "after")):
        absent = ~groups.known(f"clients_{when}")
        groups.keep(
            f"a group that {name} is not there {when}", ~word(groups, "status", name) | absent
        )


def _queues(queues: CheckedRows, groups: CheckedRows, of: Keys) -> None:
    """Check that the change of every queue follows from its owners."""
    known = np.append(groups.known("moved"), False)[of]
    queues.keep("owners of its group are compared", known)
    is_ = {one: word(queues, "change", one) for one in _CHANGES}
    queues.keep("change is one of six words", word(queues, "change", *_CHANGES))
    had, has = (
        queues.known(f"owner_{when}") + queues.sized(f"others_{when}")
        for when in ("before", "after")
    )
    queues.keep("a new queue had no owner", ~is_["new"] | (had == 0))
    queues.keep("a queue that is gone has no owner", ~is_["gone"] | (has == 0))
    both = ~is_["new"] & ~is_["gone"]
    queues.keep(
        "a queue is unowned where it had an owner and has none",
        ~both | (is_["unowned"] == (has == 0)),
    )
    double = (has > 1) & (had < 2)
    queues.keep(
        "a queue is double-owned where it has several and had not",
        ~both | (is_["double_owned"] == double),
    )
    repaired = (has == 1) & (had != 1)
    queues.keep(
        "a queue is repaired where it has one and had none or several",
        ~both | (is_["repaired"] == repaired),
    )
    owners = Names(queues.table["owner_before"], queues.table["owner_after"])
    before, after = (owners.of(queues.table[f"owner_{when}"]) for when in ("before", "after"))
    queues.keep("its owners differ", ~both | (before != after) | (had > 1) | (has > 1))


def _clients(
    found: Diff, ledger: Ledger, groups: CheckedRows, queues: CheckedRows, names: Names
) -> None:
    """Check that every client gains and loses what queues do."""
    clients = ledger.rows("clients", found.clients, ("consumer_group", "client_id"))
    clients.distinct()
    flow_rules(clients)
    clients.not_negative(("before", "after", "gained", "lost"))
    clients.keep("status is one of five words", word(clients, "status", *_CLIENT_STATUSES))
    ids = client_names(found.clients, found.queues)
    size = max(len(ids), 1)
    of = names.of(found.clients["consumer_group"])
    clients.keep("its group has a row", of >= 0)
    compared = np.append(groups.known("moved"), False)[of]
    clients.keep(
        "figures are null where owners are not compared", clients.known("before") == compared
    )
    at = Places(joined((of, 1), (ids.of(found.clients["client_id"]), size)))
    group = names.of(found.queues["consumer_group"])
    had, has = (readers_of(found.queues, when, ids) for when in ("before", "after"))
    change_rules(
        clients, queues, "every client that gains or loses it has a row", at, group, had, has, size
    )


def _changes(found: Diff, ledger: Ledger, groups: CheckedRows, names: Names, at: Places) -> None:
    """Check that single differences are counted for their groups."""
    changes = ledger.rows(
        "changes", found.changes, ("change", "consumer_group", "topic", "client_id")
    )
    of = names.of(found.changes["consumer_group"])
    for name, change in (("joined", "client_joined"), ("left", "client_left")):
        groups.same(f"{name} are the changes", name, at.count(of, word(changes, "change", change)))
    hidden = at.count(of, pc.match_substring(found.changes["change"], "not_seen").to_numpy()) > 0
    both = groups.known("clients_before", "clients_after") & ~hidden
    growth = groups["clients_after"] - groups["clients_before"]
    groups.same("clients grow by joined less left", growth, groups["joined"] - groups["left"], both)
    same = word(groups, "status", "same")
    groups.keep("nothing of a group that is the same changes", ~same | (at.count(of) == 0))


def _causes(
    found: Diff,
    ledger: Ledger,
    groups: CheckedRows,
    queues: CheckedRows,
    names: Names,
    at_group: Places,
) -> None:
    """Check that causes moved the queues that say so, and others that came back."""
    causes = ledger.rows("causes", found.causes, ("consumer_group", "cause"))
    causes.distinct()
    causes.not_negative(("changes", "moved"))
    causes.keep(
        "a cause moved a queue or has changes", (causes["moved"] > 0) | (causes["changes"] > 0)
    )
    kinds = Names(found.causes["cause"])
    of, kind = names.of(found.causes["consumer_group"]), kinds.of(found.causes["cause"])
    causes.keep("its group has a row", of >= 0)
    place = Places(joined((of, 1), (kind, max(len(kinds), 1))))
    column = found.queues["causes"]
    if column.null_count < len(column) or not found.of_plan:
        sizes, both = queues.sized("causes"), ~word(queues, "change", "new", "gone")
        queues.keep("a cause moved it", ~both | (sizes > 0))
        lists = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
        rows = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)
        group = names.of(found.queues["consumer_group"])[rows]
        at = place.of(joined((group, 1), (kinds.of(pc.list_flatten(lists)), max(len(kinds), 1))))
        queues.keep("its causes have rows", np.bincount(rows[at < 0], minlength=queues.n) == 0)
        causes.at_most("rows of queues are at most what the cause moved", place.count(at), "moved")
    own = at_group.count(np.where(word(causes, "cause", "not_explained"), of, -1), causes["moved"])
    groups.same("not_explained is that of the causes", "not_explained", own)
    step = found.changes["step"]
    of_change = names.of(found.changes["consumer_group"])
    counted = place.count(place.of(joined((of_change, 1), (kinds.of(step), max(len(kinds), 1)))))
    for_all = Names(step.filter(pc.is_null(found.changes["consumer_group"])))
    alone = for_all.of(found.causes["cause"]) < 0
    causes.at_most("changes are at least the group's own", counted, "changes")
    causes.same("changes are those of the group", "changes", counted, alone)


def _planned(
    found: Diff, ledger: Ledger, queues: CheckedRows, names: Names, plan: Plan | None
) -> None:
    """Check how much of a plan came true."""
    planned = ledger.rows("planned", found.planned, ("consumer_group",))
    planned.distinct()
    figures = ("planned", "as_planned", "not_yet", "elsewhere", "unplanned")
    planned.not_negative(figures)
    parts = planned["as_planned"] + planned["not_yet"] + planned["elsewhere"]
    planned.same("planned is as_planned, not_yet and elsewhere", "planned", parts)
    mine = Names(found.planned["consumer_group"])
    of, at = mine.of(found.queues["consumer_group"]), Places(np.arange(len(mine)))
    queues.keep("its group is planned", of >= 0)
    planned.keep("its group has a row", names.of(found.planned["consumer_group"]) >= 0)
    verdicts = {name: word(queues, "planned", name) for name in figures[2:]}
    queues.keep("planned is one of three words", word(queues, "planned", *verdicts))
    for name, rows in verdicts.items():
        planned.same(f"{name} are the rows of queues", name, at.count(of, rows))
    if plan is None:
        return
    scenario = found.before.scenario or found.after.scenario
    groups = plan.groups.filter(pc.equal(plan.groups["scenario"], scenario))
    row = Names(groups["consumer_group"]).of(found.planned["consumer_group"])
    moved = np.append(groups["moved"].to_numpy(), 0)[row]
    planned.at_most("planned are queues that the plan moves", "planned", moved)
