"""Deciding from one snapshot whether a client may stop now, and whether it has left."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

import pyarrow.compute as pc

from rmqalloc.audit.settling import SETTLED, UNSETTLED, Settling, settlings
from rmqalloc.evidence import Known
from rmqalloc.model import clients_meant, host_of
from rmqalloc.plans import Plan, plan_snapshot
from rmqalloc.results.and_more import named
from rmqalloc.scenarios import RemoveClients, Scenario
from rmqalloc.snapshot.matching import ALL, no_match
from rmqalloc.snapshot.snapshot import Departure, Snapshot
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
    """Decide whether a client may stop now, for every group that it is in.

    Parameters
    ----------
    snapshot : Snapshot or Known
    target : str
        A client id; else the beginning of ids, as ``10.0.0.1@1009``; else a host. All clients that
        match stop together.
    groups, topics : sequence of str
        Patterns of the groups and topics to check, as in `fnmatch.fnmatchcase`.

    Returns
    -------
    GuardAnswer
        "no" if the previous change has not settled, or if queues that are read now would have no
        reader; "unknown" if client lists, subscriptions, routes, the strategy or owned queues are
        unknown. If clients share queues (POP, a proxy, broadcasting) any client may stop while
        another is there.

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
    no: g has no other client: its 2 queues would be unread
    """
    known = Known.of(snapshot, groups)
    states = settlings(known, groups, topics)
    ids_of = {
        group.name: group.client_ids for group in known.snapshot.groups if group.name in states
    }
    meant, hidden = meant_by_group(target, ids_of), _hidden(known, states)
    if not meant and not hidden:
        raise nobody_meant(target, ids_of, known.snapshot)
    rows = [_unsettled(name, states[name], ids, len(ids_of[name])) for name, ids in meant.items()]
    settled = {name: ids for name, ids in meant.items() if states[name].state == SETTLED}
    planned = _planned(known, settled, topics, ids_of) if settled else {}
    rows = [planned.get(row.consumer_group, row) for row in rows]
    rows += [_not_listed(name, target, why) for name, why in hidden.items() if name not in meant]
    return GuardAnswer.of(target, rows, _allowed(rows))


def has_left(
    snapshot: Snapshot | Known,
    target: str = "",
    groups: Sequence[str] = ALL,
    topics: Sequence[str] = ALL,
) -> GuardAnswer:
    """Decide whether a client has left and all its queues have new owners: its groups have settled
    without it.

    Parameters
    ----------
    snapshot, target, groups, topics
        See `may_stop`. A client that has left belongs to no group, so all groups have to have
        settled; without a target only this is checked. Queues of a lost broker that does not
        answer have no reader.

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
    listed = {
        group.name: group.client_ids for group in known.snapshot.groups if group.name in states
    }
    meant = meant_by_group(target, listed) if target else {}
    topics_of = {group.name: group.all_subscriptions for group in known.snapshot.groups}
    rows = []
    for name, state in states.items():
        if name in meant:
            rows.append(_still_there(name, meant[name], len(listed[name])))
        else:
            row = _unsettled(name, state, (), len(listed[name]))
            rows.append(_without_dead(row, topics_of.get(name, ()), known.snapshot.departed))
    names = named([*map(printable, states)])
    left = f"{printable(target)} has left, and " if target else ""
    return GuardAnswer.of(target, rows, f"{left}all queues of {names} have owners")


def _without_dead(row: OfGroup, topics: Sequence[str], departed: Sequence[Departure]) -> OfGroup:
    """Return the answer for a group, "no" where queues of it left with a broker that does not
    answer.
    """
    reasons = []
    for left in departed:
        n_queues = sum(left.queues.get(topic, 0) for topic in topics)
        if left.cause == "dead" and n_queues:
            reasons.append(
                f"{counted(n_queues, 'queue')} of {printable(row.consumer_group)} left with broker "
                f"{printable(left.name)}, which no name server lists and which does not answer"
            )
    if row.verdict != YES or not reasons:
        return row
    return row._replace(verdict=NO, is_settled=False, reason="; ".join(reasons))


def _still_there(name: str, ids: tuple[str, ...], n_clients: int) -> OfGroup:
    are_clients = "is a client" if len(ids) == 1 else "are clients"
    reason = f"{named([*map(printable, ids)])} {are_clients} of {printable(name)} still"
    return OfGroup(name, NO, False, reason, clients=ids, n_clients=n_clients)


def _unsettled(name: str, state: Settling, ids: tuple[str, ...], n_clients: int) -> OfGroup:
    """Return the answer for a group whose previous change has not settled; YES if it has."""
    group, reason = printable(name), printable(state.reason)
    if state.state == SETTLED:
        verdict, text = YES, ""
    elif state.state == UNSETTLED:
        verdict, text = NO, f"the previous change of {group} has not settled: {reason}"
    else:
        verdict, text = UNKNOWN, f"{group}: {reason}"
    is_settled = state.state == SETTLED
    return OfGroup(name, verdict, is_settled, text, clients=ids, n_clients=n_clients)


def _hidden(known: Known, names: Collection[str]) -> dict[str, str]:
    """Return groups that may have clients that the snapshot does not list, and why."""
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
    """Return the answers for settled groups from a plan without the clients that stop."""
    ids = tuple(dict.fromkeys(chain.from_iterable(ids_of.values())))
    stop = Scenario(_STOP, (RemoveClients(ids=ids),))
    plan = plan_snapshot(_some_of(known, ids_of), [stop], topics=topics)
    figures, double_owned = _figures(plan, ids_of), _double_owned(plan)
    rows = {}
    for name, stopping in ids_of.items():
        n_clients, n_double = len(listed[name]), double_owned.get(name, 0)
        rows[name] = _row(name, stopping, n_clients, figures[name], n_double)
    for name, failure in _failed(plan).items():
        rows[name] = _refused(rows[name], failure)
    return rows


def _some_of(known: Known, names: Collection[str]) -> Known:
    """Keep some groups alone, so that nothing else is planned."""
    groups = tuple(group for group in known.snapshot.groups if group.name in names)
    return Known.already(replace(known.snapshot, groups=groups))


def _figures(plan: Plan, ids_of: Mapping[str, tuple[str, ...]]) -> dict[str, dict[str, int]]:
    """Return the figures of `GUARD_SCHEMA` that a plan gives, by group."""
    unowned = {row["consumer_group"]: row["unowned"] for row in plan.transitions().to_pylist()}
    found = {}
    for name in ids_of:
        unowned_meanwhile = unowned.get(name, 0)
        found[name] = {
            "n_queues": 0,
            "unowned_meanwhile": unowned_meanwhile,
            "unowned_after": 0,
        }
    columns = ["consumer_group", "owner_before", "others_before", "change"]
    queues = plan.queues.filter(pc.equal(plan.queues["scenario"], _STOP))
    for row in queues.select(columns).to_pylist():
        if row["owner_before"] is None:
            continue
        name = row["consumer_group"]
        readers = {row["owner_before"], *(row["others_before"] or ())}
        found[name]["n_queues"] += readers.issubset(ids_of[name])
        found[name]["unowned_after"] += row["change"] == "unowned"
    return found


def _double_owned(plan: Plan) -> dict[str, int]:
    """Return the queues that several clients own after the stop, by group."""
    after = plan.groups.filter(pc.equal(plan.groups["scenario"], _STOP))
    rows = after.select(["consumer_group", "double_owned"]).to_pylist()
    return {row["consumer_group"]: row["double_owned"] for row in rows}


class _Failure(NamedTuple):
    """Why a group cannot be planned without the client."""

    reason: str
    is_before: bool  # it cannot be planned with the client either


def _failed(plan: Plan) -> dict[str, _Failure]:
    """Return groups that cannot be planned."""
    failed = plan.units.filter(pc.not_equal(plan.units["err_code"], 0)).to_pylist()
    before = {row["consumer_group"] for row in failed if row["scenario"] != _STOP}
    found = {}
    for row in failed:
        group = row["consumer_group"]
        found[group] = _Failure(str(row["err_msg"]), group in before)
    return found


def _refused(row: OfGroup, failure: _Failure) -> OfGroup:
    without = "" if failure.is_before else " without it"
    group = printable(row.consumer_group)
    reason = f"{group} cannot be planned{without}: {printable(failure.reason)}"
    return OfGroup(
        row.consumer_group,
        verdict=UNKNOWN if failure.is_before else NO,
        is_settled=True,
        reason=reason,
        clients=row.clients,
        n_clients=row.n_clients,
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
        reasons.append(f"{group} has no other client: its {counted(n, 'queue')} would be unread")
    elif n:
        reasons.append(f"no client would take over {counted(n, 'queue')} of {group}")
    verdict = NO if reasons else YES
    return OfGroup(
        name, verdict, True, "; ".join(reasons), clients=ids, n_clients=n_clients, **figures
    )


def _allowed(rows: Sequence[OfGroup]) -> str:
    """Return the effect of a stop that is allowed."""
    client_ids = chain.from_iterable(row.clients for row in rows)
    ids = list(dict.fromkeys(map(printable, client_ids)))
    gained = []
    for row in rows:
        if row.n_queues:
            gained.append(f"{counted(row.n_queues, 'queue')} of {printable(row.consumer_group)}")
    gets = "gets a new owner" if sum(row.n_queues or 0 for row in rows) == 1 else "get new owners"
    does = f"{named(gained)} {gets}" if gained else "no queue needs a new owner"
    return f"{named(ids)} may stop: {does}"


# Clients and groups that a target names; all of the clients stop together.


def meant_by_group(target: str, ids_of: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Return the client ids that a target matches, by group, without groups that have none.

    Examples
    --------
    >>> ids = {"g": ["10.0.0.1@7#1", "10.0.0.1@8#2", "10.0.0.11@7"], "h": ["10.0.0.1@7#1"]}
    >>> meant_by_group("10.0.0.1@7", ids)
    {'g': ('10.0.0.1@7#1',), 'h': ('10.0.0.1@7#1',)}
    >>> meant_by_group("10.0.0.1", ids)["g"]
    ('10.0.0.1@7#1', '10.0.0.1@8#2')
    """
    meant = set(clients_meant(target, chain.from_iterable(ids_of.values())))
    found = {}
    for name, ids in ids_of.items():
        mine = tuple(client_id for client_id in dict.fromkeys(ids) if client_id in meant)
        if mine:
            found[name] = mine
    return found


def nobody_meant(target: str, ids_of: Mapping[str, Sequence[str]], snapshot: Snapshot) -> Exception:
    """Return the error that no client matches, with similar names."""
    ids = dict.fromkeys(chain.from_iterable(ids_of.values()))
    return no_match(target, ids | dict.fromkeys(map(host_of, ids)), "client", snapshot)
