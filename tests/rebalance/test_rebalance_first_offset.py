"""4.8 of the specification: where a new queue is read from."""

import time

import pytest
from little_cluster import START, LittleCluster, manager_of, push, started

from rmqalloc import MessageQueue
from rmqalloc.rebalance import LitePullConsumer, PullConsumer
from rmqalloc.rebalance._first_offset import format_timestamp, parse_timestamp
from rmqalloc.remoting import (
    ClientError,
    ConsumeFromWhere,
    RemotingError,
    ResponseCode,
    ResponseError,
)

QUEUE = MessageQueue("T", "broker-a", 0)
RETRY = MessageQueue("%RETRY%g", "broker-a", 0)
DEPRECATED = [
    ConsumeFromWhere.LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST,
    ConsumeFromWhere.MIN_OFFSET,
    ConsumeFromWhere.MAX_OFFSET,
]
LAST, FIRST, TIMESTAMP = (
    ConsumeFromWhere.LAST_OFFSET,
    ConsumeFromWhere.FIRST_OFFSET,
    ConsumeFromWhere.TIMESTAMP,
)
MAX_OFFSET = 80
BROKEN = ResponseError(ResponseCode.SYSTEM_ERROR, "broken")
every_where = pytest.mark.parametrize("where", ConsumeFromWhere)
both_kinds = pytest.mark.parametrize("kind", ["push", "lite"])


@pytest.fixture
def cluster():
    cluster = LittleCluster(T=1)
    cluster.add_topic("%RETRY%g", 1)
    cluster.broker.max_offsets = {QUEUE: MAX_OFFSET, RETRY: MAX_OFFSET}
    return cluster


def consumer_of(cluster, kind, **settings):
    if kind == "push":
        consumer = push(cluster, **settings)
    else:
        consumer = LitePullConsumer(manager_of(cluster), "g", **settings)
        consumer.subscribe("T")
    consumer.start()
    cluster.clock.run_for(10)
    return consumer


def both_forms(consumer, queue=QUEUE):
    impl = consumer.rebalance
    throwing, swallowing = (
        impl.client_factory.finish(impl.compute_pull_from_where_with_exception(queue)),
        impl.client_factory.finish(impl.compute_pull_from_where(queue)),
    )
    assert throwing == swallowing
    return throwing


@every_where
def test_4_8_push_goes_on_from_the_stored_offset(cluster, where):
    cluster.broker.offsets["g", QUEUE] = 7
    assert both_forms(consumer_of(cluster, "push", consume_from_where=where)) == 7


@pytest.mark.parametrize("where", [LAST, FIRST, TIMESTAMP])
def test_4_8_lite_pull_goes_on_from_the_stored_offset(cluster, where):
    cluster.broker.offsets["g", QUEUE] = 7
    assert both_forms(consumer_of(cluster, "lite", consume_from_where=where)) == 7


@both_kinds
@pytest.mark.parametrize(
    ("where", "queue", "offset"),
    [
        (LAST, QUEUE, MAX_OFFSET),
        (LAST, RETRY, 0),
        (FIRST, QUEUE, 0),
        (FIRST, RETRY, 0),
        (TIMESTAMP, QUEUE, MAX_OFFSET // 2),
        (TIMESTAMP, RETRY, MAX_OFFSET),
    ],
)
def test_4_8_without_a_stored_offset_the_group_begins_where_it_wishes(
    cluster, kind, where, queue, offset
):
    assert both_forms(consumer_of(cluster, kind, consume_from_where=where), queue) == offset


@pytest.mark.parametrize("where", DEPRECATED)
def test_4_8_deprecated_wishes_stand_for_the_last_offset_with_push_and_are_refused_by_lite_pull(
    cluster, where
):
    assert both_forms(consumer_of(cluster, "push", consume_from_where=where)) == MAX_OFFSET
    refused = f"must begin by CONSUME_FROM_LAST_OFFSET, CONSUME_FROM_FIRST_OFFSET, CONSUME_FROM_TIMESTAMP; got {where.value}"
    with pytest.raises(ValueError, match=refused):
        consumer_of(cluster, "lite", consume_from_where=where)
    consumer = consumer_of(cluster, "lite", consume_from_where=FIRST)
    with pytest.raises(ValueError, match=refused):
        consumer.consume_from_where = where
    assert consumer.consume_from_where is FIRST
    consumer.consume_from_where = TIMESTAMP
    assert consumer.consume_from_where is TIMESTAMP


def test_4_8_lite_pull_refuses_no_wish_at_all(cluster):
    with pytest.raises(ValueError, match="got None"):
        consumer_of(cluster, "lite", consume_from_where=None)


@every_where
def test_4_8_push_fails_on_an_offset_that_cannot_be_read(cluster, where):
    cluster.broker.refuses["query_offset"] = BROKEN
    impl = consumer_of(cluster, "push", consume_from_where=where).rebalance
    with pytest.raises(ClientError, match="cannot be read") as error:
        impl.client_factory.finish(impl.compute_pull_from_where_with_exception(QUEUE))
    assert error.value.code == ResponseCode.QUERY_NOT_FOUND
    assert impl.client_factory.finish(impl.compute_pull_from_where(QUEUE)) == -1


@pytest.mark.parametrize("where", [LAST, FIRST, TIMESTAMP])
def test_4_8_lite_pull_answers_minus_one_to_an_offset_that_cannot_be_read(cluster, where):
    cluster.broker.refuses["query_offset"] = BROKEN
    assert both_forms(consumer_of(cluster, "lite", consume_from_where=where)) == -1


@both_kinds
@pytest.mark.parametrize(
    ("where", "kind_of_request"), [(LAST, "max_offset"), (TIMESTAMP, "search_offset")]
)
@pytest.mark.parametrize("error", [BROKEN, RemotingError("timeout")])
def test_4_8_a_broker_that_does_not_tell_is_an_error_or_minus_one(
    cluster, kind, where, kind_of_request, error
):
    cluster.broker.refuses[kind_of_request] = error
    impl = consumer_of(cluster, kind, consume_from_where=where).rebalance
    with pytest.raises(ClientError, match="gave no offset"):
        impl.client_factory.finish(impl.compute_pull_from_where_with_exception(QUEUE))
    assert impl.client_factory.finish(impl.compute_pull_from_where(QUEUE)) == -1


def test_4_8_push_refuses_a_first_offset_below_zero(cluster):
    cluster.broker.max_offsets[QUEUE] = -1
    impl = consumer_of(cluster, "push").rebalance
    with pytest.raises(ClientError, match="as -1") as error:
        impl.client_factory.finish(impl.compute_pull_from_where_with_exception(QUEUE))
    assert error.value.code == ResponseCode.SYSTEM_ERROR
    assert impl.client_factory.finish(impl.compute_pull_from_where(QUEUE)) == -1
    assert both_forms(consumer_of(cluster, "lite")) == -1


def test_4_8_pull_always_begins_at_zero(cluster):
    cluster.broker.offsets["g", QUEUE] = 7
    consumer = PullConsumer(manager_of(cluster), "g")
    consumer.subscribe("T")
    assert both_forms(started(consumer)) == 0


def test_4_8_push_reads_the_store_and_lite_pull_memory_first(cluster):
    cluster.broker.offsets["g", QUEUE] = 7
    for kind, offset in (("push", 7), ("lite", 3)):
        consumer = consumer_of(cluster, kind)
        consumer.offset_store.update_offset(QUEUE, 3, increase_only=False)
        assert both_forms(consumer) == offset


def test_4_8_a_new_queue_of_lite_pull_reads_the_store_for_memory_was_just_emptied(cluster):
    cluster.broker.offsets["g", QUEUE] = 7
    consumer = consumer_of(cluster, "lite")
    consumer.offset_store.update_offset(QUEUE, 3, increase_only=False)
    cluster.clock.run_for(21_000)
    assert consumer.offset_store.offsets("T") == {QUEUE: 7}


def test_4_8_the_time_to_begin_at_is_half_an_hour_before_the_consumer(cluster):
    consumer = consumer_of(cluster, "push", consume_from_where=TIMESTAMP)
    both_forms(consumer)
    *_, (*_, asked) = cluster.broker.asked("search_offset")
    assert asked == START - 30 * 60 * 1_000


def test_4_8_a_timestamp_is_local_time(cluster):
    text = "20240229123456"
    assert time.strftime("%Y%m%d%H%M%S", time.localtime(parse_timestamp(text) // 1_000)) == text
    assert format_timestamp(parse_timestamp(text) + 999) == text
    consumer = consumer_of(cluster, "push", consume_from_where=TIMESTAMP, consume_timestamp=text)
    both_forms(consumer)
    *_, (*_, asked) = cluster.broker.asked("search_offset")
    assert asked == parse_timestamp(text)


@pytest.mark.parametrize("text", ["", "yesterday", "20241301000000", "2024"])
def test_4_8_a_push_consumer_does_not_start_with_a_bad_timestamp(cluster, text):
    with pytest.raises(ValueError, match="yyyyMMddHHmmss"):
        push(cluster, consume_timestamp=text).start()


@both_kinds
def test_4_8_a_timestamp_that_became_bad_flies_through_both_forms_and_fails_the_pass(cluster, kind):
    consumer = consumer_of(cluster, kind, consume_from_where=TIMESTAMP)
    consumer.consume_timestamp = "yesterday"
    for form in (
        consumer.rebalance.compute_pull_from_where,
        consumer.rebalance.compute_pull_from_where_with_exception,
    ):
        with pytest.raises(ValueError, match="yesterday"):
            consumer.client_factory.finish(form(QUEUE))
    cluster.clock.run_for(2_000)
    assert not consumer.client_factory.finish(consumer.rebalance.do_rebalance(False))


def test_4_8_a_master_told_by_the_route_just_asked_for_is_asked(cluster):
    consumer = consumer_of(cluster, "push")
    consumer.client_factory.routes.broker_addresses.clear()
    cluster.add_topic("U", 1)
    other = MessageQueue("U", "broker-a", 0)
    cluster.broker.max_offsets[other] = 12
    assert consumer.client_factory.finish(consumer.client_factory.max_offset(other)) == 12


def test_4_8_an_unknown_master_is_asked_for_once_more(cluster):
    consumer = consumer_of(cluster, "push")
    consumer.client_factory.routes.broker_addresses.clear()
    cluster.broker.offsets["g", QUEUE] = 7
    asked = len(cluster.routes_asked)
    with pytest.raises(ClientError, match="is unknown"):
        consumer.client_factory.finish(
            consumer.client_factory.max_offset(MessageQueue("T", "broker-z", 0))
        )
    assert len(cluster.routes_asked) == asked + 1
