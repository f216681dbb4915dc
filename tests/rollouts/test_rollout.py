"""Rollouts: against the slow twin, against what is known of large groups, and what they promise."""

import itertools
import math
import re
from collections import Counter

import pyarrow as pa
import pytest
import rollout_twin as twin
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis_budget import examples

from rmqalloc.model import MessageQueue
from rmqalloc.rollouts import replay_groups as play
from rmqalloc.rollouts._maintain import maintain_broker
from rmqalloc.rollouts._subscribe import change_subscription
from rmqalloc.rollouts.resize import resize_queues
from rmqalloc.rollouts.restart import new_id, restart
from rmqalloc.rollouts.rollout_result import (
    EXPOSED_SCHEMA,
    STEPS_SCHEMA,
    TOPICS_SCHEMA,
    TOTALS_SCHEMA,
)
from rmqalloc.rollouts.switch import change_strategy
from rmqalloc.snapshot.snapshot import Client, Group, Lag, Snapshot, Topic, TopicBroker

CLIENTS = [f"10.0.0.{i}@1#{i}" for i in range(6)] + ["c1", "c2@7", "zz", "é", "\uffff", "😀"]
RULES = [
    ("AVG", {}),
    ("AVG_BY_CIRCLE", {}),
    ("CONSISTENT_HASH", {}),
    ("CONSISTENT_HASH", {"virtual_nodes": 2}),
]

NOT_THE_TWINS = {
    *("consumer_group", "step", "action", "messages_delayed", "messages_twice"),
    *("unowned_seconds_p99", "double_owned_seconds_p99"),
}

clients_of_group = st.lists(st.sampled_from(CLIENTS), min_size=1, max_size=6, unique=True)
counts_of_topic = st.dictionaries(st.sampled_from(["a", "b", "c*"]), st.integers(1, 5), min_size=1)
groups_of_fleet = st.lists(
    st.tuples(
        clients_of_group,
        st.dictionaries(st.sampled_from(["T1", "T2", "T3"]), counts_of_topic, min_size=1),
    ),
    min_size=1,
    max_size=3,
)
orders = st.sampled_from(["shuffled", "sorted", "reversed", "spread"])
rules = st.sampled_from(RULES)


def snapshot_of(groups, rule=("AVG", {})):
    """A snapshot of groups ``(client_ids, {topic: {broker: n}})``, each with topics of its own."""
    topics, made = [], []
    for number, (client_ids, counts) in enumerate(groups):
        for topic, brokers in counts.items():
            brokers = tuple(TopicBroker(broker, n) for broker, n in brokers.items())
            topics.append(Topic(f"{topic}-{number}", brokers))
        names = tuple(f"{topic}-{number}" for topic in counts)
        clients = tuple(map(Client, client_ids))
        made.append(Group(f"g{number}", names, clients, strategy=rule[0], strategy_params=rule[1]))
    return Snapshot(tuple(topics), tuple(made))


def numbered(counts, number):
    return {f"{topic}-{number}": brokers for topic, brokers in counts.items()}


def steps_of(rollout, number=0):
    rows = [row for row in rollout.steps.to_pylist() if row["consumer_group"] == f"g{number}"]
    assert [row["step"] for row in rows] == list(range(len(rows)))
    return [{key: row[key] for key in row if key not in NOT_THE_TWINS} for row in rows]


def same(found, want):
    """Whether the figures of steps are those of the twin, but for what is lost in sums."""
    return [one.keys() for one in found] == [one.keys() for one in want] and all(
        mine == his or math.isclose(mine, his, rel_tol=1e-6, abs_tol=1e-9)
        for one, two in zip(found, want, strict=True)
        for mine, his in ((one[name], two[name]) for name in one)
    )


def check_sums(rollout):
    """Steps are the sums of their topics but for the worst moments, totals those of their steps."""
    keys = ["consumer_group", "step"]
    by_name = [(key, "ascending") for key in keys]
    summed, worst = (
        ["n_queues", "moved"],
        ["unowned", "unowned_written", "unowned_dry", "double_owned"],
    )
    found = (
        rollout.topics.group_by(keys, use_threads=False)
        .aggregate([(name, "sum") for name in summed + worst])
        .sort_by(by_name)
    )
    steps = rollout.steps.sort_by(by_name)
    for name in summed:
        assert found[f"{name}_sum"].to_pylist() == steps[name].to_pylist()
    for name in worst:  # the worst moments of two topics need not be one
        pairs = zip(found[f"{name}_sum"].to_pylist(), steps[name].to_pylist(), strict=True)
        assert all(of_topics >= of_group for of_topics, of_group in pairs)
    for row in rollout.totals.to_pylist():
        steps = [
            one
            for one in rollout.steps.to_pylist()
            if one["consumer_group"] == row["consumer_group"]
        ]
        assert row["n_steps"] == len(steps) - 1
        assert row["moved"] == sum(one["moved"] for one in steps)
        assert row["clients_touched"] == sum(one["clients_touched"] for one in steps)
        assert row["moved_per_queue"] == row["moved"] / steps[0]["n_queues"]
        for name in worst:
            assert row[f"max_{name}"] == max(one[name] for one in steps)
        assert row["max_unowned_is_exact"] and row["max_double_owned_is_exact"]
        assert row["min_load"] == min(one["min_load"] for one in steps)
        assert row["max_load"] == max(one["max_load"] for one in steps)


# --- Against the twin ---


@given(
    groups_of_fleet,
    rules,
    st.booleans(),
    st.sampled_from(["suffix", "stable", "address"]),
    orders,
    st.data(),
)
@examples(30)
def test_a_restart_is_the_twins(groups, rule, surge, ids, order, data):
    assume(not (surge and ids == "stable"))
    size = data.draw(st.integers(1, min(len(client_ids) for client_ids, _ in groups)))
    rollout = restart(
        snapshot_of(groups, rule),
        batch=size,
        surge=surge,
        ids=ids,
        order=order,
        seed=3,
        detail=True,
    )
    check_sums(rollout)
    assert groups
    for number, (client_ids, counts) in enumerate(groups):

        def comes_back(one):
            return one if ids == "stable" else new_id(one, ids, set())

        want = twin.restart(
            client_ids, numbered(counts, number), rule, size, surge, comes_back, order, 3
        )
        assert same(steps_of(rollout, number), want)


@given(groups_of_fleet, rules, rules, orders, st.integers(1, 100))
@examples(50)
def test_a_change_of_strategy_is_the_twins(groups, rule, new_rule, order, percent):
    rollout = change_strategy(
        snapshot_of(groups, rule),
        new_rule[0],
        params=new_rule[1],
        batch=f"{percent}%",
        order=order,
        detail=True,
    )
    check_sums(rollout)
    assert groups
    for number, (client_ids, counts) in enumerate(groups):
        size = max(1, len(client_ids) * percent // 100)
        want = twin.change_strategy(
            client_ids, numbered(counts, number), rule, new_rule, size, order, 0
        )
        assert same(steps_of(rollout, number), want)


@given(clients_of_group, counts_of_topic, rules, st.booleans(), orders, st.data())
@examples(40)
def test_a_change_of_subscription_is_the_twins(client_ids, counts, rule, remove, order, data):
    size = data.draw(st.integers(1, len(client_ids)))
    subscribed = ("T", "other") if remove else ("other",)
    topics = (
        Topic("T", tuple(TopicBroker(*one) for one in counts.items())),
        Topic("other", (TopicBroker("a", 2),)),
    )
    group = Group(
        "g0", subscribed, tuple(map(Client, client_ids)), strategy=rule[0], strategy_params=rule[1]
    )
    rollout = change_subscription(
        Snapshot(topics, (group,)), "T", remove=remove, batch=size, order=order, detail=True
    )
    assert same(
        steps_of(rollout),
        twin.change_subscription(client_ids, {"T": counts}, rule, remove, size, order, 0),
    )
    check_sums(rollout)


@given(clients_of_group, counts_of_topic, st.integers(1, 9), rules, orders)
@examples(50)
def test_more_and_fewer_queues_are_the_twins(client_ids, counts, to, rule, order):
    if len({(to > n) - (to < n) for n in counts.values()} - {0}) != 1:
        return
    snapshot = snapshot_of([(client_ids, {"T": counts})], rule)
    rollout = resize_queues(snapshot, "T-0", to, order=order)
    old, new = {"T-0": counts}, {"T-0": dict.fromkeys(counts, to)}
    if to > min(counts.values()):
        states = [(old, old), (new, old), (new, new)]
    else:
        states = [(old, old), (old, new), (new, new)]
    assert same(steps_of(rollout), twin.route_steps(client_ids, rule, states))
    assert bool(rollout.refusals) == (to < max(counts.values()))


@given(clients_of_group, counts_of_topic, st.integers(1, 5), rules, orders)
@examples(50)
def test_the_maintenance_of_a_broker_is_the_twins(client_ids, counts, more, rule, order):
    counts = {**counts, "broken": more}
    rollout = maintain_broker(
        snapshot_of([(client_ids, {"T": counts})], rule), "broken", order=order
    )
    whole, rest = (
        {"T-0": counts},
        {"T-0": {name: n for name, n in counts.items() if name != "broken"}},
    )
    states = [(whole, whole), (whole, rest), (rest, rest), (whole, rest), (whole, whole)]
    assert same(steps_of(rollout), twin.route_steps(client_ids, rule, states))


# --- What is known of large groups ---


def pods(n_clients, n_queues, rule=("AVG", {})):
    """A group on four brokers, its clients' addresses as random as they are with pods."""
    ids = [
        f"10.{i * 37 % 251}.{i * 101 % 241}.{i * 59 % 239}@1#{i * 7_919 + 10**9}"
        for i in range(n_clients)
    ]
    return snapshot_of([(ids, {"orders": {f"broker-{b}": n_queues // 4 for b in "abcd"}})], rule)


@pytest.mark.parametrize(
    ("rule", "batch", "least", "most"),
    [
        ("AVG", 1, 42, 46.5),
        ("AVG", 8, 6, 11),
        ("AVG_BY_CIRCLE", 1, 82, 86),
        ("CONSISTENT_HASH", 1, 1.8, 2.2),
    ],
)
def test_moves_of_a_restart_of_48_pods(rule, batch, least, most):
    [total] = restart(pods(48, 192, (rule, {})), batch=batch).totals.to_pylist()
    assert least <= total["moved_per_queue"] <= most
    assert (total["n_queues"], total["n_clients"], total["batch"]) == (192, 48, batch)


@pytest.mark.parametrize("new", [("AVG_BY_CIRCLE", {}), ("CONSISTENT_HASH", {})])
def test_exposure_while_ten_clients_change_their_strategy(new):
    rollout = change_strategy(pods(10, 40), new[0], detail=True)
    unowned = rollout.steps["unowned"].to_pylist()
    assert unowned[0] == unowned[-1] == 0
    assert 0.15 * 40 <= max(unowned) <= 0.45 * 40
    named = rollout.exposed.to_pylist()
    for row in rollout.steps.to_pylist():
        exposed = [one for one in named if one["step"] == row["step"]]
        assert (
            sum(one["exposure"] == "unowned" and one["client_ids"] == [] for one in exposed)
            == row["unowned"]
        )
        assert (
            sum(
                one["exposure"] == "double_owned" and len(one["client_ids"]) == 2 for one in exposed
            )
            == row["double_owned"]
        )


def test_stale_routes_while_queues_are_doubled():
    rollout = resize_queues(pods(10, 32), "orders-0", 16, detail=True)
    worst = rollout.steps.to_pylist()[1]
    half = Counter(
        row["exposure"].removesuffix("_dry")
        for row in rollout.exposed.to_pylist()
        if row["step"] == 1
    )
    assert 0.25 <= half["unowned"] / 64 <= 0.45
    assert 0 < half["double_owned"] / 64 <= 0.2
    assert all(half[name] <= worst[name] for name in half)
    assert rollout.steps["unowned_dry"].to_pylist()[2] == 0


def test_no_queue_of_other_brokers_moves_on_a_ring_when_one_goes():
    ring = maintain_broker(pods(10, 64, ("CONSISTENT_HASH", {})), "broker-b")
    assert ring.totals["moved"].to_pylist() == [0]
    [total] = maintain_broker(pods(10, 64), "broker-b").totals.to_pylist()
    assert 0.5 * 48 <= total["moved"] / 2 <= 48


# --- Promises ---


@given(clients_of_group, counts_of_topic, rules)
@examples(30)
def test_all_at_once_under_the_same_ids_takes_every_owned_queue_away_and_back(
    client_ids, counts, rule
):
    rollout = restart(
        snapshot_of([(client_ids, {"T": counts})], rule), batch="100%", ids="stable", detail=True
    )
    before, stop, start = steps_of(rollout)
    n = sum(counts.values())
    assert (stop["moved"], start["moved"], stop["unowned"], start["n_clients"]) == (
        n,
        n,
        n,
        len(client_ids),
    )
    assert (start["unowned"], start["unowned_written"]) == (
        n,
        n,
    )  # until the first of them has heard
    assert (start["unowned_seconds_worst"], start["unowned_queue_seconds"]) == (
        1,
        pytest.approx(n),
    )  # a client's first second
    same = {
        "moved": 0,
        "clients_touched": 0,
        **{name: 0 for name in start if name.startswith("unowned") and name in before},
    }
    assert start | same | {"unowned_is_exact": True} == before
    assert {row["step"] for row in rollout.exposed.to_pylist() if row["exposure"] == "unowned"} == {
        1
    }


@given(clients_of_group, counts_of_topic, rules, st.integers(0, 5))
@examples(30)
def test_a_restart_under_the_same_ids_ends_where_it_began(client_ids, counts, rule, seed):
    steps = steps_of(
        restart(snapshot_of([(client_ids, {"T": counts})], rule), ids="stable", seed=seed)
    )
    same = ("n_clients", "n_queues", "min_load", "max_load", "idle")
    assert [steps[0][name] for name in same] == [steps[-1][name] for name in same]


def test_pieces_come_to_the_same_as_the_whole(monkeypatch):
    snapshot = snapshot_of(
        [(CLIENTS[: n + 1], {"T": {"a": 3 + n}, "U": {"a": 1}}) for n in range(6)]
    )
    whole = restart(snapshot, batch="30%", detail=True)
    sizes = maintain_broker(snapshot, "a", detail=True)
    monkeypatch.setattr(play, "CELLS_AT_ONCE", 1)
    for one, other in (
        (whole, restart(snapshot, batch="30%", detail=True)),
        (sizes, maintain_broker(snapshot, "a", detail=True)),
    ):
        for name in ("steps", "topics", "totals", "exposed"):
            assert getattr(one, name).equals(getattr(other, name)), name


def test_tables_have_their_columns():
    rollout = restart(pods(4, 8), detail=True)
    for name, schema in (
        ("steps", STEPS_SCHEMA),
        ("topics", TOPICS_SCHEMA),
        ("totals", TOTALS_SCHEMA),
    ):
        assert getattr(rollout, name).schema == schema
    assert rollout.exposed.schema == EXPOSED_SCHEMA
    assert (restart(pods(4, 8)).topics, restart(pods(4, 8)).exposed) == (
        TOPICS_SCHEMA.empty_table(),
        EXPOSED_SCHEMA.empty_table(),
    )
    assert pa.table(rollout).equals(rollout.steps)


def test_the_machine_rooms_of_clients_come_back_with_them():
    rooms = [
        Client("10.0.0.1@1#1", "hz"),
        Client("10.0.0.2@1#1", "sh"),
        Client("10.0.0.3@1#1", "sh"),
    ]
    topic = Topic(
        "T", (TopicBroker("a", 4, machine_room="hz"), TopicBroker("b", 4, machine_room="sh"))
    )
    group = Group("g0", ("T",), tuple(rooms), strategy="MACHINE_ROOM_NEARBY-AVG")
    steps = steps_of(restart(Snapshot((topic,), (group,)), order="sorted", ids="address"))
    # The only client of hz goes: its queues fall to those of sh. Those of sh keep theirs among
    # themselves.
    assert [step["moved"] for step in steps][:2] == [0, 4]
    assert (
        (steps[0]["min_load"], steps[0]["max_load"])
        == (steps[-1]["min_load"], steps[-1]["max_load"])
        == (2, 4)
    )


# --- What stands in the way ---


def shrinking(*lags, subscriptions=("T",)):
    topic = Topic("T", (TopicBroker("a", 4), TopicBroker("b", 4)))
    lagging = Group("behind", subscriptions, (Client("x"),), lags=tuple(lags), strategy="AVG")
    return Snapshot(
        (topic,), (Group("g0", ("T",), (Client("c1"), Client("c2")), strategy="AVG"), lagging)
    )


def lags_of(messages, queue_ids=(2, 3)):
    return [Lag(MessageQueue("T", b, i), 10 + messages, 10) for b in "ab" for i in queue_ids]


def test_queues_with_a_backlog_in_any_group_are_not_dropped():
    snapshot = shrinking(*lags_of(7), subscriptions=())
    rollout = resize_queues(snapshot, "T", 2, groups=["g0"], assume_drained=True)
    assert rollout.refusals == (
        "consumer group 'behind' has 28 unconsumed messages in 4 queues of topic 'T': a:2, a:3, b:2, b:3",
    )
    assert (
        resize_queues(snapshot, "T", 3, assume_drained=True)
        .refusals[0]
        .endswith("2 queues of topic 'T': a:3, b:3")
    )


def test_an_unknown_backlog_is_refused_unless_it_is_taken_for_none():
    known = shrinking(*lags_of(0))
    assert [one[:46] for one in resize_queues(known, "T", 2).refusals] == [
        "the backlog of consumer group 'g0' is not known"[:46]
    ]
    assert resize_queues(known, "T", 2, assume_drained=True).refusals == ()
    partly = resize_queues(shrinking(*lags_of(0, [3])), "T", 2).refusals[1]
    assert (
        partly
        == "the backlog of consumer group 'behind' is not known in 2 queues of topic 'T': a:2, b:2"
    )


def test_backlog_in_queues_that_stay_does_not_matter():
    lags = [*lags_of(0), *lags_of(99, [0, 1])]
    both = tuple(
        Group(name, ("T",), (Client("c"),), lags=tuple(lags), strategy="AVG")
        for name in ("g0", "g1")
    )
    assert resize_queues(Snapshot(shrinking().topics, both), "T", 2).refusals == ()
    assert resize_queues(shrinking(), "T", 8).refusals == ()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        pytest.param(
            lambda s: restart(s, batch=9),
            "a batch of 9 is more than the 2 clients of consumer group 'g0'; give at most 2",
            id="batch=9",
        ),
        pytest.param(
            lambda s: restart(s, batch=0),
            "a batch must be a number of clients from 1, or 1% to 100%, got 0",
            id="batch=0",
        ),
        pytest.param(
            lambda s: restart(s, batch="101%"),
            "a batch must be a number of clients",
            id="batch=101%",
        ),
        pytest.param(
            lambda s: restart(s, surge=True, ids="stable"),
            "surge needs new ids",
            id="surge of stable ids",
        ),
        pytest.param(
            lambda s: restart(s, ids="old"),
            "ids must be one of suffix, stable, address, got 'old'",
            id="ids=old",
        ),
        pytest.param(
            lambda s: restart(s, order="up"),
            "order must be one of shuffled, sorted, reversed, spread, got 'up'",
            id="order=up",
        ),
        pytest.param(
            lambda s: restart(s, ["nobody"]),
            "no consumer group matches 'nobody'",
            id="no such group",
        ),
        pytest.param(
            lambda s: change_strategy(s, "AVERAGE"),
            "unknown strategy 'AVERAGE'",
            id="no such strategy",
        ),
        pytest.param(
            lambda s: change_subscription(s, "U"),
            "the snapshot has no topic 'U'",
            id="a subscription to no topic",
        ),
        pytest.param(
            lambda s: change_subscription(s, "T"),
            "consumer group 'g0' subscribes already to topic 'T'",
            id="a subscription that is there",
        ),
        pytest.param(
            lambda s: resize_queues(s, "U", 4),
            "the snapshot has no topic 'U'",
            id="queues of no topic",
        ),
        pytest.param(
            lambda s: resize_queues(s, "T", 4),
            "nothing would change: a has 4, b has 4, and 4 are requested",
            id="queues that are there",
        ),
        pytest.param(
            lambda s: resize_queues(s, "T", 0),
            "a broker needs at least 1 queue, got 0",
            id="no queue",
        ),
        pytest.param(
            lambda s: resize_queues(s, "T", 5, brokers=["c"]),
            "no readable broker of topic 'T' matches 'c'; it has a, b",
            id="no such broker",
        ),
        pytest.param(
            lambda s: resize_queues(s, "T", 5, refreshed=2),
            "must be from 0 to 1, got 2",
            id="refreshed=2",
        ),
        pytest.param(
            lambda s: maintain_broker(s, "c"),
            "no broker matches 'c'; ",
            id="maintenance of no broker",
        ),
    ],
)
def test_what_cannot_be_done_is_said(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call(shrinking())


def test_growing_some_brokers_and_shrinking_others_is_two_rollouts():
    snapshot = Snapshot(
        (Topic("T", (TopicBroker("a", 2), TopicBroker("b", 8))),),
        (Group("g", ("T",), (Client("c"),), strategy="AVG"),),
    )
    with pytest.raises(
        ValueError,
        match="some brokers would grow and some would shrink; resize them in two steps: a has 2, b has 8",
    ):
        resize_queues(snapshot, "T", 4)
    assert resize_queues(snapshot, "T", 4, brokers=["a"]).steps["n_queues"].to_pylist() == [
        10,
        12,
        12,
    ]


def test_what_cannot_be_planned_is_told_and_left_out():
    topic = Topic("T", (TopicBroker("a", 2),))
    twice, config = (
        (Client("x"), Client("x")),
        Group("config", ("T",), (Client("x"),), strategy="CONFIG"),
    )
    good, broadcast = (
        Group("good", ("T",), (Client("x"),), strategy="AVG"),
        Group("all", ("T",), (Client("x"),), "BROADCASTING", strategy="AVG"),
    )
    snapshot = Snapshot(
        (topic,),
        (
            Group("twice", ("T",), twice, strategy="AVG"),
            config,
            good,
            broadcast,
            Group("empty", ("T",), strategy="AVG"),
        ),
    )
    rollout = restart(snapshot)
    assert rollout.totals["consumer_group"].to_pylist() == ["good"]
    told = " ".join(rollout.warnings)
    for name in (
        "twice on T: a client id of the group is empty or listed twice",
        "config: its strategy cannot be computed: the lists of CONFIG are not in the snapshot",
        "all",
        "empty on T: cidAll",
    ):
        assert name in told
    with pytest.raises(ValueError, match="no group can be planned: left out: twice on T"):
        restart(snapshot, ["twice"])


def test_a_group_that_is_too_large_is_named(monkeypatch):
    monkeypatch.setattr(play, "MOST_CELLS", 10)
    with pytest.raises(
        ValueError,
        match="the rollout of consumer group 'g0' has 9 moments of 8 queues and 8 clients",
    ):
        restart(pods(4, 8))


def test_clients_of_an_ordered_group_that_are_killed_keep_their_locks():
    def longest(is_ordered, informed_by):
        group = Group(
            "g",
            ("T",),
            tuple(Client(f"c{i}@1#1") for i in range(4)),
            strategy="AVG",
            is_ordered=is_ordered,
        )
        made = restart(
            Snapshot((Topic("T", (TopicBroker("b", 8),)),), (group,)), informed_by=informed_by
        )
        return max(made.steps["unowned_seconds_worst"].to_pylist())

    assert [longest(*one) for one in itertools.product((False, True), ("notice", "crash"))] == [
        1.0,
        1.0,
        1.0,
        61.0,
    ]
