"""CONFIG by client id: one list for every client, understood by every verb alike."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples

from rmqalloc import Fleet, sort_client_ids
from rmqalloc.audit import check_snapshot
from rmqalloc.evidence import UnansweredError
from rmqalloc.model import MessageQueue
from rmqalloc.plans import plan_snapshot
from rmqalloc.plans._explain import explain
from rmqalloc.plans.comparison import Candidate, compare
from rmqalloc.rollouts.advice._config_lists import balanced_owners
from rmqalloc.rollouts.advice._recommend import advise
from rmqalloc.rollouts.advice.advice import config_document
from rmqalloc.rollouts.restart import restart
from rmqalloc.rollouts.switch import change_strategy
from rmqalloc.snapshot.matching import NoMatchError
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker
from rmqalloc.strategies import ConfigByClient
from rmqalloc.strategies.by_name import rule

RETRY = "%RETRY%g"
LISTS = {
    "c1": [["T", "a", 0], ["T", "a", 1]],
    "c2": [{"topic": "T", "broker_name": "a", "queue_id": 2}, ["T", "a", 3]],
}


def queue(queue_id, topic="T"):
    return MessageQueue(topic, "a", queue_id)


def cluster(lists, *ids, n=4, retry=False):
    """A group of these clients on a topic of n queues, and on its retry topic of one queue."""
    routes = (
        Topic("T", (TopicBroker("a", n, n),)),
        *([Topic(RETRY, (TopicBroker("a", 1, 1),))] if retry else []),
    )
    group = Group(
        "g",
        tuple(one.name for one in routes),
        tuple(map(Client, ids or ("c1", "c2"))),
        strategy="CONFIG",
        strategy_params={"message_queues": lists},
    )
    return Snapshot(routes, (group,))


def owners_of(plan, scenario="current"):
    """Owners after a scenario by queue id."""
    rows = [
        row
        for row in plan.queues.to_pylist()
        if row["scenario"] == scenario and row["change"] != "gone"
    ]
    return {row["queue_id"]: row["owner_after"] for row in rows if row["topic"] == "T"}


# --- The strategy ---


def test_the_strategy_is_named_config_and_reads_files():
    made = rule("CONFIG", message_queues=LISTS)
    assert isinstance(made, ConfigByClient)
    assert made.get_name() == "CONFIG"
    assert made.allocate("g", "c2", [], []) == [queue(2), queue(3)]
    assert made.allocate("g", "c3", [], []) is None
    assert made.holders(queue(1)) == ["c1"]


def test_of_equal_ids_the_first_position_owns():
    made = ConfigByClient({"x": [queue(0)], "y": [queue(1)]})
    assert made.assign([queue(0), queue(1), queue(2)], ["w", "x", "x", "y"]).owners.tolist() == [
        1,
        3,
        -1,
    ]


def test_a_queue_in_two_lists_is_refused_unless_one_of_the_clients_is_gone():
    made = ConfigByClient({"x": [queue(0), queue(0)], "y": [queue(0), queue(1)]})
    fleet = Fleet.from_groups(
        [("g", "T", [queue(0), queue(1)], ids) for ids in (["x", "y"], ["y"], ["x"])]
    )
    assert made.assign_fleet(fleet, on_error="report").tolist() == [-1, -1, 0, 0, 0, -1]
    assert [(one.position, one.reason) for one in made.fleet_errors(fleet)] == [
        (0, f"{queue(0)} is in the lists of x and y, which all consume it")
    ]
    with pytest.raises(ValueError, match="in the lists of x and y"):
        made.assign([queue(0)], ["x", "y"])


@pytest.mark.parametrize(
    ("name", "params", "said"),
    [
        ("CONFIG", {}, "the lists of CONFIG are not known: give message_queues"),
        ("CONFIG", {"message_queues": {}}, "the lists of CONFIG are not known"),
        ("CONFIG", {"message_queues": [["T", "a", 0]]}, "gives every client the same list"),
        ("CONFIG", {"message_queues": {"c1": 5}}, "must be a list of queues, got 5"),
        ("CONFIG", {"message_queues": {"c1": "T"}}, "must be a list of queues, got 'T'"),
        (
            "CONFIG",
            {"message_queues": {"c1": [["T", None, 0]]}},
            "must have a topic and a broker_name",
        ),
        ("CONFIG", {"message_queues": LISTS, "nodes": 1}, "nodes"),
        (
            "MACHINE_ROOM_NEARBY-CONFIG",
            {"message_queues": LISTS},
            "its whole list once for every machine room",
        ),
    ],
)
def test_what_has_no_single_owner_is_refused_with_the_reason(name, params, said):
    with pytest.raises(TypeError, match=said):
        rule(name, **params)


IDS = ("c1", "c2", "c3")
lists_of_queues = st.dictionaries(
    st.sampled_from(IDS),
    st.lists(st.builds(queue, st.integers(0, 5), st.sampled_from(["T", RETRY])), max_size=5),
)


@examples(100)
@given(
    lists_of_queues.filter(bool),
    st.lists(st.sampled_from([*IDS, "c4"]), min_size=1, max_size=4, unique=True),
)
def test_every_verb_gives_the_owners_that_the_lists_say(lists, ids):
    whole = cluster({one: [list(q) for q in queues] for one, queues in lists.items()}, *ids)
    holders = {
        i: [one for one in sort_client_ids(ids) if queue(i) in lists.get(one, ())] for i in range(4)
    }
    plan = plan_snapshot(whole, [])
    found = check_snapshot(whole)
    assert {q.queue_id for f in found if f.rule == "config-hole" for q in f.queues} == {
        i for i in holders if not holders[i]
    }
    if any(len(some) > 1 for some in holders.values()):
        assert "which all consume it" in plan.units["err_msg"][0].as_py()
    else:
        assert owners_of(plan) == {i: (some or [None])[0] for i, some in holders.items()}
    for i, some in holders.items():
        if len(some) > 1:
            with pytest.raises(ValueError, match=" and ".join(some)):
                explain(whole, "g", "T", "a", i)
        else:
            assert explain(whole, "g", "T", "a", i).owner == (some or [None])[0]


# --- Verbs ---


def test_scenarios_change_clients_and_queues_and_lists_stay():
    changes = {
        "less": {"remove_clients": {"ids": ["c1"]}},
        "more": {"add_clients": {"ids": ["c3"]}},
        "wide": {"set_queues": {"read_queue_nums": 5}},
    }
    lists = {**LISTS, "c3": [["T", "a", 4]]}
    plan = plan_snapshot(
        cluster(lists), [{"name": name, "changes": [one]} for name, one in changes.items()]
    )
    assert owners_of(plan) == {0: "c1", 1: "c1", 2: "c2", 3: "c2"}
    assert owners_of(plan, "less") == {0: None, 1: None, 2: "c2", 3: "c2"}
    assert owners_of(plan, "more") == owners_of(plan)
    assert owners_of(plan, "wide") == owners_of(plan) | {4: None}
    both = plan_snapshot(
        cluster(lists), [{"name": "both", "changes": [changes["more"], changes["wide"]]}]
    )
    assert owners_of(both, "both") == owners_of(plan) | {4: "c3"}


def test_an_explanation_looks_the_queue_up():
    whole = cluster(
        {"c1": [["T", "a", 0]], "gone": [["T", "a", 1]], "c2": [["T", "a", 2]], "c4": []}
    )
    assert explain(whole, "g", "T", "a", 0).steps == ("the list of client c1 has the queue",)
    lost = explain(whole, "g", "T", "a", 1)
    assert (lost.owner, lost.steps) == (
        None,
        ("the list of client gone, which is not in the group, has the queue",),
    )
    assert explain(whole, "g", "T", "a", 3).steps == ("none of the 4 lists has the queue",)


def test_another_queue_in_two_lists_does_not_keep_one_from_being_explained():
    whole = cluster({"c1": [["T", "a", 0], ["T", "a", 1]], "c2": [["T", "a", 1]]})
    assert explain(whole, "g", "T", "a", 0).owner == "c1"


def test_strategies_are_compared_with_the_lists():
    [row] = compare(cluster(LISTS), [Candidate("CIRCLE", "AVG_BY_CIRCLE", {})]).table.to_pylist()
    assert (row["n_queues"], row["n_clients"], row["moved"]) == (4, 2, 2)


def test_clients_go_over_from_their_lists():
    rollout = change_strategy(cluster(LISTS), "AVG_BY_CIRCLE", order="sorted")
    # c1 goes from 0, 1 to 0, 2, while c2 still has 2, 3.
    assert rollout.steps["unowned"].to_pylist() == [0, 1, 0]
    assert rollout.steps["double_owned"].to_pylist() == [0, 1, 0]


def test_lists_by_client_id_do_not_fit_new_ids():
    for ids in ("suffix", "address"):
        with pytest.raises(
            NoMatchError, match=r"g on T: the lists of CONFIG are by client id, .* with stable ids"
        ):
            restart(cluster(LISTS), ids=ids)
    [totals] = restart(cluster(LISTS), ids="stable").totals.to_pylist()
    assert (totals["max_unowned"], totals["max_double_owned"], totals["moved"]) == (2, 0, 8)


def test_groups_with_lists_do_not_keep_others_from_a_restart():
    whole = cluster(LISTS)
    other = Group("h", ("T",), whole.groups[0].clients, strategy="AVG")
    rollout = restart(replace(whole, groups=(*whole.groups, other)))
    assert rollout.totals["consumer_group"].to_pylist() == ["h"]
    assert "g on T: the lists of CONFIG" in rollout.warnings[-1]


def test_a_hole_in_the_retry_topic_is_a_hole():
    [hole] = check_snapshot(cluster(LISTS, retry=True))
    assert (hole.rule, hole.severity, hole.topic, hole.queues) == (
        "config-hole",
        "error",
        RETRY,
        (queue(0, RETRY),),
    )
    whole = {**LISTS, "c1": [*LISTS["c1"], [RETRY, "a", 0]]}
    assert check_snapshot(cluster(whole, retry=True)) == ()


@pytest.mark.parametrize("lists", [{"c1": 5}, {"c1": [["T", "a"]]}, {"c1": [["T", "a", "x"]]}])
def test_lists_that_cannot_be_read_are_told(lists):
    whole = cluster(lists)
    assert [one.rule for one in check_snapshot(whole)] == ["expected-not-known"]
    with pytest.raises(UnansweredError, match="g: its strategy cannot be computed: "):
        plan_snapshot(whole, [])


# --- Lists that are recommended ---


def test_recommended_lists_tell_which_topics_they_leave_out():
    alone = advise(cluster(LISTS))
    assert (
        alone.left_out
        == f"the lists for CONFIG leave out {RETRY} of g: under CONFIG no client consumes a queue that is in no list"
    )
    assert config_document(alone)["groups"][0]["left_out"] == [RETRY]
    both = advise(cluster(LISTS, retry=True))
    assert both.left_out is None
    assert {row["topic"] for row in both.lists.to_pylist()} == {"T", RETRY}
    assert advise(cluster(LISTS, retry=True), topics=(RETRY,)).assignments[0].left_out == ("T",)


def test_topics_without_queues_are_not_left_out():
    whole = cluster(LISTS, retry=True)
    none = Topic("none", (TopicBroker("a", 4, 4, perm=0),))
    group = replace(whole.groups[0], subscriptions=(*whole.groups[0].subscriptions, "none"))
    assert advise(Snapshot((*whole.topics, none), (group,))).left_out is None


def test_recommended_lists_are_planned_as_they_are():
    whole = cluster(LISTS, "c1", "c2", "c3", n=7, retry=True)
    document = config_document(advise(whole))
    lists = {one["client_id"]: one["message_queues"] for one in document["groups"][0]["clients"]}
    planned = plan_snapshot(
        cluster(json.loads(json.dumps(lists)), "c1", "c2", "c3", n=7, retry=True), []
    )
    assert planned.units["unowned"].to_pylist() == [0, 0]
    assert planned.units["skew"][0].as_py() == pytest.approx(9 / 7)


def test_a_group_with_lists_is_not_told_to_change_its_number_of_clients():
    [text] = (
        advise(cluster({"c1": [["T", "a", 0]], "c2": [["T", "a", i] for i in (1, 2, 3)]}))
        .groups["advice"]
        .to_pylist()
    )
    assert "All clients would have equally" not in text
    assert "tried number of clients" not in text
    assert "The most even lists for CONFIG would move 1 queue of 4" in text


def test_of_clients_that_have_equally_many_the_one_with_less_elsewhere_gets_more():
    now = np.array([0, 1, 2, -1])
    assert balanced_owners(now, 3, np.array([2, 1, 2])).tolist() == [0, 1, 2, 1]
    assert balanced_owners(now, 3, np.array([2, 2, 1])).tolist() == [0, 1, 2, 2]
    assert balanced_owners(now, 3).tolist() == [0, 1, 2, 0]  # the first where that is equal too
    assert balanced_owners(np.array([0, 0, 1, -1]), 2, np.array([9, 0])).tolist() == [0, 0, 1, 1]
    assert balanced_owners(np.array([0, 0, 1]), 2, np.array([9, 0])).tolist() == [
        0,
        0,
        1,
    ]  # who has most keeps most
