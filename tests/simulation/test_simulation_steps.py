"""Steps that nothing can come of: each is an error of the script, with file, line and column,
before anything runs.
"""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples

from rmqalloc import strategy
from rmqalloc.remoting import PROFILES
from rmqalloc.scenarios import ScenarioError
from rmqalloc.simulation import Cluster, Flow, Script, read_script, simulate
from rmqalloc.simulation._actions import perform
from rmqalloc.simulation._events import Event, Events
from rmqalloc.simulation._steps import Rehearsal


def script(*events, duration="100s", **more):
    """Two brokers, one of which alone holds the bills; group g of four clients, and group s divided
    by brokers.
    """
    return {
        "duration": duration,
        "brokers": ["broker-a", "broker-b"],
        "topics": [
            {"name": "orders", "read_queue_nums": 6},
            {"name": "bills", "read_queue_nums": 2, "brokers": "broker-a"},
        ],
        "groups": [
            {"name": "g", "topics": "orders", "clients": 4},
            {"name": "s", "topics": "orders", "clients": 1, "server_assignment": True},
        ],
        "events": list(events),
        **more,
    }


def at(time, **kind):
    return {"at": time, **kind}


def of(clients, lasts=None):
    return {"clients": clients} if lasts is None else {"clients": clients, "lasts": lasts}


CRASH = at("10s", crash=of("g-1"))
DOWN = at("10s", restart_broker={"brokers": "broker-a", "lasts": "30s"})
CUT = {"clients": "g-1", "brokers": "broker-a"}
ROLLING = {"group": "g", "clients": ["g-0", "g-1", "g-2", "g-3"], "every": "10s", "down": "5s"}
GONE = "names 'g-1', which does not run at 20s: it crashed at 10s; let it join before"
NOT_UP = "needs broker 'broker-a', which is down until 40s; wait, or name others"
CONFIG = {"server_load_balancer_enable": False}

IMPOSSIBLE = {
    "leave twice": ([CRASH, at("20s", shutdown=of("g-1"))], f"events[1].shutdown.clients {GONE}"),
    "crash twice": (
        [CRASH, at("20s", crash=of(["g-0", "g-1"]))],
        f"events[1].crash.clients {GONE}",
    ),
    "vanish after": ([CRASH, at("20s", vanish=of("g-1"))], f"events[1].vanish.clients {GONE}"),
    "pause after": ([CRASH, at("20s", pause=of("g-1", "5s"))], f"events[1].pause.clients {GONE}"),
    "freeze after": (
        [CRASH, at("20s", freeze=of("g-1", "5s"))],
        f"events[1].freeze.clients {GONE}",
    ),
    "disconnect after": (
        [CRASH, at("20s", disconnect=of("g-1"))],
        f"events[1].disconnect.clients {GONE}",
    ),
    "at one time": ([CRASH, at("10s", crash=of("g-1"))], "does not run at 10s: it crashed at 10s"),
    "said in another order": (
        [at("20s", crash=of("g-1")), CRASH],
        "events[0].crash.clients names 'g-1'",
    ),
    "join while running": (
        [at("10s", join={"group": "g", "clients": "g-1"})],
        "events[0].join.clients cannot be at 10s: client g-1 joins g while it is running; let it leave before",
    ),
    "named twice": (
        [at("10s", crash=of(["g-1", "g-1"]))],
        "events[0].crash.clients has 'g-1' twice; name each once",
    ),
    "brokers named twice": (
        [at("10s", disconnect={"clients": "g-1", "brokers": ["broker-a", "broker-a"]})],
        "events[0].disconnect.brokers has 'broker-a' twice",
    ),
    "overlapping freezes": (
        [at("10s", freeze=of("g-1", "20s")), at("29s", freeze=of(["g-0", "g-1"], "5s"))],
        "events[1].freeze.clients names 'g-1', which is stalled until 30s; let that end before, or make it longer",
    ),
    "overlapping pauses": (
        [at("10s", pause=of("g-1", "20s")), at("29999ms", pause=of("g-1", "5s"))],
        "events[1].pause.clients names 'g-1', which is paused until 30s; let that end before",
    ),
    "pause of a frozen one": (
        [at("10s", freeze=of("g-1", "20s")), at("20s", pause=of("g-1", "5s"))],
        "events[1].pause.clients names 'g-1', which is stalled until 30s: it cannot be paused; wait",
    ),
    "shutdown of a frozen one": (
        [at("10s", freeze=of("g-1", "20s")), at("20s", shutdown=of("g-1"))],
        "names 'g-1', which is stalled until 30s: it cannot leave in good order; let it crash or vanish, or wait",
    ),
    "overlapping partitions": (
        [
            at("10s", partition={**CUT, "lasts": "20s"}),
            at("20s", partition={**CUT, "lasts": "20s"}),
        ],
        "events[1].partition cuts 'g-1' off from broker-a, which is already cut off until 30s",
    ),
    "partition of a dead one": (
        [CRASH, at("20s", partition={**CUT, "lasts": "20s"})],
        "events[1].partition.clients names 'g-1', which does not run at any time from 20s to 40s",
    ),
    "restart of a broker that is down": (
        [DOWN, at("20s", restart_broker={"brokers": "broker-a", "lasts": "1s"})],
        f"events[1].restart_broker.brokers {NOT_UP}",
    ),
    "disconnect from a broker that is down": (
        [DOWN, at("20s", disconnect={"clients": "g-1", "brokers": "broker-a"})],
        f"events[1].disconnect.brokers {NOT_UP}",
    ),
    "disconnect from a broker without its topics": (
        [
            at("20s", join={"group": "g", "clients": "n", "topics": "bills"}),
            at("30s", disconnect={"clients": ["g-1", "n"], "brokers": "broker-b"}),
        ],
        "events[1].disconnect.brokers names 'broker-b', which holds no topic of 'n': they have no connection",
    ),
    "topic of a broker that is down": (
        [
            DOWN,
            at(
                "20s", change_topic={"topic": "orders", "read_queue_nums": 8, "brokers": "broker-a"}
            ),
        ],
        f"events[1].change_topic {NOT_UP}",
    ),
    "topic of all brokers, one of which is down": (
        [DOWN, at("20s", change_topic={"topic": "orders", "read_queue_nums": 8})],
        f"events[1].change_topic {NOT_UP}",
    ),
    "notices of a broker that is down": (
        [DOWN, at("20s", notices={"enabled": False})],
        f"events[1].notices {NOT_UP}",
    ),
    "settings of a broker that is down": (
        [DOWN, at("20s", update_broker_config=CONFIG)],
        f"events[1].update_broker_config {NOT_UP}",
    ),
    "group on a broker that is down": (
        [DOWN, at("20s", update_sub_group={"group": "g", "retry_queue_nums": 2})],
        f"events[1].update_sub_group {NOT_UP}",
    ),
    "mode on a broker that is down": (
        [DOWN, at("20s", set_consume_mode={"group": "s", "topic": "orders", "mode": "POP"})],
        f"events[1].set_consume_mode {NOT_UP}",
    ),
    "mode on a broker without the topic": (
        [
            at(
                "20s",
                set_consume_mode={
                    "group": "s",
                    "topic": "bills",
                    "mode": "POP",
                    "brokers": "broker-b",
                },
            )
        ],
        "events[0].set_consume_mode.brokers names 'broker-b', which has no topic bills",
    ),
    "mode of a group that divides itself": (
        [at("20s", set_consume_mode={"group": "g", "topic": "orders", "mode": "POP"})],
        "events[0].set_consume_mode.group names 'g', which divides its queues itself; give it server_assignment: true",
    ),
    "after the end": (
        [at("101s", crash=of("g-1"))],
        "events[0].at is after the end of the simulation (100s)",
    ),
    "at the end": (
        [at("100s", crash=of("g-1"))],
        "events[0].at is the end of the simulation (100s)",
    ),
    "lasts past the end": (
        [at("90s", pause=of("g-1", "10001ms"))],
        "events[0].pause.lasts goes on until 100001ms, past the end of the simulation (100s)",
    ),
    "down past the end": (
        [at("90s", restart_broker={"brokers": "broker-a", "lasts": "11s"})],
        "events[0].restart_broker.lasts goes on until 101s",
    ),
    "rolling restart past the end": (
        [at("66s", restart=ROLLING)],
        "events[0].restart of 4 clients goes on until 101s, past the end of the simulation (100s)",
    ),
    "rolling restart of nobody": (
        [at("10s", crash=of(["g-0", "g-1", "g-2", "g-3"])), at("20s", restart={"group": "g"})],
        "events[1].restart.group names 'g', of which no client runs at 20s",
    ),
    "overlapping rolling restarts": (
        [at("10s", restart=ROLLING), at("44s", restart=ROLLING)],
        "events[1].restart.group names 'g', which is being restarted until 45s",
    ),
    "a crash before its turn": (
        [at("10s", restart=ROLLING), at("15s", crash=of("g-1"))],
        "events[0].restart names 'g-1', which does not run at 20s: it crashed at 15s",
    ),
    "a crash during its turn": (
        [at("10s", restart=ROLLING), at("21s", crash=of("g-1"))],
        "events[1].crash.clients names 'g-1', which does not run at 21s: it was shut down by a restart at 20s",
    ),
    "a join during its turn": (
        [at("10s", restart=ROLLING), at("21s", join={"group": "g", "clients": "g-1"})],
        "events[0].restart cannot be at 25s: client g-1 joins g while it is running",
    ),
    "frozen at its turn": (
        [at("10s", restart=ROLLING), at("18s", freeze=of("g-1", "5s"))],
        "events[0].restart names 'g-1', which is stalled until 23s: it cannot be restarted in good order",
    ),
}


@pytest.mark.parametrize("label", IMPOSSIBLE)
def test_a_step_that_cannot_be_is_an_error_of_its_place(label, tmp_path):
    events, words = IMPOSSIBLE[label]
    data = script(*events)
    with pytest.raises(ScenarioError) as error:
        Script.of(data)
    assert words in str(error.value)
    path = tmp_path / "s.yaml"
    before = [f"{key}: {json.dumps(value)}" for key, value in data.items() if key != "events"]
    path.write_text(
        "\n".join([*before, "events:", *(f"- {json.dumps(event)}" for event in events)])
    )
    with pytest.raises(ScenarioError, match=r"s\.yaml:\d+:\d+: events\[\d\]\.") as error:
        read_script(path)
    line, number = re.search(r"s\.yaml:(\d+):\d+: events\[(\d)\]", str(error.value)).groups()
    assert int(line) == len(before) + 2 + int(number)


LATE = [{"name": "g", "topics": "orders", "clients": 3, "start_every": "30s"}]


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (
            at("59s", crash=of("g-2")),
            "events[0].crash.clients names 'g-2', which starts at 60s only",
        ),
        (
            at("59s", join={"group": "g", "clients": "g-2"}),
            "names 'g-2', which its group starts at 60s; take another name",
        ),
    ],
)
def test_a_client_that_has_not_started_yet_is_not_there(event, words):
    with pytest.raises(ScenarioError) as error:
        Script.of(script(event, groups=LATE))
    assert words in str(error.value)
    Script.of(
        script(
            {**event, "at": "60s"} if "crash" in event else at("60s", crash=of("g-2")), groups=LATE
        )
    )


def test_all_clients_of_a_group_start_before_the_end():
    with pytest.raises(
        ScenarioError,
        match=r"groups\[0\]\.start_every lets the last client start at 60s, past the end",
    ):
        Script.of(script(groups=LATE, duration="60s"))


POSSIBLE = [
    [CRASH, at("10s", join={"group": "g", "clients": "g-1"}), at("11s", crash=of("g-1"))],
    [at("10s", freeze=of("g-1", "20s")), at("30s", freeze=of("g-1", "20s")), at("35s", crash=of("g-1"))],
    [at("10s", freeze=of("g-1", "20s")), at("15s", disconnect=of("g-1")), at("16s", vanish=of("g-1"))],
    [at("10s", pause=of("g-1", "20s")), at("15s", freeze=of("g-1", "30s")), at("50s", shutdown=of("g-1"))],
    [at("10s", freeze=of("g-1", "80s")), at("15s", crash=of("g-1")), at("16s", join={"group": "g", "clients": "g-1"}),
     at("17s", freeze=of("g-1", "3s"))],
    [at("10s", partition={"clients": "n", "brokers": "broker-a", "lasts": "20s"}),
     at("15s", join={"group": "g", "clients": "n"})],
    [CRASH, at("10s", partition={**CUT, "lasts": "20s"}), at("30s", partition={**CUT, "lasts": "20s", "clients": "g-0"})],
    [DOWN, at("20s", disconnect=of("g-1")), at("40s", restart_broker={"brokers": "broker-a", "lasts": "60s"})],
    [DOWN, at("20s", change_topic={"topic": "orders", "read_queue_nums": 8, "brokers": "broker-b"})],
    [at("10s", change_topic={"topic": "bills", "read_queue_nums": 1, "brokers": "broker-b"}),
     at("20s", set_consume_mode={"group": "s", "topic": "bills", "mode": "POP", "brokers": "broker-b"})],
    [at("10s", restart=ROLLING), at("45s", restart={**ROLLING, "batch": 2, "ids": "stable"})],
    [at("65s", restart=ROLLING), at("71s", crash=of("g-0")), at("72s", join={"group": "g", "clients": "g-0"})],
    [at("10s", restart=ROLLING), at("16s", shutdown=of("g-0"))],
]  # fmt: skip


@pytest.mark.parametrize("events", POSSIBLE)
def test_what_is_possible_runs(events):
    """What the rehearsal lets pass is not refused while it runs: there the same is looked at again."""
    result = simulate(Script.of(script(*events)))
    assert len(result.events) == 1 + len(events)


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (at("1s", crash=of("y")), "client y does not run; let it join before"),
        (at("1s", shutdown=of("y")), "client y does not run"),
        (at("1s", pause=of("y", "1s")), "client y does not run"),
        (at("1s", freeze=of("y", "1s")), "client y does not run"),
        (at("1s", disconnect=of("z")), "client z does not run"),
        (at("1s", join={"group": "g", "clients": "x"}), "client x joins g while it is running"),
        (
            at("1s", change_topic={"topic": "orders", "read_queue_nums": 3}),
            "broker broker-a is down",
        ),
        (
            at("1s", restart_broker={"brokers": "broker-a", "lasts": "1s"}),
            "broker broker-a is down",
        ),
        (at("1s", notices={"enabled": False}), "broker broker-a is down"),
    ],
)
def test_a_cluster_refuses_what_it_cannot_do(event, words):
    """For those who let events happen without a script."""
    cluster = Cluster(PROFILES["5.3"])
    cluster.start_broker("broker-a")
    cluster.set_topic("orders", "broker-a", 2)
    group = cluster.add_group("g", {"orders": Flow(1, 1)}, strategy("AVG"))
    for name in ("x", "y"):
        cluster.join(group, name)
    cluster.members["y"].crash()
    cluster.stop_broker("broker-a")
    (made,) = Events().read([event])
    assert isinstance(made, Event)
    with pytest.raises(ScenarioError, match=words):
        perform(cluster, made)


def test_a_paused_client_that_stands_still_when_its_pause_ends_goes_on_when_it_is_thawed():
    events = [at("30s", pause=of("g-1", "10s")), at("35s", freeze=of("g-1", "20s"))]
    groups = [{"name": "g", "topics": "orders", "clients": 2}]
    result = simulate(Script.of(script(*events, groups=groups)))
    assert [row.longest_gap for row in result.events[1:]] == [5_000, 20_000]


# --- Whatever the rehearsal lets pass ---

NAMES = st.sampled_from(["g-0", "g-1", "g-2", "n"])
BROKERS = st.sampled_from(["broker-a", "broker-b"])
TIMES = st.sampled_from(["1ms", "5s", "10s", "15s", "20s", "30s"])


def mapping(**fields):
    return st.fixed_dictionaries(fields)


EVENTS = st.one_of(
    mapping(join=mapping(group=st.just("g"), clients=NAMES)),
    *(mapping(**{kind: mapping(clients=NAMES)}) for kind in ("shutdown", "crash", "vanish", "disconnect")),
    *(mapping(**{kind: mapping(clients=NAMES, lasts=TIMES)}) for kind in ("pause", "freeze")),
    mapping(partition=mapping(clients=NAMES, brokers=BROKERS, lasts=TIMES)),
    mapping(restart_broker=mapping(brokers=BROKERS, lasts=TIMES, crash=st.booleans())),
    mapping(change_topic=mapping(topic=st.just("orders"), read_queue_nums=st.integers(0, 4))),
    mapping(notices=mapping(enabled=st.booleans())),
    mapping(restart=mapping(
        group=st.just("g"), batch=st.integers(1, 2), every=TIMES, down=TIMES, ids=st.sampled_from(["suffix", "stable"])
    )),
)  # fmt: skip


def possible(data):
    try:
        return Script.of(data)
    except ScenarioError:
        return None


@given(
    st.lists(st.tuples(st.sampled_from([f"{i}s" for i in range(0, 100, 5)]), EVENTS), max_size=12),
    st.booleans(),
    st.sampled_from(["0s", "7s"]),
)
@examples(40)
def test_what_is_rehearsed_is_what_happens(drawn, ordered, start_every):
    """No step that was let pass is refused while it runs, and the same processes run under the same
    client ids.
    """
    group = {
        "name": "g",
        "topics": "orders",
        "clients": 3,
        "start_every": start_every,
        "ordered": ordered,
    }
    data = script(groups=[{**group, "listener_time": "3s"}])
    for time, event in drawn:
        with_it = {**data, "events": [*data["events"], {"at": time, **event}]}
        data = with_it if possible(with_it) else data
    result = simulate(Script.of(data))
    rehearsal = Rehearsal(Script.of(data))
    rehearsal.play()
    rehearsed = sorted(
        one.client_id for processes in rehearsal._processes.values() for one in processes
    )
    assert sorted(result.ownerships[0].client_ids) == rehearsed
