"""5.3 to 5.6 of the specification: whom a client asks, what it sees in a route, its name, and what
it does by the clock.
"""

from random import Random

import pytest
from little_cluster import START, LittleCluster, manager_of, push, queues_of, started

from rmqalloc import MessageQueue
from rmqalloc.rebalance import (
    ClientIdentity,
    Intervals,
    LitePullConsumer,
    PullConsumer,
    RouteTable,
    RouteViews,
    ServiceState,
    static_endpoints,
    subscribe_view,
)
from rmqalloc.remoting import (
    BrokerData,
    ClientError,
    ConsumeFromWhere,
    ConsumeType,
    MessageModel,
    QueueData,
    RemotingError,
    SubscriptionData,
    TopicQueueMappingInfo,
    TopicRouteData,
)


@pytest.fixture
def cluster():
    return LittleCluster("broker-a", "broker-b", T=2)


# --- 5.3 ---


def test_5_3_a_random_broker_of_the_topic_is_asked(cluster):
    factory = started(push(cluster)).client_factory
    for _ in range(40):
        assert factory.finish(factory.find_consumer_id_list("T", "g")) == ["10.0.0.1@x"]
    asked = [len(broker.asked("consumer_ids")) for broker in cluster.brokers.values()]
    assert sum(asked) == 40
    assert min(asked) > 5


def test_5_3_the_same_seed_asks_the_same_brokers():
    def asked():
        cluster = LittleCluster("broker-a", "broker-b", T=2)
        factory = started(
            push(cluster, manager=manager_of(cluster, random=Random(5)))
        ).client_factory
        for _ in range(10):
            factory.finish(factory.find_consumer_id_list("T", "g"))
        return [len(broker.asked("consumer_ids")) for broker in cluster.brokers.values()]

    assert asked() == asked()


def test_5_3_a_broker_is_its_master_or_any_other_of_its_servers():
    table = RouteTable(Random(1))
    brokers = [
        BrokerData("a", {0: "a0", 1: "a1"}),
        BrokerData("b", {1: "b1", 2: "b2"}),
        BrokerData("c", {}),
    ]
    table.put("T", TopicRouteData((), tuple(brokers)))
    assert {table.random_address("T") for _ in range(60)} == {"a0", "b1", "b2", None}
    assert table.random_address("U") is None


def test_5_3_an_unknown_route_is_asked_for_once(cluster):
    cluster.add_topic("U", 1)
    factory = started(push(cluster)).client_factory
    asked = len(cluster.routes_asked)
    assert factory.finish(factory.find_consumer_id_list("nowhere", "g")) is None
    assert len(cluster.routes_asked) == asked + 1
    assert factory.finish(factory.find_consumer_id_list("U", "g")) == ["10.0.0.1@x"]


def test_5_3_no_good_answer_is_null(cluster):
    factory = started(push(cluster)).client_factory
    assert factory.finish(factory.find_consumer_id_list("T", "unknown group")) is None
    for broker in cluster.brokers.values():
        broker.down = True
    assert factory.finish(factory.find_consumer_id_list("T", "g")) is None


# --- 5.4 ---


def test_5_4_read_queues_of_readable_brokers_whatever_else_is_said():
    route = TopicRouteData(
        (
            QueueData("no-master", 2, 0, perm=4),
            QueueData("write-only", 9, 9, perm=2),
            QueueData("both", 1, 8, perm=6),
            QueueData("both", 2, 8, perm=6),
            QueueData("closed", 9, 9, perm=0),
        ),
        (BrokerData("no-master", {1: "slave"}),),
    )
    seen = sorted((queue.broker_name, queue.queue_id) for queue in subscribe_view("T", route))
    assert seen == [("both", 0), ("both", 1), ("no-master", 0), ("no-master", 1)]


def test_5_4_a_static_topic_has_logical_queues_with_and_without_a_broker():
    mapping = {
        "a": TopicQueueMappingInfo("a", 3, epoch=1, current_id_map={0: 0, 1: 1}),
        "b": TopicQueueMappingInfo("b", 4, epoch=2, current_id_map={1: 0}),
        "c": TopicQueueMappingInfo("c", 1, scope="region", current_id_map={0: 0}),
        "d": TopicQueueMappingInfo("d", 9, scope=None, current_id_map={0: 0}),
        "e": TopicQueueMappingInfo("e", 0, scope="empty"),
    }
    route = TopicRouteData((QueueData("a", 8, 8),), (), mapping)
    endpoints = static_endpoints("T", route)
    assert {(queue.broker_name, queue.queue_id): broker for queue, broker in endpoints.items()} == {
        ("__syslo__global__", 0): "a",
        ("__syslo__global__", 1): "b",
        ("__syslo__global__", 2): "__syslo__none__",
        ("__syslo__global__", 3): "__syslo__none__",
        ("__syslo__region", 0): "c",
    }
    assert subscribe_view("T", route) == endpoints.keys()


def test_5_4_logical_queues_are_locked_and_stored_at_their_physical_broker(cluster):
    table = RouteTable(Random(1))
    mapping = {"broker-a": TopicQueueMappingInfo("broker-a", 2, current_id_map={0: 0})}
    table.put("T", TopicRouteData((), (BrokerData("broker-a", {0: "a0"}),), mapping))
    held, unmapped, unknown = (MessageQueue("T", "__syslo__global__", i) for i in range(3))
    assert [table.broker_of(queue) for queue in (held, unmapped, unknown)] == [
        "broker-a",
        "__syslo__none__",
        None,
    ]
    assert table.master_of(table.broker_of(held)) == "a0"
    assert table.master_of(table.broker_of(unknown)) is None


def test_5_4_views_are_kept_for_subscribed_topics_only_and_renewed_when_the_route_changes(cluster):
    consumer = started(push(cluster))
    factory, info = consumer.client_factory, consumer.rebalance.topic_subscribe_info
    cluster.add_topic("U", 1)
    assert factory.finish(factory.update_topic_route("U"))
    assert "U" not in info
    before = info["T"]
    assert not factory.finish(factory.update_topic_route("T"))
    assert info["T"] is before
    route = cluster.routes["T"]
    cluster.routes["T"] = TopicRouteData(route.queue_datas[::-1], route.broker_datas[::-1])
    assert not factory.finish(factory.update_topic_route("T")), (
        "the order of entries does not matter"
    )
    cluster.add_topic("T", 3)
    assert factory.finish(factory.update_topic_route("T"))
    assert len(info["T"]) == 6


def test_5_4_a_missing_view_is_made_though_the_route_is_known(cluster):
    manager = manager_of(cluster)
    started(push(cluster, "x", manager=manager))
    late = started(push(cluster, "x", group="h", manager=manager, topic=None))
    late.subscribe("T")
    cluster.clock.run_for(29_000)
    assert "T" in late.rebalance.topic_subscribe_info


def test_5_4_a_topic_that_vanishes_keeps_its_last_view(cluster):
    consumer = started(push(cluster))
    del cluster.routes["T"]
    cluster.clock.run_for(61_000)
    assert len(consumer.rebalance.topic_subscribe_info["T"]) == len(queues_of(consumer)) == 4


def test_5_4_routes_are_polled_after_10_ms_and_every_30_s(cluster):
    started(push(cluster))
    cluster.routes_asked.clear()
    cluster.clock.run_for(61_000)
    times = sorted({at - START for at, topic in cluster.routes_asked if topic == "T"})
    assert times == [10, 30_010, 60_010]


def test_5_4_a_poll_that_meets_no_name_server_ends_and_the_next_goes_on(cluster):
    consumer = started(push(cluster))
    cluster.name_server_down = True
    cluster.clock.run_for(31_000)
    cluster.name_server_down = False
    cluster.add_topic("T", 3)
    cluster.clock.run_for(30_000)
    assert len(consumer.rebalance.topic_subscribe_info["T"]) == 6
    cluster.name_server_down = True
    with pytest.raises(RemotingError):
        consumer.client_factory.finish(consumer.client_factory.update_topic_route("T"))


def test_5_4_a_view_is_made_once_for_equal_routes():
    def route(n_queues):
        return TopicRouteData((QueueData("broker-a", n_queues, n_queues),))

    views = RouteViews()
    first = views.view("T", route(2))
    assert views.view("T", route(2)) is first
    assert len(views.view("T", route(3))) == 3
    assert views.view("U", route(3)) == {MessageQueue("U", "broker-a", i) for i in range(3)}


def test_5_4_clients_may_share_views():
    cluster = LittleCluster(T=2)
    views = RouteViews()
    x, y = (started(push(cluster, name, manager=manager_of(cluster, views=views))) for name in "xy")
    assert x.rebalance.topic_subscribe_info["T"] is y.rebalance.topic_subscribe_info["T"]


# --- 5.5 ---


@pytest.mark.parametrize(
    ("identity", "client_id"),
    [
        (ClientIdentity("10.0.0.1"), "10.0.0.1@DEFAULT"),
        (ClientIdentity("10.0.0.1", "mine", "unit"), "10.0.0.1@mine@unit"),
        (ClientIdentity("10.0.0.1", "mine", " \u3000"), "10.0.0.1@mine"),
        (ClientIdentity("10.0.0.1", "mine", "\u00a0"), "10.0.0.1@mine@\u00a0"),
        (ClientIdentity("10.0.0.1", "mine", None, stream=True), "10.0.0.1@mine@STREAM"),
        (ClientIdentity("10.0.0.1", "mine", "unit", stream=True), "10.0.0.1@mine@unit@STREAM"),
    ],
)
def test_5_5_what_a_client_id_is_made_of(identity, client_id):
    assert identity.client_id == client_id


@pytest.mark.parametrize("kind", [PullConsumer, LitePullConsumer])
def test_5_5_a_clustering_consumer_without_a_name_is_named_after_process_and_moment(cluster, kind):
    manager = manager_of(cluster, pid=7, nano_time=iter([100, 200]).__next__)
    consumers = [kind(manager, "g") for _ in range(2)]
    assert consumers[0].client_id == "127.0.0.1@DEFAULT"
    for consumer in consumers:
        consumer.start()
    assert [consumer.client_id for consumer in consumers] == ["127.0.0.1@7#100", "127.0.0.1@7#200"]
    assert sorted(manager.factories) == [consumer.client_id for consumer in consumers]


def test_5_5_a_broadcasting_consumer_keeps_its_name_for_the_path_of_its_offsets(cluster, tmp_path):
    manager = manager_of(cluster, offset_directory=tmp_path)
    consumer = started(PullConsumer(manager, "g", message_model=MessageModel.BROADCASTING))
    assert consumer.client_id == "127.0.0.1@DEFAULT"
    assert consumer.offset_store.path == tmp_path / "127.0.0.1@DEFAULT" / "g" / "offsets.json"


def test_5_5_one_id_is_one_client_for_all_groups_but_once_for_each(cluster):
    manager = manager_of(cluster)
    g, h = (started(push(cluster, "x", group=group, manager=manager)) for group in "gh")
    assert g.client_factory is h.client_factory
    again = push(cluster, "x", group="g", manager=manager)
    with pytest.raises(ClientError, match="created before"):
        again.start()
    assert again.state is ServiceState.CREATE_JUST
    assert g.client_factory.consumers == {"g": g, "h": h}
    g.shutdown()
    again.start()
    assert again.client_factory is h.client_factory


def test_5_5_a_consumer_starts_once(cluster):
    consumer = started(push(cluster))
    with pytest.raises(ClientError, match="its state is running"):
        consumer.start()
    consumer.shutdown()
    consumer.shutdown()
    with pytest.raises(ClientError, match="its state is shut down"):
        consumer.start()


def test_5_5_a_client_ends_with_its_last_consumer(cluster):
    manager = manager_of(cluster)
    g, h = (started(push(cluster, "x", group=group, manager=manager)) for group in "gh")
    g.shutdown()
    assert "10.0.0.1@x" in manager.factories
    cluster.clock.run_for(5_000)
    assert len(queues_of(h)) == 4
    h.shutdown()
    assert manager.factories == {}
    requests = [len(broker.requests) for broker in cluster.brokers.values()]
    cluster.clock.run_for(120_000)
    assert [len(broker.requests) for broker in cluster.brokers.values()] == requests


def test_5_5_a_broker_that_cannot_be_told_does_not_keep_a_consumer_from_ending(cluster):
    consumer = started(push(cluster))
    cluster.brokers["broker-a"].down = True
    consumer.shutdown()
    assert consumer.state is ServiceState.SHUTDOWN_ALREADY
    assert cluster.brokers["broker-b"].groups == {"g": {}}
    assert list(cluster.brokers["broker-a"].groups["g"]) == [consumer.client_id], (
        "it will find out by itself"
    )


def test_5_5_a_push_consumer_that_finds_no_name_server_ends_itself_and_raises(cluster):
    manager = manager_of(cluster)
    consumer = push(cluster, manager=manager)
    cluster.name_server_down = True
    with pytest.raises(RemotingError):
        consumer.start()
    assert consumer.state is ServiceState.SHUTDOWN_ALREADY
    assert manager.factories == {}


def test_5_5_a_killed_client_says_nothing_and_does_nothing_any_more(cluster):
    manager = manager_of(cluster)
    consumer = started(push(cluster, orderly=True, manager=manager))
    cluster.clock.run_for(5_000)
    consumer.client_factory.call_later(10, lambda: pytest.fail("it is dead"))
    consumer.client_factory.rebalance_later(10)
    requests = [list(broker.requests) for broker in cluster.brokers.values()]
    consumer.client_factory.kill()
    cluster.clock.run_for(120_000)
    assert [broker.requests for broker in cluster.brokers.values()] == requests
    assert manager.factories == {}
    assert len(queues_of(consumer)) == 4, "nobody told it"
    twin = started(push(cluster, manager=manager))
    assert twin.client_factory is not consumer.client_factory


def test_5_5_a_consumer_needs_a_group_and_a_topic_a_name(cluster):
    with pytest.raises(ValueError, match="name of a group"):
        push(cluster, group=" ")
    with pytest.raises(ValueError, match="name of a topic"):
        push(cluster, topic="")


def test_a_pull_consumer_tells_of_registered_topics_and_divides_those_of_its_start(cluster):
    cluster.add_topic("U", 2)
    consumer = PullConsumer(manager_of(cluster), "g")
    consumer.subscribe("T")
    consumer.start()
    cluster.clock.run_for(10)
    consumer.subscribe("U")
    consumer.unsubscribe("T")
    cluster.clock.run_for(25_000)
    assert consumer.consumer_data().subscriptions == {SubscriptionData("U")}
    assert queues_of(consumer, "T") == queues_of(consumer, "U") == []


# --- 5.6 ---


def heartbeats(cluster, name="broker-a"):
    return [
        (at - START, address) for at, _, _, address, _ in cluster.brokers[name].asked("heartbeat")
    ]


def test_5_6_heartbeats_at_start_after_a_second_every_30_s_and_when_queues_change(cluster):
    started(push(cluster))
    cluster.clock.run_for(61_000)
    assert [at for at, _ in heartbeats(cluster)] == [0, 1_000, 1_000, 31_000, 61_000], (
        "one of two for the first pass"
    )


def test_5_6_heartbeats_go_to_slaves_too(cluster):
    cluster.addresses["broker-a:slave"] = cluster.brokers["broker-a"]
    cluster.routes["T"] = TopicRouteData(
        (QueueData("broker-a", 1, 1),),
        (BrokerData("broker-a", {0: "broker-a:master", 1: "broker-a:slave"}),),
    )
    started(push(cluster))
    assert heartbeats(cluster) == [(0, "broker-a:master"), (0, "broker-a:slave")]


def test_5_6_one_that_fails_does_not_keep_the_others_from_being_sent(cluster):
    cluster.brokers["broker-a"].down = True
    started(push(cluster))
    assert [len(heartbeats(cluster, name)) for name in cluster.brokers] == [1, 1]


def test_5_6_a_heartbeat_tells_of_every_group(cluster):
    manager = manager_of(cluster)
    started(push(cluster, "x", manager=manager, unit_mode=True))
    settings = {
        "consume_from_where": ConsumeFromWhere.FIRST_OFFSET,
        "identity": ClientIdentity("10.0.0.1", "x"),
    }
    pull = PullConsumer(manager, "h", **settings)
    pull.subscribe("U")
    started(pull)
    cluster.clock.run_for(1_000)
    (*_, heartbeat) = cluster.brokers["broker-a"].asked("heartbeat")[-1]
    assert heartbeat.client_id == "10.0.0.1@x"
    g, h = heartbeat.consumers
    assert (g.consumer_group, g.consume_type, g.unit_mode) == ("g", ConsumeType.PASSIVELY, True)
    assert {s.topic for s in g.subscriptions} == {"T", "%RETRY%g"}
    assert (h.consumer_group, h.consume_type, h.unit_mode) == ("h", ConsumeType.ACTIVELY, False)
    assert (h.message_model, h.consume_from_where) == (
        MessageModel.CLUSTERING,
        ConsumeFromWhere.LAST_OFFSET,
    )
    assert [(s.topic, s.sub_version) for s in h.subscriptions] == [("U", 0)]


def test_5_6_subscribing_while_running_sends_a_heartbeat_and_unsubscribing_does_not(cluster):
    consumer = started(push(cluster))
    before = len(heartbeats(cluster))
    consumer.subscribe("U")
    assert len(heartbeats(cluster)) == before + 1
    consumer.unsubscribe("U")
    assert len(heartbeats(cluster)) == before + 1


def test_5_6_a_broker_no_route_names_is_told_no_more(cluster):
    cluster.add_topic("%RETRY%g", 1, brokers=["broker-a"])
    started(push(cluster))
    cluster.add_topic("T", 4, brokers=["broker-a"])
    cluster.clock.run_for(61_000)
    assert [at for at, _ in heartbeats(cluster, "broker-b")] == [0]


def test_5_6_a_server_no_route_names_is_told_no_more():
    table = RouteTable(Random(1))
    table.put("T", TopicRouteData((), (BrokerData("a", {0: "a0", 1: "a1"}),)))
    table.broker_addresses["a"] = {0: "a0", 2: "a2"}
    table.broker_addresses["z"] = {0: "z0"}
    table.forget_offline_brokers()
    assert table.broker_addresses == {"a": {0: "a0"}}
    assert table.any_of("a") == "a0"


def test_5_6_offsets_are_stored_after_10_s_and_every_5_s(cluster):
    consumer = started(push(cluster))
    cluster.clock.run_for(2_000)
    queue = queues_of(consumer)[0]
    consumer.offset_store.update_offset(queue, 3, increase_only=False)
    cluster.clock.run_for(18_500)
    times = [at - START for at, *_ in cluster.brokers["broker-a"].asked("update_offset")]
    assert times == [10_000, 15_000, 20_000]


def test_5_6_intervals_can_be_set(cluster):
    intervals = Intervals(route_poll=7_000, heartbeat=4_000, persist=3_000)
    consumer = started(push(cluster, manager=manager_of(cluster, intervals=intervals)))
    cluster.clock.run_for(2_000)
    consumer.offset_store.update_offset(queues_of(consumer)[0], 3, increase_only=False)
    cluster.routes_asked.clear()
    cluster.clock.run_for(14_000)
    assert [at - START for at, topic in cluster.routes_asked if topic == "T"] == [7_010, 14_010]
    assert [at for at, _ in heartbeats(cluster)][3:] == [5_000, 9_000, 13_000]
    assert [at - START for at, *_ in cluster.brokers["broker-a"].asked("update_offset")] == [
        10_000,
        13_000,
        16_000,
    ]


def test_5_6_heartbeats_of_the_second_form_are_short_once_the_broker_knows_them(cluster):
    consumer = started(push(cluster, manager=manager_of(cluster, heartbeat_v2=True)))
    factory = consumer.client_factory

    def send(rebalanced=False):
        factory.finish(factory.send_heartbeat_to_all_brokers(rebalanced))

    def sent():
        (*_, heartbeat) = cluster.brokers["broker-a"].asked("heartbeat")[-1]
        empty = all(not data.subscriptions for data in heartbeat.consumers)
        assert empty == heartbeat.without_subscriptions
        return heartbeat.without_subscriptions

    assert not sent()
    send()
    assert sent()
    send(rebalanced=True)
    assert not sent(), "whoever rebalances says everything"
    send()
    consumer.subscribe("U")
    assert not sent(), "another fingerprint"
    cluster.brokers["broker-a"].fingerprints.clear()
    send()
    assert sent(), "the broker forgot, and says so"
    send()
    assert not sent()


def test_5_6_a_change_of_queues_is_told_in_full_for_the_subscription_is_newer(cluster):
    consumer = started(push(cluster, manager=manager_of(cluster, heartbeat_v2=True)))
    consumer.client_factory.finish(consumer.client_factory.send_heartbeat_to_all_brokers())
    cluster.clock.jump(7)
    consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))
    short, full = (
        heartbeat for *_, heartbeat in cluster.brokers["broker-a"].asked("heartbeat")[-2:]
    )
    assert (short.without_subscriptions, full.without_subscriptions) == (True, False)
    assert START + 7 in {
        subscription.sub_version for subscription in full.consumers[0].subscriptions
    }


def test_5_6_a_broker_that_does_not_know_the_second_form_is_told_everything(cluster):
    cluster.brokers["broker-a"].knows_v2 = False
    consumer = started(push(cluster, manager=manager_of(cluster, heartbeat_v2=True)))
    for _ in range(3):
        consumer.client_factory.finish(consumer.client_factory.send_heartbeat_to_all_brokers())
    assert all(
        not heartbeat.without_subscriptions
        for *_, heartbeat in cluster.brokers["broker-a"].asked("heartbeat")
    )
    assert any(
        heartbeat.without_subscriptions
        for *_, heartbeat in cluster.brokers["broker-b"].asked("heartbeat")
    )


def test_5_6_a_heartbeat_on_its_way_keeps_another_from_being_sent(cluster):
    consumer = started(push(cluster))
    broker = cluster.brokers["broker-a"]
    inner = []
    broker.heartbeat = lambda heartbeat: inner.append(
        consumer.client_factory.finish(consumer.client_factory.send_heartbeat_to_all_brokers())
    )
    assert consumer.client_factory.finish(consumer.client_factory.send_heartbeat_to_all_brokers())
    assert inner == [False]


def test_5_6_a_client_without_consumers_says_nothing(cluster):
    factory = manager_of(cluster).get_or_create("nobody")
    factory.finish(factory.update_topic_route("T"))
    assert not factory.finish(factory.send_heartbeat_to_all_brokers())
    assert heartbeats(cluster) == []
