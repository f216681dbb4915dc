"""May a client stop now, and has it left: answers from one snapshot."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import pyarrow.compute as pc

from rmqalloc.audit.settling import SETTLED, UNSETTLED, Settling, settlings
from rmqalloc.evidence import Known
from rmqalloc.model import clients_meant, host_of
from rmqalloc.plans import Plan, plan_snapshot
from rmqalloc.results.and_more import named
from rmqalloc.scenarios import RemoveClients, Scenario
from rmqalloc.snapshot.matching import ALL, no_match
from rmqalloc.snapshot.snapshot import Snapshot
from rmqalloc.snapshot.unknown import Unknowns
from rmqalloc.text import counted, printable
from rmqalloc.watching.guard.guard_answer import NO, UNKNOWN, YES, GuardAnswer, OfGroup

_STOP = "stop"


def may_stop(
    snapshot: Snapshot | Known,
    target: str,
    groups: Sequence[str] = ALL,
    topics: Sequence[str] = ALL,
) -> GuardAnswer:
    """Say whether a client may stop now, by every group that it is in.

    Parameters
    ----------
    snapshot : Snapshot or Known
    target : str
        A client id; else what ids go on from, as ``10.0.0.1@1009``; else a host: all clients that
        match stop together.
    groups, topics : sequence of str
        Patterns as in `fnmatch.fnmatchcase`: what is looked at.

    Returns
    -------
    GuardAnswer
        "no" if the change before has not settled, or queues that are read now would have nobody;
        "unknown" if client lists, subscriptions, routes, the strategy or what clients own is not
        known. Where clients share queues (POP, a proxy, broadcasting) any may stop while another is
        there.

    Raises
    ------
    NoMatchError
        No client matches, or a pattern matches nothing.

    Examples
    --------
    >>> from rmqalloc.snapshot import Client, Group, Topic, TopicBroker
    >>> topic = Topic("T", (TopicBroker("b", 2),))
    >>> clients = (Client("c1", owned=tuple(topic.queues())),)
    >>> cluster = Snapshot((topic,), (Group("g", ("T",), clients, strategy="AVG"),))
    >>> print(may_stop(cluster, "c1"))
    no: g has no other client: nobody would read its 2 queues
    """
    known = Known.of(snapshot, groups)
    states = settlings(known, groups, topics)
    ids_of = {one.name: one.client_ids for one in known.snapshot.groups if one.name in states}
    meant, hidden = meant_by_group(target, ids_of), _hidden(known, states)
    if not meant and not hidden:
        raise nobody_meant(target, ids_of, known.snapshot)
    rows = [_unsettled(name, states[name], ids, len(ids_of[name])) for name, ids in meant.items()]
    settled = {name: ids for name, ids in meant.items() if states[name].state == SETTLED}
    planned = _planned(known, settled, topics, ids_of) if settled else {}
    rows = [planned.get(one.consumer_group, one) for one in rows]
    rows += [_not_listed(name, target, why) for name, why in hidden.items() if name not in meant]
    return GuardAnswer.of(target, rows, _allowed(rows))


def has_left(
    snapshot: Snapshot | Known,
    target: str = "",
    groups: Sequence[str] = ALL,
    topics: Sequence[str] = ALL,
) -> GuardAnswer:
    """Say whether a client has left, and all its queues have new owners: whether groups without it
    have settled.

    Parameters
    ----------
    snapshot, target, groups, topics
        As for `may_stop`. A client that is gone leads to no group, so all of them have to have
        settled; without a target that is all that is asked.

    Examples
    --------
    >>> from rmqalloc.snapshot import Client, Group, Topic, TopicBroker
    >>> topic = Topic("T", (TopicBroker("b", 2),))
    >>> clients = (Client("c1", owned=tuple(topic.queues())),)
    >>> cluster = Snapshot((topic,), (Group("g", ("T",), clients, strategy="AVG"),))
    >>> print(has_left(cluster, "c2"))
    yes: c2 has left, and all queues of g have owners
    >>> print(has_left(cluster, "c1"))
    no: c1 is a client of g still
    """
    known = Known.of(snapshot, groups)
    states = settlings(known, groups, topics)
    listed = {one.name: one.client_ids for one in known.snapshot.groups if one.name in states}
    meant = meant_by_group(target, listed) if target else {}
    rows = []
    for name, state in states.items():
        if name in meant:
            still = f"{named([*map(printable, meant[name])])} {'is a client' if len(meant[name]) == 1 else 'are clients'}"
            rows.append(
                OfGroup(
                    name,
                    NO,
                    False,
                    f"{still} of {printable(name)} still",
                    meant[name],
                    len(listed[name]),
                )
            )
        else:
            rows.append(_unsettled(name, state, (), len(listed[name])))
    names = named([*map(printable, states)])
    left = f"{printable(target)} has left, and " if target else ""
    return GuardAnswer.of(target, rows, f"{left}all queues of {names} have owners")


def _unsettled(name: str, state: Settling, ids: tuple[str, ...], n_clients: int) -> OfGroup:
    """Return the answer for a group as far as it follows from whether it has settled."""
    if state.state == SETTLED:
        return OfGroup(name, YES, True, "", ids, n_clients)
    reason, group = printable(state.reason), printable(name)
    if state.state == UNSETTLED:
        return OfGroup(
            name,
            NO,
            False,
            f"the previous change of {group} has not settled: {reason}",
            ids,
            n_clients,
        )
    return OfGroup(name, UNKNOWN, False, f"{group}: {reason}", ids, n_clients)


def _hidden(known: Known, names: Collection[str]) -> dict[str, str]:
    """Return groups that may have clients which the snapshot does not have, and why."""
    unknown = Unknowns(known.snapshot)
    whys = {name: unknown.why("clients", name) for name in names}
    return {name: why for name, why in whys.items() if why}


def _not_listed(name: str, target: str, why: str) -> OfGroup:
    reason = f"whether {printable(target)} is a client of {printable(name)} is not known: {printable(why)}"
    return OfGroup(name, UNKNOWN, False, reason)


def _planned(
    known: Known,
    ids_of: Mapping[str, tuple[str, ...]],
    topics: Sequence[str],
    listed: Mapping[str, Sequence[str]],
) -> dict[str, OfGroup]:
    """Return the answers of settled groups by a plan without these clients."""
    ids = tuple(dict.fromkeys(one for mine in ids_of.values() for one in mine))
    plan = plan_snapshot(
        _some_of(known, ids_of), [Scenario(_STOP, (RemoveClients(ids=ids),))], topics=topics
    )
    figures, double_owned = _figures(plan, ids_of), _double_owned(plan)
    rows = {
        name: _row(name, mine, len(listed[name]), figures[name], double_owned.get(name, 0))
        for name, mine in ids_of.items()
    }
    return rows | {name: _refused(rows[name], *why) for name, why in _failed(plan).items()}


def _some_of(known: Known, names: Collection[str]) -> Known:
    """Return what is known of some groups alone, so that nothing else is planned."""
    some = tuple(one for one in known.snapshot.groups if one.name in names)
    return Known.already(replace(known.snapshot, groups=some))


def _figures(plan: Plan, ids_of: Mapping[str, tuple[str, ...]]) -> dict[str, dict[str, int]]:
    """Return the figures of `GUARD_SCHEMA` that a plan gives, by group."""
    open_ones = {one["consumer_group"]: one["unowned"] for one in plan.transitions().to_pylist()}
    found = {
        name: {"n_queues": 0, "unowned_meanwhile": open_ones.get(name, 0), "unowned_after": 0}
        for name in ids_of
    }
    columns = ["consumer_group", "owner_before", "others_before", "change"]
    for one in (
        plan.queues.filter(pc.equal(plan.queues["scenario"], _STOP)).select(columns).to_pylist()
    ):
        if one["owner_before"] is not None:
            readers, figures = (
                {one["owner_before"], *(one["others_before"] or ())},
                found[one["consumer_group"]],
            )
            figures["n_queues"] += readers.issubset(ids_of[one["consumer_group"]])
            figures["unowned_after"] += one["change"] == "unowned"
    return found


def _double_owned(plan: Plan) -> dict[str, int]:
    """Return the queues that several clients own after the stop, by group."""
    after = plan.groups.filter(pc.equal(plan.groups["scenario"], _STOP))
    rows = after.select(["consumer_group", "double_owned"]).to_pylist()
    return {row["consumer_group"]: row["double_owned"] for row in rows}


def _failed(plan: Plan) -> dict[str, tuple[str, bool]]:
    """Return groups of which something cannot be assigned without the client: why, and whether it
    cannot with it either.
    """
    failed = plan.units.filter(pc.not_equal(plan.units["err_code"], 0)).to_pylist()
    before = {one["consumer_group"] for one in failed if one["scenario"] != _STOP}
    return {
        one["consumer_group"]: (str(one["err_msg"]), one["consumer_group"] in before)
        for one in failed
    }


def _refused(row: OfGroup, why: str, is_before: bool) -> OfGroup:
    group, without = printable(row.consumer_group), "" if is_before else " without it"
    reason = f"{group} cannot be planned{without}: {printable(why)}"
    return OfGroup(
        row.consumer_group, UNKNOWN if is_before else NO, True, reason, row.clients, row.n_clients
    )


def _row(
    name: str,
    ids: tuple[str, ...],
    n_clients: int,
    figures: Mapping[str, int],
    n_double: int,
) -> OfGroup:
    n, group = figures["unowned_after"], printable(name)
    reasons = []
    if n_double:
        reasons.append(f"{counted(n_double, 'queue')} of {group} would have several owners")
    if n and n_clients <= len(ids):
        reasons.append(f"{group} has no other client: nobody would read its {counted(n, 'queue')}")
    elif n:
        reasons.append(f"nobody would take over {counted(n, 'queue')} of {group}")
    verdict = NO if reasons else YES
    return OfGroup(name, verdict, True, "; ".join(reasons), ids, n_clients, **figures)


def _allowed(rows: Sequence[OfGroup]) -> str:
    """Return what a stop does that is allowed."""
    ids = list(dict.fromkeys(printable(client_id) for one in rows for client_id in one.clients))
    gained = [
        f"{counted(one.n_queues, 'queue')} of {printable(one.consumer_group)}"
        for one in rows
        if one.n_queues
    ]
    gets = "gets a new owner" if sum(one.n_queues or 0 for one in rows) == 1 else "get new owners"
    does = f"{named(gained)} {gets}" if gained else "no queue needs a new owner"
    return f"{named(ids)} may stop: {does}"


# Which clients of which groups a target means; all of them stop together.


def meant_by_group(target: str, ids_of: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Return by group the client ids that a target means; only groups that have one.

    Examples
    --------
    >>> ids = {"g": ["10.0.0.1@7#1", "10.0.0.1@8#2", "10.0.0.11@7"], "h": ["10.0.0.1@7#1"]}
    >>> meant_by_group("10.0.0.1@7", ids)
    {'g': ('10.0.0.1@7#1',), 'h': ('10.0.0.1@7#1',)}
    >>> meant_by_group("10.0.0.1", ids)["g"]
    ('10.0.0.1@7#1', '10.0.0.1@8#2')
    """
    meant = set(clients_meant(target, (client for ids in ids_of.values() for client in ids)))
    found = {
        name: tuple(client for client in dict.fromkeys(ids) if client in meant)
        for name, ids in ids_of.items()
    }
    return {name: ids for name, ids in found.items() if ids}


def nobody_meant(target: str, ids_of: Mapping[str, Sequence[str]], snapshot: Snapshot) -> Exception:
    """Return the error that no client matches, with names near it."""
    ids = {one: None for mine in ids_of.values() for one in mine}
    return no_match(target, ids | dict.fromkeys(map(host_of, ids)), "client", snapshot)
