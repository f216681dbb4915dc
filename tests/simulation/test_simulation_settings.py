"""Whatever a broker can be told, a script can say, at the start and while it runs: each setting is
seen to have its effect.
"""

import pytest

from rmqalloc import strategy
from rmqalloc.remoting import PROFILES
from rmqalloc.scenarios import ScenarioError
from rmqalloc.simulation import Cluster, Flow, Script, read_script, simulate
from rmqalloc.simulation._run import _built
from rmqalloc.simulation._settings import BrokerSettings, UpdateBrokerConfig

JOIN = {"at": "61s", "join": {"group": "g", "clients": "g-9"}}
VANISH = {"at": "61s", "vanish": {"clients": "g-1"}}


def script(*events, settings=(), **group):
    """Two brokers, six queues, three clients that do not pass all at once."""
    made = {"name": "g", "topics": "orders", "clients": 3, "start_every": "4700ms", **group}
    return {
        "duration": "240s",
        "brokers": ["broker-a", "broker-b"],
        "broker_settings": list(settings),
        "topics": [{"name": "orders", "read_queue_nums": 3}],
        "groups": [made],
        "events": list(events),
    }


def last(*events, **more):
    """The row of the last event."""
    return simulate(Script.of(script(*events, **more))).events[-1]


def both_ways(setting, event, **more):
    """The last row with a setting given at the start, and with the same by an event: they have to
    be alike.
    """
    start = last(event, settings=[setting], **more)
    later = last({"at": "50s", "update_broker_config": setting}, event, **more)
    assert (start.notices, start.settled_after // 1_000) == (
        later.notices,
        later.settled_after // 1_000,
    )
    return start


# --- Notices ---


def test_the_flag_of_brokers():
    assert last(JOIN).notices > 0
    row = both_ways({"notify_consumer_ids_changed_enable": False}, JOIN)
    assert (row.notices, row.settled_after > 3_000) == (0, True)


def test_the_flag_of_one_broker():
    one = both_ways({"brokers": "broker-a", "notify_consumer_ids_changed_enable": False}, JOIN)
    assert 0 < one.notices < last(JOIN).notices


def test_the_flag_of_a_group_but_for_a_closed_connection_which_is_told_all_the_same():
    config = {"notify_consumer_ids_changed_enable": False}
    update = {"at": "50s", "update_sub_group": {"group": "g", **config}}
    assert last(JOIN, subscription_group=config).notices == last(update, JOIN).notices == 0
    crash = {"at": "61s", "crash": {"clients": "g-1"}}
    assert last(crash, subscription_group=config).notices == last(crash).notices > 0


def test_collected_notices_are_sent_every_15_s():
    """Brokers flush 30 s after their start and then every 15 s: at 75 s next."""
    at_once = last({**JOIN, "at": "60500ms"})
    row = both_ways({"real_time_notify_consumer_change": False}, {**JOIN, "at": "60500ms"})
    assert row.notices > 0
    assert at_once.settled_after < 1_100 < row.settled_after <= 15_600


# --- Times ---


@pytest.mark.parametrize(
    ("timeout", "shortest", "longest"), [("45s", 15_000, 75_100), ("90s", 60_000, 120_100)]
)
def test_the_expiry_of_channels(timeout, shortest, longest):
    """Up to 30 s after the last heartbeat, a scan every 10 s, a pass every 20 s."""
    row = last(VANISH, settings=[{"channel_expired_timeout": timeout}])
    assert shortest < row.settled_after <= longest
    assert row.unowned == 0


@pytest.mark.parametrize(("idle", "settled"), [("120s", 120_000), ("70s", 70_000), ("40s", 40_000)])
def test_a_connection_that_nothing_comes_over_is_closed_and_its_group_is_told(idle, settled):
    """The death is seen at the idle time after it, for its pulls went on until then, and told at
    once.
    """
    settings = [{"channel_expired_timeout": "1h", "server_channel_max_idle_time_seconds": idle}]
    row = last(VANISH, settings=settings)
    assert row.notices > 0
    assert settled <= row.settled_after <= settled + 1_100
    frozen = last({"at": "61s", "freeze": {"clients": "g-1", "lasts": "170s"}}, settings=settings)
    assert settled <= frozen.longest_gap <= settled + 1_100
    cut = {"clients": "g-1", "brokers": ["broker-a", "broker-b"], "lasts": "170s"}
    assert last({"at": "61s", "partition": cut}, settings=settings).notices > 0


def test_no_idle_time_closes_no_connection():
    settings = [{"channel_expired_timeout": "1h", "server_channel_max_idle_time_seconds": 0}]
    row = last(VANISH, settings=settings)
    assert (row.notices, row.unowned) == (0, 2)


def test_living_clients_are_never_idle():
    """Their heartbeats come every 30 s, also of one that is paused or has no queues."""
    settings = [{"server_channel_max_idle_time_seconds": "31s"}]
    row = last(
        {"at": "61s", "pause": {"clients": "g-1", "lasts": "170s"}}, settings=settings, clients=7
    )
    assert row.notices == 0
    assert last(VANISH, settings=settings).notices > 0


@pytest.mark.parametrize("told", [False, True])
def test_a_client_that_reads_nothing_is_idle_from_its_last_request_on_and_a_notice_makes_it_busy(
    told,
):
    """Also one that cannot be delivered: the broker has written it."""
    cluster = Cluster(PROFILES["5.3"])
    cluster.configure_broker(
        "broker-a",
        {"channel_expired_timeout": 3_600_000, "notify_consumer_ids_changed_enable": told},
    )
    cluster.start_broker("broker-a")
    cluster.set_topic("orders", "broker-a", 1)
    group = cluster.add_group("g", {"orders": Flow(1, 1)}, strategy("AVG"))
    for name in ("reads", "waits"):
        cluster.join(group, name)
    cluster.run(75_000)
    for name in ("reads", "waits"):
        cluster.members[name].vanish()
    (broker, _) = cluster._brokers["broker-a"]
    gone = {}
    for now in range(75_000, 320_000, 1_000):
        cluster.run(now)
        ids = broker.consumers.groups["g"].client_ids() if "g" in broker.consumers.groups else []
        gone.update(
            {one: now for one in ("reads@1", "waits@1") if one not in ids and one not in gone}
        )
    assert 150_000 < gone["waits@1"] < 190_000
    assert gone["reads@1"] == (gone["waits@1"] + 120_000 if told else 195_000)


@pytest.mark.parametrize(
    ("lives", "shortest", "longest"), [("60s", 38_000, 61_100), ("25s", 3_000, 26_100)]
)
def test_the_life_of_locks(lives, shortest, longest):
    crash = {"at": "61s", "crash": {"clients": "g-1"}}
    row = last(crash, settings=[{"lock_max_live_time": lives}], ordered=True)
    assert shortest < row.settled_after <= longest


# --- Groups and modes ---


def test_a_group_that_nobody_configured_is_passed_over_without_auto_create():
    off = [{"auto_create_subscription_group": False}]
    join = {"at": "61s", "join": {"group": "g", "clients": "g-9"}}
    assert last(join, settings=off).unowned == 6
    assert last(join, settings=off, subscription_group={}).unowned == 0
    update = {"at": "50s", "update_sub_group": {"group": "g", "retry_queue_nums": 2}}
    assert last(update, join, settings=off).unowned == 0


def test_queues_of_the_retry_topic():
    made = Script.of(script(subscription_group={"retry_queue_nums": 3}))
    cluster = _built(made, made.course(), Cluster(PROFILES["5.3"]))
    cluster.run(60_000)
    assert {b.topics["%RETRY%g"].read_queue_nums for b, _ in cluster._brokers.values()} == {3}


def test_without_the_load_balancer_each_client_is_given_all():
    row = both_ways({"server_load_balancer_enable": False}, JOIN, server_assignment=True)
    assert row.double_owned == 6
    assert last(JOIN, server_assignment=True).double_owned == 0


POP = {"mode": "POP", "pop_share_queue_num": 1}


def test_a_group_that_pops_owns_nothing():
    mode = {"at": "50s", "set_consume_mode": {"group": "g", "topic": "orders", **POP}}
    start = last(JOIN, server_assignment=True, message_request_mode="POP", pop_share_queue_num=1)
    assert start.unowned == last(mode, JOIN, server_assignment=True).unowned == 6
    back = {"at": "55s", "set_consume_mode": {"group": "g", "topic": "orders", "mode": "PULL"}}
    assert last(mode, back, JOIN, server_assignment=True).unowned == 0


def test_the_default_mode():
    pop = {"default_message_request_mode": "POP", "default_pop_share_queue_num": 1}
    assert both_ways(pop, JOIN, server_assignment=True).unowned == 6
    assert (
        last(JOIN, server_assignment=True, settings=[pop], message_request_mode="PULL").unowned == 0
    )


def test_modes_and_settings_are_kept_over_a_restart():
    """Java stores them; a broker that came back with a fresh table of modes would let the group
    pull again.
    """
    restart = {"at": "61s", "restart_broker": {"brokers": ["broker-a", "broker-b"], "lasts": "5s"}}
    assert (
        last(
            restart, server_assignment=True, message_request_mode="POP", pop_share_queue_num=1
        ).unowned
        == 6
    )
    off = {"at": "50s", "update_broker_config": {"notify_consumer_ids_changed_enable": False}}
    assert last(off, restart, {**JOIN, "at": "120s"}).notices == 0


# --- What is refused ---


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param(
            {"broker_settings": [{}]},
            "broker_settings[0] changes nothing; give at least one of notify_consumer",
            id="no setting",
        ),
        ({"broker_settings": [{"brokers": "broker-a"}]}, "broker_settings[0] changes nothing"),
        (
            {"broker_settings": [{"lock_max_live_time": 5}]},
            'write "5s" for seconds or "5ms" for milliseconds',
        ),
        (
            {"broker_settings": [{"brokers": "x", "lock_max_live_time": "5s"}]},
            "broker_settings[0].brokers names 'x'",
        ),
        pytest.param(
            {
                "broker_settings": [
                    {"lock_max_live_time": "5s"},
                    {"brokers": "broker-b", "lock_max_live_time": "6s"},
                ]
            },
            "broker_settings[1].lock_max_live_time is set twice for broker 'broker-b'; set it once",
            id="set twice",
        ),
        (
            {"events": [{"at": "1s", "update_broker_config": {"lock_max_live_time": "5s"}}]},
            "lock_max_live_time is not known",
        ),
        (
            {"events": [{"at": "1s", "update_sub_group": {"group": "g"}}]},
            "update_sub_group changes nothing",
        ),
        (
            {"events": [{"at": "1s", "update_broker_config": {"brokers": "broker-a"}}]},
            "changes nothing",
        ),
        pytest.param(
            {"profile": "4.9", "broker_settings": [{"real_time_notify_consumer_change": False}]},
            "broker_settings[0].real_time_notify_consumer_change is not known to RocketMQ 4.9; it came with 5.x",
            id="a setting that 4.9 lacks",
        ),
        pytest.param(
            {
                "profile": "4.9",
                "events": [
                    {"at": "1s", "update_broker_config": {"server_load_balancer_enable": False}}
                ],
            },
            "events[0].update_broker_config.server_load_balancer_enable is not known to RocketMQ 4.9",
            id="an event that 4.9 lacks",
        ),
    ],
)
def test_settings_that_are_wrong(changes, words):
    with pytest.raises(ScenarioError) as error:
        Script.of({**script(), **changes})
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("group", "words"),
    [
        (
            {"message_request_mode": "POP"},
            "groups[0].message_request_mode needs server_assignment: true beside it",
        ),
        (
            {"server_assignment": True, "pop_share_queue_num": 2},
            "groups[0].pop_share_queue_num needs message_request_mode: POP beside it",
        ),
        (
            {"subscription_group": {"retry_queue_nums": 0}},
            "groups[0].subscription_group.retry_queue_nums must be",
        ),
    ],
)
def test_groups_that_are_wrong(group, words):
    with pytest.raises(ScenarioError) as error:
        Script.of(script(**group))
    assert words in str(error.value)


SCRIPT = """duration: 60s
brokers: [broker-a]
topics: [{name: orders, read_queue_nums: 4}]
broker_settings: [{auto_create_subscription_group: false}]
groups:
- {name: g, topics: orders, clients: 2, server_assignment: true}
events:
- {at: 20s, set_consume_mode: {group: g, topic: orders, mode: POP}}
"""


def test_what_only_a_run_can_find_names_the_step_too(tmp_path):
    """The broker refuses: its group is not configured."""
    path = tmp_path / "s.yaml"
    path.write_text(SCRIPT)
    with pytest.raises(
        ScenarioError,
        match=r"s.yaml:8:31: events\[0\].set_consume_mode is refused by broker-a: .*g is not",
    ):
        simulate(read_script(path))
    with pytest.raises(
        ScenarioError,
        match=r"s.yaml:6:60: groups\[0\].server_assignment is not known to RocketMQ 4.9",
    ):
        simulate(read_script(path), profile="4.9")


def test_what_can_be_changed_can_be_set_at_the_start():
    assert (
        UpdateBrokerConfig.schema()["properties"].items()
        <= BrokerSettings.schema()["properties"].items()
    )
