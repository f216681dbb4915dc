"""Simulations of a group that a snapshot shows: its script, what its events become under a seed, what
is refused, and what many runs find.
"""

import json
from dataclasses import replace

import pyarrow as pa
import pytest
from simulated_groups import IDS, TOPIC, cluster

import rmqalloc
from rmqalloc.documents.fields import ScenarioError
from rmqalloc.evidence import UnansweredError, known
from rmqalloc.model import MessageQueue
from rmqalloc.simulation import (
    EVENTS,
    Flow,
    Quantiles,
    UnsimulatedError,
    read_event,
    script_of_snapshot,
    simulate,
)
from rmqalloc.simulation._messages import Reading, count_all_messages, count_messages
from rmqalloc.simulation._snapshot_script import cluster_of_snapshot
from rmqalloc.snapshot.matching import NoMatchError
from rmqalloc.snapshot.snapshot import Client, Lag, SourceError, Topic, TopicBroker


def simulated(snapshot, *events, seeds=1, seed=None, **more):
    """The result of events on the group of a snapshot."""
    return simulate(script_of_snapshot(snapshot, "g", events, **more), seed, seeds=seeds)


def steps(script, *kinds, seed=0):
    """The steps of some kinds that its events come to."""
    return [step for step in script.course(seed).steps if step.kind in kinds and step.event >= 0]


def values(result, figure, event=1):
    return [getattr(row, figure) for row in result.events if row.number == event]


# --- The script ---


def test_a_script_holds_what_the_snapshot_shows():
    script = script_of_snapshot(cluster(is_ordered=True), "g", ["crash"])
    [part] = script.groups
    assert (part.strategy, part.ordered, part.topics, script.profile) == (
        "AVG",
        True,
        ("T",),
        "5.3",
    )
    assert sorted(part.client_names) == IDS
    assert script.brokers == ("a", "b", "c")


def test_brokers_with_other_numbers_of_queues_have_them_before_the_first_client_starts():
    result = simulate(script_of_snapshot(cluster(), "g", ["crash"]))
    queues = {(one.broker_name, one.queue_id) for one in result.ownerships[0].queues}
    assert queues == {("a", i) for i in range(8)} | {("b", i) for i in range(4)}
    assert result.events[-1].unowned == result.events[-1].double_owned == 0


def owners_before(snapshot, name="g"):
    """Owners when the first event begins."""
    script = script_of_snapshot(snapshot, name, ["pause lasts=1s"])
    at = script.course().begin
    of = simulate(script).ownerships[0]
    spans = zip(
        of.intervals.queue.tolist(),
        of.intervals.start.tolist(),
        of.intervals.end.tolist(),
        of.processes,
        strict=True,
    )
    return {
        of.queues[queue]: of.client_ids[one]
        for queue, start, end, one in spans
        if start < at <= end
    }


@pytest.mark.parametrize("name", ["AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH"])
def test_clients_own_what_their_strategy_gives_them(name):
    owners = rmqalloc.strategy(name).assign(list(TOPIC.queues()), IDS)
    want = {
        queue: owners.client_ids[owner]
        for queue, owner in zip(owners.mq_all, owners.owners, strict=True)
    }
    assert owners_before(cluster(strategy=name)) == want


def test_clients_may_read_other_topics_than_others():
    clients = (Client(IDS[0], subscriptions=("T", "U")), Client(IDS[1], subscriptions=("T",)))
    found = owners_before(
        cluster(
            TOPIC, Topic("U", (TopicBroker("a", 2),)), subscriptions=("T", "U"), clients=clients
        )
    )
    queues = [MessageQueue("U", "a", i) for i in range(2)]
    assert list(map(found.get, queues)) == [
        IDS[0],
        None,
    ]  # the other one's share is read by nobody, as in RocketMQ


def test_clients_may_divide_otherwise_than_others():
    clients = tuple(
        Client(one, strategy=name) for one, name in zip(IDS, ("AVG", "AVG_BY_CIRCLE"), strict=False)
    )
    script = script_of_snapshot(cluster(clients=clients), "g", ["crash"])
    found = {client.client_id: client.strategy for client in script.groups[0].members}
    assert found == {IDS[0]: None, IDS[1]: "AVG_BY_CIRCLE"} and script.groups[0].strategy == "AVG"


def test_a_client_id_that_two_have_is_simulated_twice():
    script = script_of_snapshot(
        cluster(clients=(Client(IDS[0]), Client(IDS[0]))), "g", ["freeze lasts=1s clients=2"]
    )
    result = simulate(script)
    assert result.ownerships[0].client_ids == [IDS[0], IDS[0]]


def test_every_seed_has_another_moment_and_the_same_seed_the_same_steps():
    script = script_of_snapshot(cluster(), "g", ["crash"])
    courses = [script.course(seed) for seed in (1, 2, 1)]
    assert courses[0] == courses[2] != courses[1]
    assert courses[0].begin != courses[1].begin


@pytest.mark.parametrize(
    ("version", "release"),
    [("4.9.8", "4.9"), ("V5_1_4", "5.3"), ("5.5.0", "5.5"), (None, "5.5"), ("x", "5.5")],
)
def test_the_release_is_that_of_the_clients(version, release):
    clients = tuple(Client(one, version=version) for one in IDS)
    made = cluster_of_snapshot(cluster(clients=clients), "g")
    assert made["profile"] == release
    assert any("release" in note for note in made["notes"]) is (version in (None, "x"))


# --- Refusals ---


@pytest.mark.parametrize(
    ("others", "reason"),
    [
        ({"message_model": "BROADCASTING"}, "BROADCASTING"),
        ({"is_shared": True}, "share the messages"),
        ({"server_assignment": "POP"}, "POP"),
        ({"lite_topic": "L"}, "lite topics"),
        ({"clients": ()}, "no client"),
        ({"clients": (Client(""),)}, "no id"),
        (
            {"strategy_doubt": "it may be another", "strategy_source": "assumed"},
            "it may be another",
        ),
        ({"unknown": {"clients": "one broker was silent"}}, "one broker was silent"),
        ({"strategy": "MACHINE_ROOM_NEARBY-AVG"}, "machine rooms"),
        ({"strategy": "CONFIG", "strategy_params": {"message_queues": {IDS[0]: []}}}, "CONFIG"),
        ({"clients": (Client(IDS[0], subscriptions=("%RETRY%g",)),)}, "subscribes to none"),
    ],
)
def test_what_a_script_cannot_represent_is_refused(others, reason):
    with pytest.raises((UnsimulatedError, UnansweredError), match=reason):
        script_of_snapshot(cluster(**others), "g", ["crash"])


def test_a_route_that_is_not_known_is_refused_and_one_that_is_not_there_is_noted():
    with pytest.raises(UnansweredError, match="route of topic T is not known"):
        cluster_of_snapshot(cluster(replace(TOPIC, unknown={"routes": "timeout"})), "g")
    failed = SourceError("name server x", "route of topic T", "timeout")
    with pytest.raises(UnansweredError, match="timeout"):
        cluster_of_snapshot(replace(cluster(Topic("U")), errors=(failed,)), "g")
    made = cluster_of_snapshot(cluster(subscriptions=("T", "gone")), "g")
    assert [topic["name"] for topic in made["topics"]] == ["T"]
    assert any("gone" in note for note in made["notes"])


def test_a_group_that_is_not_there_is_refused():
    with pytest.raises(NoMatchError, match="no consumer group matches 'gg'"):
        script_of_snapshot(cluster(), "gg", ["crash"])


def test_an_accepted_or_stated_strategy_is_simulated():
    doubtful = cluster(strategy=None, clients=tuple(map(Client, IDS)))
    with pytest.raises(UnansweredError, match="in doubt"):
        cluster_of_snapshot(doubtful, "g")

    def strategy_of(**said):
        return cluster_of_snapshot(known(doubtful, ["g"], **said), "g")["groups"][0]["strategy"]

    assert strategy_of(assume=True) == "AVG"
    assert strategy_of(strategy="AVG_BY_CIRCLE") == "AVG_BY_CIRCLE"


# --- Events ---


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("krash", "did you mean crash"),
        ("", "KIND key=value"),
        ("crash 'x", "KIND key=value"),
        ("crash clients", "KIND key=value"),
        ("crash clients=1 clients=2", "each key once"),
        ("crash clients=0", "from 1 to"),
        ("freeze", "lasts"),
        ("freeze lasts=5", "no unit"),
        ("restart batch=0", "batch must be"),
        ("restart bach=1", "bach"),
        ("scale", "to"),
        ("crash at=soon", "must be a time"),
        ("restart strategy=AVERAGE", "AVERAGE"),
    ],
)
def test_a_wrong_event_says_what_would_be_right(text, what):
    with pytest.raises(ScenarioError, match=what):
        read_event(text)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("crash clients=5", "there are 4"),
        ("crash clients=x", "names 'x'"),
        ("restart_broker brokers=d lasts=5s", "names 'd'"),
        ("change_topic topic=U read_queue_nums=4", "names 'U'"),
        ("scale to=4", "changes nothing"),
        ("restart every=20h", "past the end"),
        ("join group=h", "names 'h'"),
        ("set_consume_mode mode=POP topic=T", "divides its queues itself"),
    ],
)
def test_an_event_that_is_not_possible_is_refused(text, what):
    with pytest.raises(ScenarioError, match=what):
        script_of_snapshot(cluster(), "g", [text])


def test_events_come_one_after_the_other():
    events = ["pause lasts=10s clients=1", "crash clients=1", "scale to=5 at=5m"]
    first, second, third = script_of_snapshot(cluster(), "g", events).course().events
    assert (second.at - first.at, third.at - first.at) == (70_000, 300_000)
    events = ["freeze lasts=2m", "crash", "crash at=3m"]
    with pytest.raises(
        ScenarioError, match=r"events\[2\].at is before the event before it, at 180s"
    ):
        script_of_snapshot(cluster(), "g", ["freeze lasts=2m", "crash", "crash at=150s"])
    assert len(script_of_snapshot(cluster(), "g", events).course().events) == 3


@pytest.mark.parametrize(("ids", "kept"), [("suffix", False), ("stable", True), ("address", False)])
def test_a_restart_goes_over_all_clients_in_batches(ids, kept):
    script = script_of_snapshot(cluster(), "g", [f"restart batch=3 every=20s down=4s ids={ids}"])
    left, back = steps(script, "shutdown"), steps(script, "join")
    assert [len(step.detail.clients) for step in left] == [3, 1]
    assert sorted(name for step in left for name in step.detail.clients) == IDS
    assert left[1].at - left[0].at == 20_000
    assert {step.at - left[0].at for step in back} == {4_000, 24_000}
    found = {step.detail.client_id for step in back}
    assert len(found) == 4 and (found == set(IDS)) is kept


def test_the_order_of_a_restart_is_given_or_left_to_the_seed():
    def order(event, seed):
        script = script_of_snapshot(cluster(), "g", [event])
        left = steps(script, "shutdown", seed=seed)
        return [name for step in left for name in step.detail.clients]

    assert order(f"restart clients={IDS[2]},{IDS[0]}", 1) == [IDS[2], IDS[0]]
    assert len({tuple(order("restart", seed)) for seed in range(8)}) > 1


def test_a_restart_may_bring_another_strategy():
    script = script_of_snapshot(
        cluster(), "g", ["restart batch=4 strategy=CONSISTENT_HASH(virtual_nodes=16)"]
    )
    last = steps(script, "join")[-1].detail.made_strategy()
    assert last.get_name() == "CONSISTENT_HASH" and last.virtual_nodes == 16


def test_clients_are_chosen_by_pattern_by_name_and_by_chance():
    events = ["crash clients=*1@*", f"vanish clients={IDS[0]}", "freeze clients=2 lasts=1s"]
    script = script_of_snapshot(cluster(), "g", events)
    chosen = [step.detail.clients for step in steps(script, "crash", "vanish", "freeze")]
    assert chosen == [(IDS[1],), (IDS[0],), tuple(IDS[2:])]


def test_a_group_is_scaled_up_and_down():
    script = script_of_snapshot(cluster(), "g", ["scale to=6", "scale to=1"])
    [joined], [left] = steps(script, "join"), steps(script, "shutdown")
    assert joined.detail.clients == ("what-if-000001", "what-if-000002")
    assert len(left.detail.clients) == 5


def test_a_topic_comes_to_a_broker_that_held_none_of_the_group():
    event = "change_topic topic=T read_queue_nums=2 brokers=new"
    script = script_of_snapshot(cluster(), "g", [event])
    assert script.brokers == ("a", "b", "c", "new")
    assert simulate(script).events[-1].unowned == 0


@pytest.mark.parametrize("kind", sorted(EVENTS))
def test_every_kind_of_event_can_be_simulated(kind):
    fields = {
        "freeze": "lasts=40s", "pause": "lasts=5s", "partition": "lasts=10s", "restart_broker": "lasts=20s", "scale": "to=6",
        "change_topic": "topic=* read_queue_nums=6", "notices": "enabled=false",
        "update_broker_config": "notify_consumer_ids_changed_enable=false",
        "update_sub_group": "retry_queue_nums=2", "set_consume_mode": "topic=T mode=PULL",
    }  # fmt: skip
    snapshot = cluster(server_assignment="PULL") if kind == "set_consume_mode" else cluster()
    made = simulated(snapshot, f"{kind} {fields.get(kind, '')}".strip())
    assert values(made, "unowned") == values(made, "double_owned") == [0]


# --- Figures ---


def test_figures_are_those_of_the_run_between_its_events():
    made = simulated(cluster(), "freeze clients=1 lasts=30s", "crash clients=1", seeds=3)
    assert [(row.seed, row.number) for row in made.events] == [
        (0, 1),
        (0, 2),
        (1, 1),
        (1, 2),
        (2, 1),
        (2, 2),
    ]
    assert [row.at for row in made.events[:2]] == [0, 90_000]
    assert made.quantiles("longest_gap") == Quantiles(30_000, 30_000, 30_000)
    assert values(made, "gap", 1) == [90_000] * 3
    assert values(made, "double", 1) == values(made, "longest_double", 1) == [0] * 3
    assert max(values(made, "longest_gap", 2)) < 2_000
    assert made.quantiles("delayed") is None
    assert any("messages are not counted" in warning for warning in made.warnings)


def test_a_group_settles_after_the_last_step_of_a_restart():
    worst = simulated(cluster(), "restart", seeds=2).quantiles("settled_after").worst
    assert 0 < worst < 5_000


def test_a_client_that_vanishes_is_missed_for_about_two_minutes_and_one_that_crashes_is_not():
    vanished, crashed = (simulated(cluster(), kind, seeds=4) for kind in ("vanish", "crash"))
    assert 90_000 < vanished.quantiles("settled_after").p50 < 155_000
    assert crashed.quantiles("settled_after").worst < 3_000


def test_clients_have_drifted_apart():
    """In step all would hear of a new route at one of two passes; drifted apart, a queue has two
    readers or none for seconds until the last one has.
    """
    fewer = "change_topic topic=T read_queue_nums=2 brokers=a"
    drifted = script_of_snapshot(cluster(), "g", [fewer])
    data = drifted.to_data()
    data["groups"][0]["start_every"] = "1s"
    data["events"] = [{"at": "100s", **event} for event in data["events"]]
    del data["warm_up"]
    in_step = type(drifted).of(data)
    open_seconds = [
        made.quantiles("double").p50 + made.quantiles("gap").p50
        for made in (simulate(script, seeds=6) for script in (drifted, in_step))
    ]
    assert open_seconds[0] > open_seconds[1]


def test_equal_seeds_give_equal_results_and_others_others():
    one, same, other = (simulated(cluster(), "restart", seeds=2, seed=seed) for seed in (5, 5, 9))
    assert one.to_json() == same.to_json() != other.to_json()


def test_messages_wait_as_long_as_nobody_reads_them():
    frozen = "freeze clients=1 lasts=30s"
    made = simulated(cluster(), frozen, seeds=2, rate="120")
    # 3 of 12 queues get 30 messages a second; all wait but those of the last second.
    assert values(made, "delayed") == pytest.approx([30 * 29.0] * 2, rel=0.02)
    assert made.quantiles("longest_delay").worst == pytest.approx(30_000, abs=100)
    assert values(made, "consumed_twice") == [0, 0]
    slow = simulated(cluster(), frozen, seeds=2, rate="120/240")
    assert slow.quantiles("delayed").p50 > 1.5 * made.quantiles("delayed").p50
    assert not any("catch up at once" in one for one in slow.warnings)


def test_less_than_a_message_a_second_is_counted_too():
    made = simulated(cluster(), "freeze clients=4 lasts=60s", rate="6")
    assert values(made, "delayed") == pytest.approx([6 * 59], rel=0.1)


def test_messages_of_new_queues_are_not_taken_for_old_ones():
    event = "change_topic topic=T read_queue_nums=8 brokers=b"
    made = simulated(cluster(), event, seeds=2, rate="1200")
    assert made.quantiles("longest_delay").worst < made.quantiles("longest_gap").worst + 1_000


def test_counts_of_messages_begin_where_they_are_asked_for():
    flow, readings = Flow(10, 20), [Reading(0, 0, 10_000, 60_000), Reading(0, 550, 60_000, 80_000)]
    whole = count_messages(flow, readings, 80_000)
    later = count_messages(flow, readings, 80_000, since=50_000)
    assert (whole.delayed, whole.longest_delay, whole.consumed_twice) == (210, 10_000, 50)
    assert (later.delayed, later.longest_delay, later.consumed_twice) == (30, 2_500, 50)


def test_counts_of_messages_end_where_they_are_asked_for():
    found = count_all_messages(
        [MessageQueue("T", "a", 0)], {"T": Flow(10, 20)}, [Reading(0, 0, 10_000, 60_000)], 15_000
    )
    assert (found.delayed, found.left) == (100, 50)


def test_a_result_prints_converts_and_saves(tmp_path):
    lags = (Lag(MessageQueue("T", "a", 0), 50, 8),)
    made = simulated(cluster(lags=lags), "crash", "restart", seeds=2)
    lines = str(made).splitlines()
    assert lines[0].startswith("g: RocketMQ 5.3, 2 runs from seed 0 on, ")
    assert [line.split()[0] for line in lines[3:9]] == ["p50", "p99", "worst"] * 2
    assert lines[3].endswith("  crash") and lines[6].endswith("  restart")
    assert any(line.startswith("T a 7  ") for line in lines)
    assert "it lags by 42 messages, which are not simulated" in made.warnings
    assert pa.table(made).num_rows == 4 and repr(made).endswith("2 events, 2 runs>")
    made.save(tmp_path / "made.json")
    assert json.loads((tmp_path / "made.json").read_text()) == json.loads(made.to_json())
    with pytest.raises(rmqalloc.Error, match="no figure 'gaps'"):
        made.quantiles("gaps")
    with pytest.raises(rmqalloc.Error, match="no event 3"):
        made.quantiles("moved", 3)


def test_the_run_in_which_queues_were_unowned_longest_is_drawn():
    made = simulated(cluster(), "vanish", seeds=4)
    gaps = {row.seed: row.gap for row in made.events}
    assert gaps[made.drawn_seed] == max(gaps.values())
    alone = simulated(cluster(), "vanish", seed=made.drawn_seed)
    assert made.intervals == alone.intervals


def test_wrong_arguments_are_refused():
    script = script_of_snapshot(cluster(), "g", ["crash"])
    with pytest.raises(rmqalloc.Error, match="seeds"):
        simulate(script, seeds=0)
    with pytest.raises(rmqalloc.Error, match="profile"):
        script_of_snapshot(cluster(), "g", ["crash"], profile="6.0")
    with pytest.raises(rmqalloc.Error, match="messages per second"):
        script_of_snapshot(cluster(), "g", ["crash"], rate="many")


def test_progress_is_reported_after_every_run():
    seen = []
    script = script_of_snapshot(cluster(), "g", ["crash"])
    simulate(script, seeds=3, on_progress=lambda *done: seen.append(done))
    assert seen == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("values", "want"), [(range(1, 101), (50, 99, 100)), ([7], (7, 7, 7)), ([2, 1], (1, 2, 2))]
)
def test_quantiles_are_values_of_runs(values, want):
    assert tuple(Quantiles.of(list(values))) == want


@pytest.mark.parametrize("text", ["", "x", "-1", "1/", "1e9", "nan", "1" * 20])
def test_a_text_that_is_no_rate_is_refused(text):
    with pytest.raises(rmqalloc.Error, match="messages per second"):
        script_of_snapshot(cluster(), "g", ["crash"], rate=text)
