"""Verbs: a random case of each, and the comparison of what the product says of it with what it
should say.
"""

import removed_sources

from bruteforce import (
    advised,
    audited,
    bulked,
    clusters,
    figures,
    java,
    known_strategies,
    mixed,
    mixed_verbs,
    outcome_verbs,
    planned,
    random_changes,
    reached,
    rollout_verbs,
    state_verbs,
    totals,
)
from bruteforce.tables import KEYS, compared, of_scenario, tables, without_present
from bruteforce.tally import by_key
from rmqalloc.audit import check_snapshot
from rmqalloc.evidence import with_strategies
from rmqalloc.plans import plan_snapshot
from rmqalloc.plans._explain import explain
from rmqalloc.plans.comparison import Candidate, compare
from rmqalloc.rollouts.advice._recommend import advise
from rmqalloc.rollouts.advice.replicas import replica_counts
from rmqalloc.snapshot.plain_data import from_document

# --- plan ---


def plan_case(random):
    document = clusters.snapshot(random)
    made = random_changes.scenarios(random, document)
    with_retry = random.random() < 0.2
    clusters.give_languages(random, document, alike=True)
    return {"snapshot": document, "scenarios": made, "with_retry": with_retry}


def plan(case, tally):
    """Every table of a plan, in every scenario."""
    document = case["snapshot"]
    units = list(mixed.units_of(document, with_retry=case["with_retry"]))
    if not units:
        return
    made = plan_snapshot(from_document(document), case["scenarios"], with_retry=case["with_retry"])
    rows = {kind: getattr(made, kind).to_pylist() for kind in KEYS}
    before = mixed.current(units, document)
    for scenario in ({"name": "current", "changes": []}, *case["scenarios"]):
        expected = tables(before, mixed.behind(before, scenario), document)
        if scenario["name"] == "current":
            without_present(expected, document)
        got = {kind: of_scenario(rows[kind], scenario["name"]) for kind in KEYS}
        compared(tally, "plan", expected, got)


# --- explain ---


def explain_case(random):
    return {
        "snapshot": clusters.snapshot(random),
        "strategy": clusters.rule(random) if random.random() < 0.3 else None,
    }


def explain_all(case, tally):
    """The owner of every queue of every unit, its place and the sizes."""
    snapshot = from_document(case["snapshot"])
    given = case["strategy"] or ()
    for unit in planned.units_of(case["snapshot"]):
        unit = unit._replace(rule=java.rule_of(*given)) if given else unit
        state = mixed.state_of(mixed.alike(unit))
        if not unit.clients:  # which is refused
            continue
        for place, queue in enumerate(unit.queues):
            key = unit.group, *queue
            try:
                found = explain(snapshot, unit.group, *queue, *given)
                got = (
                    found.owner,
                    found.n_queues,
                    found.n_clients,
                    found.queue_place,
                    found.strategy,
                )
            except ValueError as error:
                got = str(error)
            expected = (
                state.owner_of[queue],
                len(unit.queues),
                len(unit.clients),
                place,
                java.title(unit.rule),
            )
            tally.same("explain owner", key, [state.error[1] if state.error else expected], [got])


# --- compare ---


def compare_case(random):
    document = clusters.snapshot(random)
    rules = [clusters.rule(random) for _ in range(random.randint(1, 3))]
    if not random_changes.rooms_known(document):
        rules = [one for one in rules if not one[0].startswith(java.NEARBY)] or [("AVG", {})]
    made = (
        random_changes.scenarios(random, document, 1)[0]["changes"] if random.random() < 0.6 else []
    )
    clusters.give_languages(random, document, alike=True)
    units = list(planned.units_of(document))
    return {
        "snapshot": document,
        "candidates": rules,
        "changes": [one for one in made if _lacks_nothing(one, units)],
    }


def _lacks_nothing(change, units):
    """Whether a change surely names nothing that the units lack, which `compare` would refuse."""
    [(kind, fields)] = change.items()
    if kind == "add_broker":
        return fields["broker_name"] in random_changes.NEW_BROKERS
    if kind in ("add_clients", "scale_clients"):
        rooms = {room for unit in units for *_, room in (*unit.brokers, *unit.clients)}
        return "machine_room" not in fields or fields["machine_room"] in rooms
    names = {"ids", "pattern", "machine_room", "brokers", "topics"} & fields.keys()
    has_topics = any(not unit.topic.startswith(clusters.RETRY) for unit in units)
    return not names and (kind == "remove_clients" or (kind == "set_queues" and has_topics))


def compare_all(case, tally):
    """Figures of every candidate, with what the departure of each client moves."""
    from rmqalloc.scenarios import scenarios_of

    units = [mixed.alike(unit) for unit in planned.units_of(case["snapshot"])]
    if not units:
        return
    candidates = [
        Candidate(f"candidate {n}", name, params)
        for n, (name, params) in enumerate(case["candidates"])
    ]
    done = (
        scenarios_of([{"name": "x", "changes": case["changes"]}])[0].changes
        if case["changes"]
        else ()
    )
    got = by_key(
        compare(from_document(case["snapshot"]), candidates, done).table,
        ("consumer_group", "strategy"),
    )
    before = mixed.current(units, case["snapshot"])
    expected = {}
    for candidate in candidates:
        strategy = {"set_strategy": {"strategy": candidate.strategy, "params": candidate.params}}
        after = mixed.behind(before, {"changes": [*case["changes"], strategy]})
        for (group,), row in totals.groups(before, after, case["snapshot"]):
            states = [
                state for state in after if state.unit.main.group == group and not state.error
            ]
            found = {name: row[name] if states else None for name in totals.COMPARED}
            expected[group, candidate.label] = found | departures(states)
    worst = {key: row.pop("worst_clients") for key, row in expected.items()}
    tally.rows("compare", expected, got)
    for key, clients in worst.items():
        tally.same(
            "compare.departure_worst_client",
            key,
            True,
            got[key]["departure_worst_client"] in clients,
        )


def departures(states):
    """What moves if one client of a group leaves, for every holder of every id: one holder goes,
    the others stay.
    """
    costs = []
    for place, (one, _) in enumerate(states[0].unit.main.clients if states else []):
        total = least = 0
        for state in states:
            main = state.unit.main
            rest = main.clients[:place] + main.clients[place + 1 :]
            left = mixed.state_of(mixed.alike(main._replace(clients=rest)))
            total += len(figures.moved(state, left))
            least += figures.fewest_moves(state, left)
        costs.append((one, total, least))
    names = ("departure_mean", "departure_worst", "departure_least_mean")
    if not costs:
        return dict.fromkeys(names) | {"worst_clients": {None}}
    worst = max(total for _, total, _ in costs)
    return {
        "departure_mean": sum(total for _, total, _ in costs) / len(costs),
        "departure_worst": worst,
        "departure_least_mean": sum(least for *_, least in costs) / len(costs),
        "worst_clients": {one for one, total, _ in costs if total == worst},
    }


# --- check ---


def check_case(random):
    document = clusters.snapshot(random, config=True, served=True, views=True, owned=True)
    return {"snapshot": without_signs_of_rooms(document)}


def without_signs_of_rooms(document):
    """The document without owners to which machine rooms would be fitted that are not known: this
    side does not do that.
    """
    brokers = [broker for topic in document["topics"] for broker in topic["brokers"]]
    for group in document["groups"]:
        places = [*brokers, *group.get("clients", ())]
        if group["strategy"].startswith("MACHINE_ROOM_NEARBY") and any(
            "machine_room" not in one for one in places
        ):
            for client in group.get("clients", ()):
                client.pop("owned", None)
    return document


def check_all(case, tally):
    """What every rule finds, rule by rule and group by group."""
    document = case["snapshot"]
    expected = set(audited.findings(document, audited.RULES))
    got = set()
    for one in check_snapshot(from_document(document), rules=[*audited.RULES]):
        clients = (one.clients,) if one.rule in audited.WITH_CLIENTS else ()
        got.add((one.rule, one.consumer_group, one.topic, tuple(map(tuple, one.queues)), *clients))
    for rule in audited.RULES:
        for group in document["groups"]:
            mine = [
                {one[2:] for one in some if one[:2] == (rule, group["name"])}
                for some in (expected, got)
            ]
            tally.same(f"check {rule}", group["name"], *mine)


def reach_case(random):
    return {"snapshot": reached.case(random)}


def reach_all(case, tally):
    """Who reads every queue, and what waits there."""
    expected = reached.reach(case["snapshot"])
    found = check_snapshot(from_document(case["snapshot"])).reach.to_pylist()
    keys = ("consumer_group", "topic", "broker_name", "queue_id")
    got = {tuple(row[name] for name in keys): (row["reason"], row["messages"]) for row in found}
    for key in {*expected, *got}:
        tally.same("check reach", key, [expected.get(key)], [got.get(key)])


# --- bulk ---


def bulk_all(case, tally):
    """Every row of a batch, in every form of output."""
    bulked.compare(case, tally)


# --- recommend ---


def recommend_case(random):
    document = without_signs_of_rooms(
        clusters.snapshot(random, owned=True, tame=random.random() < 0.8)
    )
    for group in document["groups"]:
        if "CONSISTENT_HASH" in group["strategy"] + group.get("strategy_params", {}).get(
            "inner", ""
        ):
            group["strategy_params"] = {"virtual_nodes": java.DEFAULT_NODES} | group.get(
                "strategy_params", {}
            )
    balance = random.choice(("topic", "total"))
    clusters.give_languages(random, document, alike=True, languages=("GO", "JAVA"))
    return {"snapshot": document, "balance": balance}


def recommend_all(case, tally):
    """Figures of every group, with other numbers of clients or virtual nodes, and lists for CONFIG."""
    groups = advised.advised_groups(case["snapshot"])
    if not groups:
        return
    # What clients own may contradict the strategy, which is taken all the same.
    known = with_strategies(from_document(case["snapshot"]), assume=True)
    advice = advise(known, balance=case["balance"])
    rows = {row["consumer_group"]: row for row in advice.groups.to_pylist()}
    tally.same("recommend groups", "", list(groups), list(rows))
    replicas = {row["consumer_group"]: row for row in replica_counts(known).groups.to_pylist()}
    for name, row in replicas.items():
        advised.check_replicas(case["snapshot"], row, tally)
        for key in ("useful_clients", "even_clients") if name in rows else ():
            tally.same(f"recommend groups.{key}", name, row[key], rows[name][key])
    for group, lists in zip(groups.values(), advice.assignments, strict=True):
        name = group.group["name"]
        counts, rings, rooms = (
            [row for row in table.to_pylist() if row["consumer_group"] == name]
            for table in (advice.counts, advice.rings, advice.rooms)
        )
        advised.check_group(group, rows[name], tally)
        advised.check_counts(group, counts, rows[name]["even_counts"], tally)
        advised.check_rings(group, rings, tally)
        advised.check_rooms(group, rooms, tally)
        advised.check_lists(group, lists, case["balance"], rows[name]["config_moves"], tally)


# --- silence ---


def silence_all(case, tally):
    """Without any one source of knowledge no error is new and no fault becomes an all-clear."""
    whole = from_document(case["snapshot"])
    before = check_snapshot(whole)
    for what, less in removed_sources.without_one(whole):
        said = removed_sources.reported(whole, what)
        wrong = removed_sources.wrong(before, check_snapshot(less), said)
        tally.same("silence", what, [None], [wrong])


VERBS = {
    "strategies": (known_strategies.case, known_strategies.compare),
    "plan": (plan_case, plan),
    "plan of mixed groups": (mixed_verbs.mixed_case, mixed_verbs.plan_all),
    "plan of repeated ids": (mixed_verbs.repeated_case, mixed_verbs.plan_all),
    "plan beside its outcome": (outcome_verbs.case_of, outcome_verbs.compare_all),
    "compare of mixed groups": (mixed_verbs.compare_case, mixed_verbs.compare_all),
    "explain": (explain_case, explain_all),
    "compare": (compare_case, compare_all),
    "check": (check_case, check_all),
    "reach": (reach_case, reach_all),
    "bulk": (bulked.case, bulk_all),
    "recommend": (recommend_case, recommend_all),
    "restart": (rollout_verbs.case_of, rollout_verbs.restart_all),
    "strategy": (rollout_verbs.strategy_case, rollout_verbs.strategy_all),
    "subscription": (rollout_verbs.case_of, rollout_verbs.subscription_all),
    "broker": (rollout_verbs.case_of, rollout_verbs.broker_all),
    "queues": (rollout_verbs.case_of, rollout_verbs.queues_all),
    "best": (rollout_verbs.case_of, rollout_verbs.best_all),
    "silence": (reach_case, silence_all),
    "states": (state_verbs.case, state_verbs.compare_all),
}
"""A maker of cases and a comparison for every verb."""
