"""Simulations of a group that a snapshot shows: its script, what events become, what is refused,
and what is found.
"""

import json
from dataclasses import replace
from random import Random

import pyarrow as pa
import pytest
from simulated_groups import IDS, TOPIC, cluster, with_ends

import rmqalloc
from rmqalloc.documents.fields import ScenarioError
from rmqalloc.evidence import known
from rmqalloc.model import MessageQueue
from rmqalloc.scenarios import Scenario
from rmqalloc.simulation import (
    GROUP_EVENTS,
    Flow,
    GroupRun,
    MessageRates,
    Quantiles,
    UnsimulatedError,
    events_of_scenario,
    rates_between,
    read_event,
    script_of_snapshot,
    simulate,
    simulate_group,
)
from rmqalloc.simulation._group_events import Director, StartedClient
from rmqalloc.simulation._group_shape import shape_of
from rmqalloc.simulation._message_rates import ScaledRates
from rmqalloc.simulation._messages import Reading, count_all_messages, count_messages
from rmqalloc.snapshot.matching import NoMatchError
from rmqalloc.snapshot.snapshot import Client, Lag, SourceError, Topic, TopicBroker


def steps(script, *kinds):
    return [event for event in script.events if event.kind in kinds]


# --- The script ---


def test_a_script_holds_what_the_snapshot_shows():
    script = script_of_snapshot(cluster(is_ordered=True), "g", ["crash"], seed=3)
    [part] = script.groups
    assert (part.strategy, part.ordered, part.topics, script.profile) == (
        "AVG",
        True,
        ("T",),
        "5.3",
    )
    assert sorted(name for event in steps(script, "join") for name in event.detail.clients) == IDS
    assert script.brokers == ("a", "b", "c")


def test_brokers_with_other_numbers_of_queues_have_them_before_the_first_client_starts():
    result = simulate(script_of_snapshot(cluster(), "g", ["crash"]))
    queues = {(one.broker_name, one.queue_id) for one in result.ownerships[0].queues}
    assert queues == {("a", i) for i in range(8)} | {("b", i) for i in range(4)}
    assert result.events[-1].unowned == result.events[-1].double_owned == 0


def owners_before(snapshot, name="g"):
    """Owners when the first event begins."""
    script = script_of_snapshot(snapshot, name, ["pause lasts=1s"])
    at = steps(script, "pause")[0].at
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
    found = {
        name: event.detail.strategy
        for event in steps(script, "join")
        for name in event.detail.clients
    }
    assert found == {IDS[0]: None, IDS[1]: "AVG_BY_CIRCLE"} and script.groups[0].strategy == "AVG"


def test_a_client_id_that_two_have_is_simulated_twice():
    script = script_of_snapshot(
        cluster(clients=(Client(IDS[0]), Client(IDS[0]))), "g", ["freeze lasts=1s clients=2"]
    )
    result = simulate(script)
    assert result.ownerships[0].client_ids == [IDS[0], IDS[0]]


def test_every_run_has_another_moment_and_the_same_seed_the_same_script():
    scripts = [script_of_snapshot(cluster(), "g", ["crash"], seed) for seed in (1, 2, 1)]
    assert scripts[0] == scripts[2] != scripts[1]
    assert steps(scripts[0], "crash")[0].at != steps(scripts[1], "crash")[0].at


@pytest.mark.parametrize(
    ("version", "release"),
    [("4.9.8", "4.9"), ("V5_1_4", "5.3"), ("5.5.0", "5.5"), (None, "5.5"), ("x", "5.5")],
)
def test_the_release_is_that_of_the_clients(version, release):
    shape = shape_of(cluster(clients=tuple(Client(one, version=version) for one in IDS)), "g")
    assert shape.profile == release
    assert any("release" in note for note in shape.notes) is (version in (None, "x"))


# --- Refusals ---


@pytest.mark.parametrize(
    ("others", "reason"),
    [
        ({"message_model": "BROADCASTING"}, "broadcast"),
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
    with pytest.raises(UnsimulatedError, match=reason):
        simulate_group(cluster(**others), "g", "crash", seeds=1)


def test_a_route_that_is_not_known_is_refused_and_one_that_is_not_there_is_noted():
    with pytest.raises(UnsimulatedError, match="route is not known"):
        shape_of(cluster(replace(TOPIC, unknown={"routes": "timeout"})), "g")
    failed = SourceError("name server x", "route of topic T", "timeout")
    with pytest.raises(UnsimulatedError, match="timeout"):
        shape_of(replace(cluster(Topic("U")), errors=(failed,)), "g")
    shape = shape_of(cluster(subscriptions=("T", "gone")), "g")
    assert [topic.name for topic in shape.topics] == ["T"] and any(
        "gone" in note for note in shape.notes
    )


def test_a_group_that_is_not_there_is_refused():
    with pytest.raises(NoMatchError, match="no group matches 'gg'"):
        simulate_group(cluster(), "gg", "crash")


def test_an_accepted_or_stated_strategy_is_simulated():
    doubtful = cluster(strategy=None, clients=tuple(map(Client, IDS)))
    with pytest.raises(UnsimulatedError, match="in doubt"):
        shape_of(doubtful, "g")
    assert shape_of(known(doubtful, ["g"], assume=True), "g").method.name == "AVG"
    assert (
        shape_of(known(doubtful, ["g"], strategy="AVG_BY_CIRCLE"), "g").method.name
        == "AVG_BY_CIRCLE"
    )


# --- Events ---


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("krash", "did you mean crash"),
        ("", "KIND key=value"),
        ("crash 'x", "KIND key=value"),
        ("crash clients", "KIND key=value"),
        ("crash clients=1 clients=2", "each key once"),
        ("crash clients=0", "from 1 on"),
        ("freeze", "lasts"),
        ("freeze lasts=5", "no unit"),
        ("restart batch=0", "batch must be"),
        ("restart bach=1", "bach"),
        ("scale", "to"),
        ("join group=h", "leave it out"),
        ("crash at=soon", "must be a time"),
        ("restart strategy=AVERAGE", "AVERAGE"),
        ("set_consume_mode mode=POP topic=T", "no kind"),
    ],
)
def test_a_wrong_event_says_what_would_be_right(text, what):
    with pytest.raises(ScenarioError, match=what) as error:
        read_event(text)
    assert str(error.value).startswith(f"event {text!r}:")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("crash clients=5", "there are 4"),
        ("crash clients=x", "names 'x'"),
        ("restart_broker brokers=d lasts=5s", "names 'd'"),
        ("change_topic topic=U read_queue_nums=4", "names 'U'"),
        ("scale to=4", "changes nothing"),
        ("restart every=20h", "at most 24 h"),
    ],
)
def test_an_event_that_is_not_possible_is_refused(text, what):
    with pytest.raises(ScenarioError, match=what):
        script_of_snapshot(cluster(), "g", [text])


def test_events_come_one_after_the_other():
    script = script_of_snapshot(
        cluster(), "g", ["pause lasts=10s clients=1", "crash clients=1", "scale to=5 at=5m"]
    )
    first, second, third = (steps(script, kind)[-1].at for kind in ("pause", "crash", "join"))
    assert (second - first, third - first) == (70_000, 300_000)
    with pytest.raises(ScenarioError, match="order of time"):
        script_of_snapshot(cluster(), "g", ["crash at=1m", "crash at=30s"])


@pytest.mark.parametrize(("ids", "kept"), [("suffix", False), ("stable", True), ("address", False)])
def test_a_restart_goes_over_all_clients_in_batches(ids, kept):
    script = script_of_snapshot(cluster(), "g", [f"restart batch=3 every=20s down=4s ids={ids}"])
    left, joined = steps(script, "shutdown"), steps(script, "join")
    assert [len(event.detail.clients) for event in left] == [3, 1]
    assert sorted(name for event in left for name in event.detail.clients) == IDS
    assert left[1].at - left[0].at == 20_000
    back = [event for event in joined if event.at > left[0].at]
    assert {event.at - left[0].at for event in back} == {4_000, 24_000}
    names = {name for event in back for name in event.detail.clients}
    assert len(names) == 4 and (names == set(IDS)) is kept


def test_a_restart_may_bring_another_strategy():
    script = script_of_snapshot(
        cluster(), "g", ["restart batch=4 strategy=CONSISTENT_HASH(virtual_nodes=16)"]
    )
    last = steps(script, "join")[-1].detail.made_strategy()
    assert last.get_name() == "CONSISTENT_HASH" and last.virtual_nodes == 16


def test_clients_are_chosen_by_pattern_by_name_and_by_chance():
    director = Director("g", ["a", "b"], ["T"], Random(1))
    director.join([StartedClient(one) for one in IDS], 0)
    for text in ("crash clients=*1@*", f"vanish clients={IDS[0]}", "freeze clients=2 lasts=1s"):
        director.play([read_event(text)], 1_000)
    chosen = [given for step in director.steps for kind, given in step.items() if kind != "at"]
    assert [one["clients"] for one in chosen[1:]] == [[IDS[1]], [IDS[0]], IDS[2:]]


@pytest.mark.parametrize("kind", sorted(GROUP_EVENTS))
def test_every_kind_of_event_can_be_simulated(kind):
    fields = {
        "freeze": "lasts=40s", "pause": "lasts=5s", "partition": "lasts=10s", "restart_broker": "lasts=20s", "scale": "to=6",
        "change_topic": "topic=* read_queue_nums=6", "notices": "enabled=false",
        "update_broker_config": "notify_consumer_ids_changed_enable=false",
        "update_sub_group": "retry_queue_nums=2",
    }  # fmt: skip
    made = simulate_group(cluster(), "g", f"{kind} {fields.get(kind, '')}".strip(), seeds=1)
    assert made.values("unowned_at_end") == made.values("double_owned_at_end") == [0]


# --- Figures ---


def test_figures_are_those_of_the_run_between_its_events():
    made = simulate_group(
        cluster(), "g", ["freeze clients=1 lasts=30s", "crash clients=1"], seeds=3
    )
    assert [(row.seed, row.event) for row in made.rows] == [
        (0, 1),
        (0, 2),
        (1, 1),
        (1, 2),
        (2, 1),
        (2, 2),
    ]
    assert made.quantiles("longest_gap_seconds") == Quantiles(30.0, 30.0, 30.0)
    assert made.values("unowned_queue_seconds", 1) == [90.0] * 3
    assert (
        made.values("double_owned_queue_seconds", 1)
        == made.values("longest_double_seconds", 1)
        == [0.0] * 3
    )
    assert max(made.values("longest_gap_seconds", 2)) < 2
    assert made.quantiles("messages_delayed") is None
    assert any("nothing is said of messages" in one for one in made.warnings)


def test_a_group_settles_after_the_last_step_of_a_restart():
    worst = simulate_group(cluster(), "g", "restart", seeds=2).quantiles("settle_seconds").worst
    assert 0 < worst == round(worst, 3) < 5


def test_a_client_that_vanishes_is_missed_for_about_two_minutes_and_one_that_crashes_is_not():
    vanished, crashed = (
        simulate_group(cluster(), "g", kind, seeds=4) for kind in ("vanish", "crash")
    )
    assert 90 < vanished.quantiles("settle_seconds").p50 < 155
    assert crashed.quantiles("settle_seconds").worst < 3


def test_clients_have_drifted_apart_unless_they_are_in_step():
    """In step all hear of new routes at one of two passes; else a queue has two readers for seconds
    until the last one has.
    """
    fewer = "change_topic topic=T read_queue_nums=2 brokers=a"
    drifted, in_step = (
        simulate_group(cluster(), "g", fewer, seeds=6, in_step=one) for one in (False, True)
    )
    open_seconds = [
        made.quantiles("double_owned_queue_seconds").p50
        + made.quantiles("unowned_queue_seconds").p50
        for made in (drifted, in_step)
    ]
    assert open_seconds[0] > open_seconds[1]


def test_equal_seeds_give_equal_results_and_others_others():
    one, same, other = (
        simulate_group(cluster(), "g", "restart", seeds=2, first_seed=seed) for seed in (5, 5, 9)
    )
    assert one.to_json() == same.to_json() != other.to_json()


def test_messages_wait_as_long_as_nobody_reads_them():
    made = simulate_group(cluster(), "g", "freeze clients=1 lasts=30s", seeds=2, rates=120)
    # 3 of 12 queues get 30 messages a second; all wait but those of the last second.
    assert made.values("messages_delayed") == pytest.approx([30 * 29.0] * 2, rel=0.01)
    assert made.quantiles("longest_delay_seconds").worst == pytest.approx(30, abs=0.1)
    assert made.values("messages_twice") == [0.0, 0.0]
    slow = simulate_group(
        cluster(), "g", "freeze clients=1 lasts=30s", seeds=2, rates=MessageRates(120, 240)
    )
    assert slow.quantiles("messages_delayed").p50 > 1.5 * made.quantiles("messages_delayed").p50
    assert not any("catch up at once" in one for one in slow.warnings)


def test_messages_of_new_queues_are_not_taken_for_old_ones():
    made = simulate_group(
        cluster(), "g", "change_topic topic=T read_queue_nums=8 brokers=b", seeds=2, rates=1_200
    )
    assert (
        made.quantiles("longest_delay_seconds").worst
        < made.quantiles("longest_gap_seconds").worst + 1
    )


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
    made = simulate_group(
        cluster(lags=(Lag(MessageQueue("T", "a", 0), 50, 8),)), "g", ["crash", "restart"], seeds=2
    )
    lines = str(made).splitlines()
    assert lines[0] == "g: 4 clients on 12 queues, AVG, RocketMQ 5.3, lag 42; 2 runs"
    assert "event 2: restart" in lines and any(line.startswith("T a 7  ") for line in lines)
    assert pa.table(made).num_rows == made.figures.num_rows == 2 * (len(GroupRun._fields) - 2)
    assert made.runs.num_rows == 4 and made.runs["seed"].to_pylist() == [0, 0, 1, 1]
    made.save(tmp_path / "made.json")
    assert json.loads((tmp_path / "made.json").read_text()) == json.loads(made.to_json())
    with pytest.raises(rmqalloc.Error, match="no figure 'gap'"):
        made.quantiles("gap")
    with pytest.raises(rmqalloc.Error, match="no event 3"):
        made.quantiles("moved", 3)


@pytest.mark.parametrize("given", [{"seeds": 0}, {"profile": "6.0"}, {"events": []}])
def test_wrong_arguments_are_refused(given):
    arguments = {"events": "crash", "seeds": 1} | given
    with pytest.raises(rmqalloc.Error):
        simulate_group(cluster(), "g", **arguments)


def test_progress_is_reported():
    seen = []
    simulate_group(cluster(), "g", "crash", seeds=2, on_progress=lambda *one: seen.append(one))
    assert seen == [(1, 2), (2, 2)]


@pytest.mark.parametrize(
    ("values", "want"), [(range(1, 101), (50, 99, 100)), ([7], (7, 7, 7)), ([2, 1], (1, 2, 2))]
)
def test_quantiles_are_values_of_runs(values, want):
    assert tuple(Quantiles.of(list(values))) == want


# --- Rates ---


def test_rates_are_what_the_ends_of_queues_moved():
    first, second = (
        with_ends(100, 200, at="2026-11-20T09:30:00Z"),
        with_ends(400, 500, 9, at="2026-11-20T09:31:00+00:00"),
    )
    assert rates_between(first, second, "g") == MessageRates({"T": 10.0})
    assert rates_between(first, second, "g", seconds=30) == MessageRates({"T": 20.0})
    assert rates_between(first, second, "g", seconds=0.5) == MessageRates({"T": 1_200.0})
    for arguments, what in (
        ((second, first, "g"), "later"),
        ((first, with_ends(1), "g"), "when it was taken"),
        ((first, replace(cluster(), fetched_at=second.fetched_at), "g"), "no offsets"),
        ((first, second, "h"), "no group matches"),
    ):
        with pytest.raises(rmqalloc.Error, match=what):
            rates_between(*arguments)


@pytest.mark.parametrize("text", ["", "x", "-1", "1/", "1e9", "nan", "1" * 20])
def test_a_text_that_is_no_rate_is_refused(text):
    with pytest.raises(rmqalloc.Error, match="messages per second"):
        MessageRates.of(text)


@pytest.mark.parametrize(
    "rates",
    [
        MessageRates(0.001),
        MessageRates(3, 5),
        MessageRates(10**8),
        MessageRates({"T": 7}),
        MessageRates(0),
    ],
)
def test_scaled_rates_fit_a_script_and_keep_their_ratio(rates):
    found = ScaledRates.of(rates, [TOPIC])
    assert 0 <= found.produced["T"] <= 1_000_000 and 0 < found.consumed <= 1_000_000
    assert found.produced["T"] / found.scale * 12 == pytest.approx(
        rates.by_topic([TOPIC])["T"], rel=0.01
    )


# --- Plans ---


@pytest.mark.parametrize(
    ("change", "texts"),
    [
        ({"scale_clients": {"to": 6}}, ["scale to=6"]),
        ({"add_clients": {"ids": ["x@1", "y@1"]}}, ["join clients=x@1,y@1"]),
        ({"add_clients": {"count": 2}}, ["join clients=2"]),
        ({"remove_clients": {"ids": IDS[1]}}, [f"shutdown clients={IDS[1]}"]),
        ({"remove_clients": {"count": 1}}, [f"shutdown clients={IDS[3]}"]),
        ({"remove_clients": {"pattern": "*.0.2@*"}}, [f"shutdown clients={IDS[2]}"]),
        ({"set_queues": {"read_queue_nums": 6}}, ["change_topic topic=* read_queue_nums=6"]),
        (
            {"set_queues": {"read_queue_nums": 6, "brokers": "b"}},
            ["change_topic topic=* brokers=b read_queue_nums=6"],
        ),
        (
            {"add_broker": {"broker_name": "d", "read_queue_nums": 4}},
            ["change_topic topic=* brokers=d read_queue_nums=4"],
        ),
        (
            {"remove_broker": {"brokers": ["a", "z"]}},
            ["change_topic topic=* brokers=a read_queue_nums=0"],
        ),
        ({"set_strategy": {"strategy": "AVG_BY_CIRCLE"}}, ["restart strategy=AVG_BY_CIRCLE"]),
    ],
)
def test_a_scenario_becomes_events_that_can_be_simulated(change, texts):
    events = events_of_scenario(Scenario("s", [change]), cluster(), "g")
    assert [one.text for one in events] == texts
    made = simulate_group(cluster(), "g", events, seeds=1)
    assert made.events == tuple(texts) and made.values("double_owned_at_end") == [0]


@pytest.mark.parametrize(
    "scenario",
    [
        Scenario("s", [{"lose_machine_room": {"machine_room": "az1"}}]),
        Scenario("s", [{"scale_clients": {"to": 4}}]),
        Scenario("s", [{"scale_clients": {"to": 6}}], groups="other-*"),
        Scenario("s", [{"remove_clients": {"machine_room": "az1"}}]),
    ],
)
def test_a_scenario_that_cannot_be_simulated_is_refused(scenario):
    with pytest.raises(UnsimulatedError):
        events_of_scenario(scenario, cluster(), "g")
