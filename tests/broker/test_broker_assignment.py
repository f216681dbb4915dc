"""Brokers that divide queues themselves (specification 6.5)."""

import pytest
from broker_parts import NEW, OLD, RememberingChannel, heard_of

from rmqalloc import MessageQueue, strategy
from rmqalloc.broker import Broker, RequestMode, RequestModes
from rmqalloc.broker._query_assignment import BrokerRouteViews, QueryAssignment
from rmqalloc.remoting import (
    HeartbeatData,
    MessageModel,
    MessageRequestMode,
    QueueData,
    RemotingError,
    ResponseCode,
    ResponseError,
    TopicRouteData,
)
from rmqalloc.simulation._virtual_clock import VirtualClock

PULL, POP = MessageRequestMode.PULL, MessageRequestMode.POP
CLUSTERING, BROADCASTING = MessageModel.CLUSTERING, MessageModel.BROADCASTING
ROUTE = TopicRouteData(
    (QueueData("broker-b", 3, 3), QueueData("broker-a", 2, 8), QueueData("broker-c", 4, 4, perm=2))
)
QUEUES = [
    MessageQueue("t", name, i) for name, n in (("broker-a", 2), ("broker-b", 3)) for i in range(n)
]
CLIENT_IDS = ["c2", "c10", "c1"]


class Names:
    """A name server that knows one topic until it is told otherwise."""

    def __init__(self):
        self.route = ROUTE
        self.n_asked = 0

    def topic_route(self, topic):
        self.n_asked += 1
        if self.route is None or topic != "t":
            raise ResponseError(ResponseCode.TOPIC_NOT_EXIST, topic)
        return self.route


@pytest.fixture
def clock():
    return VirtualClock()


@pytest.fixture
def names():
    return Names()


def asking(clock, names, client_ids=CLIENT_IDS, modes=None, **more):
    """How a broker with these clients answers, as (topic, client id, strategy, model) -> [(queue,
    mode)] or None.
    """

    def consumer_ids(group):
        if group != "g":
            raise ResponseError(ResponseCode.SYSTEM_ERROR, "no consumer for this group, " + group)
        return client_ids

    half = QueryAssignment(
        "broker-a",
        modes or RequestModes(),
        BrokerRouteViews(clock, names.topic_route),
        consumer_ids,
        **more,
    )

    def ask(client_id="c1", topic="t", name="AVG", model=CLUSTERING, group="g"):
        return half.query(topic, group, client_id, name, model)

    return ask


def queues_of(assignments):
    return [assignment.queue for assignment in assignments]


# --- Modes ---


def test_6_5_modes_are_stored_ones_or_pull_for_retries_or_the_brokers_default():
    modes = RequestModes(default=POP)
    assert modes.get("t", "g") == RequestMode(POP, -1)
    assert modes.get("%RETRY%g", "g") == RequestMode(PULL, 0)
    modes.set("t", "g", RequestMode())
    assert modes.get("t", "g") == RequestMode(PULL, 0)
    assert modes.get("t", "h") == RequestMode(POP, -1)
    assert RequestModes().get("t", "g") == RequestMode(PULL, 0)


def test_6_5_setting_a_mode_is_checked(clock):
    broker = Broker("broker-a", clock, NEW, auto_create_subscription_group=False)

    def refusal(topic):
        with pytest.raises(ResponseError) as error:
            broker.set_message_request_mode(topic, "g", RequestMode(POP, 2))
        return error.value.code

    assert refusal("%RETRY%g") == ResponseCode.NO_PERMISSION
    assert refusal("t") == ResponseCode.TOPIC_NOT_EXIST
    broker.topics["t"] = QueueData("broker-a", 4, 4)
    assert refusal("t") == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
    created = Broker("broker-a", clock, NEW)
    created.topics["t"] = QueueData("broker-a", 4, 4)
    created.set_message_request_mode("t", "g", RequestMode(POP, 2))
    assert created.request_modes.get("t", "g") == RequestMode(POP, 2)


# --- Who gets what ---


@pytest.mark.parametrize("name", ["AVG", "AVG_BY_CIRCLE"])
def test_6_5_clients_divide_the_sorted_queues_by_the_named_strategy(clock, names, name):
    ask = asking(clock, names)
    for client_id in CLIENT_IDS:
        want = strategy(name).allocate("g", client_id, QUEUES, sorted(CLIENT_IDS))
        answer = ask(client_id, name=name)
        assert queues_of(answer) == want
        assert {assignment.mode for assignment in answer} == {PULL}


@pytest.mark.parametrize("name", ["CONSISTENT_HASH", "CONFIG", "MACHINE_ROOM", "", "avg"])
def test_6_5_other_strategies_are_answered_with_keep_yours(clock, names, name):
    assert asking(clock, names)(name=name) is None


def test_6_5_no_route_no_group_and_failing_strategies_are_answered_with_keep_yours(clock, names):
    ask = asking(clock, names)
    assert ask(topic="unknown") is None
    assert ask(group="unknown") is None
    assert ask(client_id="") is None
    assert ask(client_id="ghost") == [], "a client that is not listed is told to drop all"
    assert asking(clock, names, client_ids=["c1", None])() is None


def test_6_5_broadcasting_clients_get_all(clock, names):
    ask = asking(clock, names)
    assert queues_of(ask("nobody", model=BROADCASTING, group="unknown")) == QUEUES
    assert ask(topic="unknown", model=BROADCASTING) is None


def test_6_5_a_light_queue_is_on_this_broker(clock, names):
    light = "%LMQ%chat"
    ask = asking(clock, names, client_ids=["c1", "c2"])
    assert queues_of(ask("c1", topic=light)) == [MessageQueue(light, "broker-a", 0)]
    assert ask("c2", topic=light) == []


def test_6_5_without_the_load_balancer_everybody_gets_everything(clock, names):
    ask = asking(clock, names, server_load_balancer_enable=False)
    assert (
        queues_of(ask("c1"))
        == queues_of(ask("ghost", name="CONSISTENT_HASH", group="unknown"))
        == QUEUES
    )
    assert ask(topic="unknown") is None


def test_6_5_routes_are_fetched_when_needed_after_a_second_and_then_every_30_s(clock, names):
    ask, begin = asking(clock, names, client_ids=["c1"]), clock.now()
    assert names.n_asked == 0
    assert ask() == ask()
    assert names.n_asked == 1
    names.route = TopicRouteData((QueueData("broker-a", 1, 1),))
    for at, n_queues in ((999, 5), (1_000, 1)):
        clock.run(begin + at)
        assert len(ask()) == n_queues
    names.route = ROUTE
    for at, n_queues in ((30_999, 1), (31_000, 5), (60_000, 5)):
        clock.run(begin + at)
        assert len(ask()) == n_queues
    assert names.n_asked == 3


@pytest.mark.parametrize(
    ("error", "topic", "is_kept"),
    [
        (ResponseError(ResponseCode.TOPIC_NOT_EXIST, "gone"), "t", False),
        (ResponseError(ResponseCode.TOPIC_NOT_EXIST, "gone"), "%RETRY%g", True),
        (ResponseError(ResponseCode.SYSTEM_BUSY, "busy"), "t", True),
        (RemotingError("timeout"), "t", True),
    ],
)
def test_6_5_a_topic_that_is_gone_is_forgotten_and_any_other_failure_leaves_the_last_view(
    clock, error, topic, is_kept
):
    answers = [ROUTE, error, error]

    def topic_route(_):
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    views = BrokerRouteViews(clock, topic_route)
    assert len(views.queues(topic)) == 5
    clock.run(clock.now() + 1_000)
    known = views.queues(topic)
    assert (known is not None) == is_kept
    assert len(answers) == (1 if is_kept else 0), (
        "what was forgotten is asked for when it is needed"
    )


def test_6_5_a_topic_without_queues_is_asked_for_whenever_it_is_needed(clock, names):
    ask = asking(clock, names, client_ids=["c1"])
    names.route = TopicRouteData()
    assert [ask(), ask(), ask(model=BROADCASTING)] == [None, None, []]
    assert names.n_asked == 3
    names.route = ROUTE
    assert len(ask()) == 5


# --- POP ---


def pop(share):
    modes = RequestModes()
    modes.set("t", "g", RequestMode(POP, share))
    return modes


@pytest.mark.parametrize("share", [-1, 0, 2, 9])
def test_6_5_a_share_as_large_as_the_group_is_any_queue_of_every_broker(clock, names, share):
    answer = asking(clock, names, modes=pop(share))("ghost")
    assert queues_of(answer) == [
        MessageQueue("t", "broker-a", -1),
        MessageQueue("t", "broker-b", -1),
    ]
    assert {assignment.mode for assignment in answer} == {POP}


def test_6_5_a_share_adds_the_queues_of_the_clients_that_follow(clock, names):
    ask = asking(clock, names, client_ids=["a", "b", "c", "d"], modes=pop(1))
    owned = {
        client_id: strategy("AVG").allocate("g", client_id, QUEUES, list("abcd"))
        for client_id in "abcd"
    }
    assert queues_of(ask("a")) == sorted(owned["a"] + owned["b"])
    assert queues_of(ask("d")) == sorted(owned["d"] + owned["a"])
    assert ask("ghost") == []


def test_6_5_with_more_clients_than_queues_each_pops_one(clock, names):
    client_ids = [f"c{i}" for i in range(7)]
    ask = asking(clock, names, client_ids=client_ids, modes=pop(1))
    assert [queues_of(ask(client_id)) for client_id in client_ids] == [
        [QUEUES[i % 5]] for i in range(7)
    ]
    assert ask(" ") is None


# --- A whole broker ---


def test_6_5_the_brokers_own_connections_are_its_view_of_the_group(clock, names):
    broker = Broker("broker-a", clock, NEW, topic_route=names.topic_route)
    channels = [RememberingChannel(), RememberingChannel()]
    for channel, client_id in zip(channels, ["x", "y"], strict=True):
        broker.heartbeat(channel, HeartbeatData(client_id, (heard_of("g"),)))
    assert queues_of(broker.query_assignment("t", "g", "y", "AVG", CLUSTERING)) == QUEUES[3:]
    broker.consumers.channel_closed(channels[0])
    assert queues_of(broker.query_assignment("t", "g", "y", "AVG", CLUSTERING)) == QUEUES


def test_8_brokers_divide_queues_since_5_0_only(clock, names):
    broker = Broker("broker-a", clock, OLD, topic_route=names.topic_route)
    for request in (
        lambda: broker.query_assignment("t", "g", "x", "AVG", CLUSTERING),
        lambda: broker.set_message_request_mode("t", "g", RequestMode(POP, 1)),
    ):
        with pytest.raises(ResponseError) as error:
            request()
        assert error.value.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED


def test_without_a_name_server_there_is_no_route(clock):
    broker = Broker("broker-a", clock, NEW)
    broker.heartbeat(RememberingChannel(), HeartbeatData("x", (heard_of("g"),)))
    assert broker.query_assignment("t", "g", "x", "AVG", CLUSTERING) is None
