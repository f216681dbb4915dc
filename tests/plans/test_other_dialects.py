"""A strategy that is to come, in groups of several languages: every client computes it as its own
language does.
"""

from collections import Counter

import pytest
from bruteforce.twin import checked
from dialect_twins import SET, taken, twin

import rmqalloc
from rmqalloc.plans import undo_plan
from rmqalloc.plans.comparison import Candidate, compare
from rmqalloc.scenarios import AddClients, RemoveClients, Scenario, SetStrategy, SetVirtualNodes
from rmqalloc.snapshot import Client, Group, Snapshot, Topic, TopicBroker

TOPIC = Topic("T", (TopicBroker("a@b", 5), TopicBroker("hz@b1", 4), TopicBroker("hz@b2", 4)))


def snapshot_of(*languages, strategy="AVG", params=None, **more):
    clients = tuple(
        Client(f"10.0.0.{i}@1", language=language) for i, language in enumerate(languages)
    )
    group = Group("g", ("T",), clients, strategy=strategy, strategy_params=params or {}, **more)
    return Snapshot((TOPIC,), (group,))


def owners_after(plan, scenario):
    return {
        rmqalloc.MessageQueue(row["topic"], row["broker_name"], row["queue_id"]): [
            one for one in (row["owner_after"], *(row["others_after"] or ())) if one is not None
        ]
        for row in plan.queues.to_pylist()
        if row["scenario"] == scenario
    }


def proved(plan, snapshot):
    """Whether the planner's twin makes the same plan."""
    again, problems = checked(snapshot, plan.scenarios)
    return again.digest == plan.digest and problems == []


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("key", ["ring", "rooms", "circle"])
@pytest.mark.parametrize(
    "languages",
    [
        "JAVA GO GO CPP",
        "GO GO GO GO",
        "JAVA GO JAVA GO",
        "PYTHON CPP CPP",
        "JAVA JAVA",
        "GO RUST GO",
        "RMQALLOC GO JAVA",
    ],
)
def test_a_plan_is_what_every_client_computes_for_itself(key, languages):
    languages = languages.split()
    snapshot = snapshot_of(*languages)
    ids = [one.client_id for one in snapshot.groups[0].clients]
    joining = (
        languages[0]
        if len({"CPP" if one == "PYTHON" else one for one in languages}) == 1
        else "JAVA"
    )
    name, params = SET[key]
    to = SetStrategy(name, params)
    scenarios = [
        Scenario("to", [to]),
        Scenario("more", [to, AddClients(ids="new@1")]),
        Scenario("less", [RemoveClients(ids=ids[1]), to]),
    ]
    plan = rmqalloc.plan(snapshot, scenarios)
    language_of = dict(zip(ids, languages, strict=True))
    states = {
        "to": language_of,
        "more": language_of | {"new@1": joining},
        "less": {one: language for one, language in language_of.items() if one != ids[1]},
    }
    for scenario, there in states.items():
        takers = taken(key, TOPIC, there)
        assert owners_after(plan, scenario) == takers
        [row] = [one for one in plan.units.to_pylist() if one["scenario"] == scenario]
        assert row["unowned"] == sum(not ids for ids in takers.values())
        assert row["double_owned"] == sum(len(ids) > 1 for ids in takers.values())
    assert proved(plan, snapshot)


def test_an_all_go_group_is_planned_by_gos_rules_as_the_engine_has_them():
    snapshot = snapshot_of("GO", "GO", "GO")
    plan = rmqalloc.plan(snapshot, [Scenario("to", [SetStrategy("CONSISTENT_HASH")])])
    queues, ids = list(TOPIC.queues()), [one.client_id for one in snapshot.groups[0].clients]
    expected = (
        rmqalloc.strategy("CONSISTENT_HASH", dialect="go").assign(queues, ids).owners.tolist()
    )
    assert list(owners_after(plan, "to").values()) == [[ids[owner]] for owner in expected]
    assert expected != rmqalloc.strategy("CONSISTENT_HASH").assign(queues, ids).owners.tolist()
    assert plan.warnings == ()


def test_rooms_are_not_asked_of_clients_that_do_not_read_them():
    snapshot = snapshot_of("GO", "GO")
    plan = rmqalloc.plan(snapshot, [Scenario("to", [SetStrategy(SET["nearby"][0])])])
    assert owners_after(plan, "to") == taken(
        "nearby", TOPIC, dict.fromkeys(("10.0.0.0@1", "10.0.0.1@1"), "GO")
    )
    assert proved(plan, snapshot)
    with pytest.raises(TypeError, match="machineRoomResolver is null"):
        rmqalloc.plan(snapshot_of("GO", "JAVA"), [Scenario("to", [SetStrategy(SET["nearby"][0])])])


def test_lists_of_brokers_and_other_changes_beside_the_strategy():
    """Clients with one of two lists; what joins and leaves is the same in both."""
    lists = {
        "a@b": ("10.0.0.0@1", "10.0.0.1@1", "10.0.0.2@1"),
        "hz@b1": ("10.0.0.0@1", "10.0.0.1@1"),
    }
    snapshot = snapshot_of("JAVA", "GO", "GO", broker_client_ids=lists)
    changes = [SetStrategy("CONSISTENT_HASH"), SetVirtualNodes(20), AddClients(ids="new@1")]
    plan = rmqalloc.plan(snapshot, [Scenario("to", changes)])
    queues = list(TOPIC.queues())
    expected = {queue: set() for queue in queues}
    languages = {"10.0.0.0@1": "JAVA", "10.0.0.1@1": "GO", "10.0.0.2@1": "GO", "new@1": "JAVA"}
    for listed in lists.values():
        for one, language in languages.items():
            for queue in twin("ring", language).allocate(
                "g", one, queues, sorted([*listed, "new@1"])
            ):
                expected[queue].add(one)
    assert owners_after(plan, "to") == {queue: sorted(ids) for queue, ids in expected.items()}
    assert proved(plan, snapshot)


def test_parameters_that_name_a_dialect_hold_for_all():
    snapshot = snapshot_of("GO", "JAVA")
    ids = dict.fromkeys(("10.0.0.0@1", "10.0.0.1@1"))
    for dialect, language in (("go", "GO"), ("java", "JAVA")):
        params = {"virtual_nodes": 20, "dialect": dialect}
        plan = rmqalloc.plan(snapshot, [Scenario("to", [SetStrategy("CONSISTENT_HASH", params)])])
        assert owners_after(plan, "to") == taken("ring", TOPIC, dict.fromkeys(ids, language))
        assert proved(plan, snapshot)


def test_the_way_back_of_a_mixed_group_leads_to_the_rules_of_every_language():
    ring = ("CONSISTENT_HASH", {"virtual_nodes": 20})
    before = snapshot_of("JAVA", "GO", "GO", strategy=ring[0], params=ring[1])
    plan = rmqalloc.plan(before, [Scenario("to", [SetStrategy("AVG")])])
    back = undo_plan(plan, snapshot_of("JAVA", "GO", "GO"))
    assert owners_after(back, "undo to") == taken(
        "ring", TOPIC, {"10.0.0.0@1": "JAVA", "10.0.0.1@1": "GO", "10.0.0.2@1": "GO"}
    )


@pytest.mark.parametrize("languages", ["JAVA GO GO", "GO GO GO", "JAVA JAVA CPP"])
def test_strategies_are_compared_by_what_every_client_computes(languages):
    languages = languages.split()
    candidates = [Candidate(key, *SET[key]) for key in ("ring", "rooms", "circle")]
    rows = compare(snapshot_of(*languages), candidates).table.to_pylist()
    ids = [f"10.0.0.{i}@1" for i in range(len(languages))]
    language_of = dict(zip(ids, languages, strict=True))
    assert len(rows) == len(candidates)
    for row in rows:
        takers = taken(row["strategy"], TOPIC, language_of)
        loads = Counter(one for each in takers.values() for one in each)
        assert row["unowned"] == sum(not each for each in takers.values())
        assert row["max_load"] == max(loads.values())
        moved = {}
        for gone in ids:
            left = taken(
                row["strategy"],
                TOPIC,
                {one: each for one, each in language_of.items() if one != gone},
            )
            moved[gone] = sum(takers[queue] != left[queue] for queue in takers)
        assert row["departure_mean"] == sum(moved.values()) / len(moved)
        name, params = SET[row["strategy"]]
        state = snapshot_of(*languages, strategy=name, params=params)
        departures = rmqalloc.plan(
            state, [Scenario(one, [RemoveClients(ids=one)]) for one in ids]
        ).groups.to_pylist()
        least = [each["least_moves"] for each in departures if each["scenario"] in ids]
        assert row["departure_least_mean"] == sum(least) / len(ids)
        assert row["departure_worst"] == max(moved.values()) == moved[row["departure_worst_client"]]


# --- What is said ---


def said(snapshot, strategy, **params):
    plan = rmqalloc.plan(snapshot, [Scenario("to", [SetStrategy(strategy, params or None)])])
    rollout = rmqalloc.rollout.strategy(snapshot, strategy, params=params or None)
    assert set(rollout.warnings) == set(plan.warnings)
    return list(plan.warnings)


def test_clients_whose_language_has_no_such_strategy_are_named():
    [warning] = said(snapshot_of("JAVA", "GO", "GO"), "CONSISTENT_HASH_BOUNDED")
    assert warning.startswith(
        "g: 2 clients are client-go, and client-go has no CONSISTENT_HASH_BOUNDED/1: it has AVG, "
    )
    assert warning.endswith("; Java's strategy is planned instead")
    assert said(snapshot_of("JAVA", "CPP"), "AVG_BY_CIRCLE") == [
        "g: 1 client is the C++ client, and the C++ client has no AVG_BY_CIRCLE: it has only AVG, which is planned"
    ]
    assert said(snapshot_of("GO", "RUST", None), "CONSISTENT_HASH") == [
        "g: 1 client is of the language RUST, whose strategies are not known; Java's strategy is planned instead",
        "g: 1 client is of an unknown language; Java's strategy is planned instead",
    ]


@pytest.mark.parametrize(
    ("languages", "strategy", "params"),
    [
        (("JAVA", "JAVA"), "CONSISTENT_HASH", {}),
        (("JAVA", "GO"), "CONSISTENT_HASH", {}),
        (("JAVA", "GO"), "AVG_BY_CIRCLE", {}),
        (("JAVA", "GO"), "ORDINAL", {}),
        (("JAVA", "GO"), "STABLE", {}),
        (("GO", "CPP"), "AVG", {}),
        (("GO", "GO"), "CONSISTENT_HASH", {"dialect": "go"}),
        ((None, None), "CONSISTENT_HASH", {}),
    ],
)
def test_nothing_is_said_where_every_client_has_the_strategy(languages, strategy, params):
    assert said(snapshot_of(*languages), strategy, **params) == []
