"""What clients and brokers say to one another: bodies, errors and profiles."""

from dataclasses import FrozenInstanceError, fields

import pytest

from rmqalloc import MessageQueue
from rmqalloc.remoting import (
    DEFAULT_PROFILE,
    PROFILES,
    BrokerData,
    ClientError,
    ConsumeFromWhere,
    ConsumerData,
    ConsumeType,
    HeartbeatData,
    MessageModel,
    MessageRequestMode,
    Profile,
    QueueData,
    ResponseCode,
    ResponseError,
    SubscriptionData,
    TopicRouteData,
)


@pytest.mark.parametrize(
    ("perm", "readable"),
    [(0, False), (1, False), (2, False), (3, False), (4, True), (5, True), (6, True), (7, True)],
)
def test_the_read_bit_decides(perm, readable):
    assert QueueData("b", 1, 1, perm).is_readable == readable


def test_queues_of_a_route_follow_its_entries():
    route = TopicRouteData(
        (QueueData("b", 2, 0), QueueData("a", 1, 9), QueueData("c", 0, 9), QueueData("d", 1, 1, 2))
    )
    assert list(route.readable_queues("T")) == [
        MessageQueue("T", "b", 0),
        MessageQueue("T", "b", 1),
        MessageQueue("T", "a", 0),
    ]


def test_a_broker_has_a_master_or_none():
    assert BrokerData("b", {1: "slave", 0: "master"}).master == "master"
    assert BrokerData("b", {1: "slave"}).master is None


def test_routes_compare_by_value():
    def route(n):
        return TopicRouteData((QueueData("b", n, n),), (BrokerData("b", {0: "a"}),))

    assert route(1) == route(1) != route(2)


def test_what_is_said_cannot_be_changed():
    heartbeat = HeartbeatData(
        "x", (ConsumerData("g", subscriptions=frozenset({SubscriptionData("T")})),)
    )
    with pytest.raises(FrozenInstanceError):
        heartbeat.client_id = "y"
    assert hash(heartbeat) == hash(HeartbeatData("x", heartbeat.consumers))


def test_names_are_those_of_the_wire():
    assert [model.value for model in MessageModel] == ["CLUSTERING", "BROADCASTING"]
    assert [mode.value for mode in MessageRequestMode] == ["PULL", "POP"]
    assert all(kind.value == "CONSUME_" + kind.name for kind in ConsumeType)
    assert all(where.value == "CONSUME_FROM_" + where.name for where in ConsumeFromWhere)


def test_errors_keep_their_code_even_an_unknown_one():
    error = ResponseError(ResponseCode.QUERY_NOT_FOUND, "no offset")
    assert (error.code, error.remark, str(error)) == (
        22,
        "no offset",
        "code 22 (QUERY_NOT_FOUND): no offset",
    )
    assert str(ResponseError(999, "what")) == "code 999: what"
    assert ClientError("no broker").code is None


def test_profiles_differ_in_data_only():
    new, middle, old = PROFILES.values()
    assert new == Profile("5.5") and new is DEFAULT_PROFILE
    assert differing(new, middle) == {
        "name",
        "empty_view_is_missing",
        "empty_client_list_is_missing",
        "asks_clients_first",
        "renews_logical_locks",
        "longest_group",
        "tells_more_subscriptions",
        "indexes_groups",
    }
    same = {"late_unlock_delay", "nano_time_names", "merges_local_offsets"}
    assert differing(new, old) == {field.name for field in fields(Profile)} - same
    assert differing(middle, old) == (differing(new, old) - differing(new, middle)) | {"name"}


def differing(one, other):
    return {
        field.name
        for field in fields(Profile)
        if getattr(one, field.name) != getattr(other, field.name)
    }


def test_times_of_profiles():
    new, middle, old = PROFILES.values()
    names = (
        "min_interval",
        "retry_interval",
        "lock_retry_delay",
        "dispatch_delay",
        "ordered_lock_wait",
    )
    for profile in (new, middle):
        assert [getattr(profile, name) for name in names] == [1_000, 1_000, 500, 500, 500]
    assert [getattr(old, name) for name in names] == [0, None, None, 0, 1_000]
    assert new.late_unlock_delay == old.late_unlock_delay == 20_000
