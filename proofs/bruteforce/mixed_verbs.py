"""Verbs about groups whose clients differ, or share an id: every figure at every level of a plan,
its transitions and gates.
"""

from typing import NamedTuple

from bruteforce import (
    clusters,
    decisions,
    gated,
    java,
    mixed,
    mixed_cases,
    open_seconds,
    openings,
    random_changes,
    totals,
)
from bruteforce.clusters import chance, some
from bruteforce.tables import KEYS, compared, of_scenario, tables, without_present
from bruteforce.tally import AtLeast, Near, by_key
from rmqalloc.plans import Gates, plan_snapshot
from rmqalloc.plans.comparison import Candidate, compare
from rmqalloc.plans.plan_totals import client_totals
from rmqalloc.scenarios import scenarios_of
from rmqalloc.snapshot.plain_data import from_document

# --- Cases ---


def mixed_case(random):
    """Groups whose clients differ in what they see, run or report."""
    document = mixed_cases.case(random)
    while not has_several_topics(document):
        document = mixed_cases.case(random)
    return _case(random, document, random_changes.scenarios(random, document))


def has_several_topics(document, repeated=False):
    """Whether a group is planned on several topics; one in which an id repeats, if it must."""
    units = list(mixed.units_of(document))
    mine = [
        unit.main.group
        for unit in units
        if not repeated or len({*unit.main.ids}) < len(unit.main.ids)
    ]
    return len({*mine}) < len(mine)


def _case(random, document, scenarios):
    """A case with some keys to add up clients by, a way to learn of changes, and where bounds lie
    among the figures.
    """
    informed_by, at = random.choice(openings.WAYS), [random.random() for _ in gated.FIELDS]
    by = some(random, totals.WAYS, 2, 2)
    return {
        "snapshot": document,
        "scenarios": scenarios,
        "by": by,
        "informed_by": informed_by,
        "at": at,
    }


def either_case(random):
    """One of both."""
    return (repeated_case if chance(random, 0.25) else mixed_case)(random)


def repeated_case(random):
    """Groups in which an id is there twice or three times, and changes of these ids."""
    document, repeated = _with_repeats(random)
    while not has_several_topics(document, repeated=True):
        document, repeated = _with_repeats(random)
    made = random_changes.scenarios(random, document)
    for scenario in made:
        if chance(random, 0.6):
            scenario["changes"].insert(
                random.randint(0, len(scenario["changes"])), _of_an_id(random, document, repeated)
            )
    return _case(random, document, made)


def _with_repeats(random):
    """A snapshot and those of its clients of which there are more with the same id."""
    document, repeated = clusters.snapshot(random, tame=True), []
    for group in document["groups"]:
        rule = group.get("strategy_params", {}).get("inner", group["strategy"])
        if "CONSISTENT_HASH" in rule:
            group["strategy_params"] = {"virtual_nodes": 10} | group.get("strategy_params", {})
        if repeated and chance(random, 0.3):
            continue
        clients = group.get("clients", [])
        for one in some(random, clients, 1, 2):
            repeated.append(one)
            for _ in range(random.choice((1, 1, 2))):
                clients.insert(random.randint(0, len(clients)), dict(one))
    return document, repeated


def _of_an_id(random, document, repeated):
    """A change of clients whose id is there several times; none that puts one id into two machine
    rooms.
    """
    one = random.choice(repeated)
    ids = [one["client_id"]]
    every = (each for group in document["groups"] for each in group.get("clients", ()))
    rooms = {each.get("machine_room") for each in every if each["client_id"] in ids}
    if chance(random, 0.5) and len(rooms) == 1:
        room = {"machine_room": one["machine_room"]} if "machine_room" in one else {}
        return {"add_clients": {"ids": ids, **room}}
    if chance(random, 0.4):
        return {"scale_clients": {"to": random.randint(1, 6)}}
    return {
        "remove_clients": random.choice(
            ({"ids": ids}, {"count": 1}, {"count": 1, "which": "first"})
        )
    }


# --- Plans ---


class Planned(NamedTuple):
    """A plan beside the states before and behind each of its scenarios, by name."""

    made: object
    before: list
    behind: dict


def plans_of(case):
    """The plan of a case with what it should say, None where nothing can be planned."""
    document = case["snapshot"]
    units = list(mixed.units_of(document))
    if not units:
        return None
    made = plan_snapshot(from_document(document), case["scenarios"])
    before = mixed.current(units, document)
    behind = {one["name"]: mixed.behind(before, one) for one in case["scenarios"]}
    return Planned(made, before, {"current": before} | behind)


def plan_all(case, tally):
    """Every figure of a plan at every level, what is open while clients follow, and gates."""
    if (planned := plans_of(case)) is not None:
        _tables_of(case, planned, tally)
        _transitions_of(case, planned, tally)
        _gates_of(case, planned, tally)


# --- Tables ---


def _tables_of(case, planned, tally):
    """Every table and the totals of clients, in every scenario."""
    made = planned.made
    rows = {kind: getattr(made, kind).to_pylist() for kind in KEYS}
    sums = {
        by: by_key(client_totals(made.clients, *by), ("scenario", *by))
        for by in map(tuple, case["by"])
    }
    for name, after in planned.behind.items():
        expected = tables(planned.before, after, case["snapshot"])
        if name == "current":
            without_present(expected, case["snapshot"])
        compared(tally, "mixed", expected, {kind: of_scenario(rows[kind], name) for kind in KEYS})
        for by, mine in sums.items():
            got = {key[1:]: row for key, row in mine.items() if key[0] == name}
            tally.rows(
                f"mixed totals by {', '.join(by)}", totals.client_sums(expected["clients"], by), got
            )


# --- Transitions ---


def _transitions_of(case, planned, tally):
    """The worst and the expected number of open queues of every group that has few clients, and for
    how long they are.
    """
    rows = by_key(planned.made.transitions(case["informed_by"]), ("scenario", "consumer_group"))
    for scenario in case["scenarios"]:
        for group, pairs in totals.by_group(
            planned.before, planned.behind[scenario["name"]]
        ).items():
            row = rows[scenario["name"], group]
            way = openings.followed(scenario, case["informed_by"])
            tally.same(
                "transitions informed_by", (scenario["name"], group), way, row["informed_by"]
            )
            if ways := openings.ways(pairs, case["snapshot"]):
                _open(tally, (scenario["name"], group), ways, way, row)
                if way != "deployment":
                    _seconds(tally, (scenario, group), ways, case, row)


def _open(tally, where, ways, way, row):
    """Compare a row with what may be open."""
    for place, which in enumerate(openings.WHICH):
        every = [openings.tried(one) for one in ways]
        worst = tuple(one.worst(place) for one in every)
        exact = row[f"{which}_is_exact"]
        tally.same(
            f"transitions {which}", where, worst if exact else (AtLeast(min(worst)),), row[which]
        )
        later = tuple(openings.after(one)[place] for one in ways)
        tally.same(f"transitions {which}_after", where, later, row[f"{which}_after"])
        if exact:
            wanted = [Near(one.expected(place, openings.AT_JOIN[way])) for one in every]
            if way == "deployment":
                by_number = [Near(one.expected_by_number(place)) for one in every]
                wanted = by_number + (wanted if any(one.has_several for one in ways) else [])
            tally.same(
                f"transitions {which}_expected", where, tuple(wanted), row[f"{which}_expected"]
            )


def _seconds(tally, where, ways, case, row):
    """Compare for how long queues are open."""
    scenario, name = where
    [group] = [one for one in case["snapshot"]["groups"] if one["name"] == name]
    alone, is_ordered = open_seconds.joins_alone(scenario), group.get("is_ordered", False)
    way = openings.followed(scenario, case["informed_by"])
    _, common = open_seconds.common_wait(way, is_ordered, alone)
    n = 1 if alone else open_seconds.n_brokers(group, case["snapshot"])
    for place, which in enumerate(openings.WHICH):
        locked = place == 1 and is_ordered
        total, worst = row[f"{which}_queue_seconds"], row[f"{which}_seconds_worst"]
        if total is not None and not common:
            wanted = tuple(
                0.0 if locked else Near(open_seconds.queue_seconds(one, place, way, n))
                for one in ways
            )
            tally.same(
                f"transitions {which}_queue_seconds", (scenario["name"], name), wanted, total
            )
        if not any(one.has_several for one in ways):
            wanted = tuple(
                0.0 if locked else open_seconds.longest(one, place, way, common) for one in ways
            )
            tally.same(
                f"transitions {which}_seconds_worst", (scenario["name"], name), wanted, worst
            )


# --- Gates ---


def _gates_of(case, planned, tally):
    """Who breaks bounds that lie on figures or just below, and whether anything gets worse."""
    held = gated.Held(case["snapshot"], case["scenarios"], planned.before, planned.behind)
    bounds = {
        field: gated.bound(held.values(field), at)
        for field, at in zip(gated.FIELDS, case["at"], strict=True)
    }
    for fields in gated.TOGETHER:
        some = {field: bounds[field] for field in fields if bounds[field] is not None}
        got = _broken(planned.made, **some)
        for key in set.intersection(*(held.known(field) for field in fields)) if some else ():
            wanted = any(key in held.broken(field, bound) for field, bound in some.items())
            tally.same(f"gates {', '.join(fields)}", (*key, some), wanted, key in got)
    got = _broken(planned.made, fail_if_worse=True)
    for key in held.figures:
        tally.same("gates fail_if_worse", key, key in held.worse | held.lost, key in got)


def _broken(plan, **bound):
    """Scenarios and groups that break a bound."""
    return {(one.scenario, one.consumer_group) for one in Gates(**bound).broken(plan)}


# --- Compare ---


def compare_case(random):
    document = either_case(random)["snapshot"]
    rules = [clusters.rule(random) for _ in range(random.randint(1, 3))]
    if not random_changes.rooms_known(document):
        rules = [one for one in rules if not one[0].startswith(java.NEARBY)] or [("AVG", {})]
    changes = [{"scale_clients": {"to": random.randint(0, 6)}}] if chance(random, 0.5) else []
    return {"snapshot": document, "candidates": rules, "changes": changes}


def _differ(group):
    """Whether some client divides by another strategy than the group's."""
    main = mixed.rule_of(group, {})
    return any(mixed.rule_of(group, client) != main for client in group.get("clients", []))


def compare_all(case, tally):
    """Figures of every group under several strategies, but for departures."""
    document = case["snapshot"]
    answered = {
        group["name"]
        for group in document["groups"]
        if not decisions.lists_differ(group) or _differ(group)
    }
    units = [
        unit
        for unit in mixed.units_of(document)
        if unit.sharing is None and unit.main.group in answered
    ]
    if not units:
        return
    candidates = [
        Candidate(f"candidate {n}", name, params)
        for n, (name, params) in enumerate(case["candidates"])
    ]
    changes = (
        scenarios_of([{"name": "x", "changes": case["changes"]}])[0].changes
        if case["changes"]
        else ()
    )
    got = by_key(
        compare(from_document(document), candidates, changes).table, ("consumer_group", "strategy")
    )
    before, expected = mixed.current(units, document), {}
    for one in candidates:
        strategy = {"set_strategy": {"strategy": one.strategy, "params": one.params}}
        after = mixed.behind(before, {"changes": [*case["changes"], strategy]})
        for (group,), row in totals.groups(before, after, document):
            known = row["n_topics"] > 0
            expected[group, one.label] = {
                name: row[name] if known else None for name in totals.COMPARED
            }
    tally.rows("compare mixed", expected, got)
