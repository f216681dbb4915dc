"""Values at the ends of what a client takes: offsets and queue ids of a file, a delay of nothing,
times at their bounds.
"""

import json

import pytest
from little_cluster import LittleCluster, push, started

from rmqalloc import MessageQueue
from rmqalloc.rebalance import OffsetFileError
from rmqalloc.rebalance._offset_file import read_offsets, write_offsets
from rmqalloc.rebalance.process_queue import (
    LOCK_MAX_LIVE,
    PULL_MAX_IDLE,
    PopProcessQueue,
    ProcessQueue,
)
from rmqalloc.remoting import ClientError


@pytest.mark.parametrize("offset", [-(2**63), -1, 0, 2**63 - 1])
@pytest.mark.parametrize("queue_id", [0, 2**31 - 1])
def test_every_long_is_an_offset_and_every_int_from_0_a_queue_id(tmp_path, offset, queue_id):
    path, queue = tmp_path / "offsets.json", MessageQueue("T", "b", queue_id)
    write_offsets(path, {queue: offset})
    assert read_offsets(path) == {queue: offset}


@pytest.mark.parametrize(("queue_id", "offset"), [(0, -(2**63) - 1), (0, 2**63), (2**31, 0)])
def test_what_java_cannot_hold_is_refused(tmp_path, queue_id, offset):
    key = json.dumps({"brokerName": "b", "queueId": queue_id, "topic": "T"})
    (tmp_path / "offsets.json.bak").write_text(f'{{"offsetTable":{{{key}:{offset}}}}}')
    with pytest.raises(OffsetFileError, match="does not contain offsets"):
        read_offsets(tmp_path / "offsets.json")


def test_a_client_that_has_ended_refuses_passes_later_and_ignores_passes_now():
    consumer = started(push(LittleCluster()))
    factory = consumer.client_factory
    consumer.shutdown()
    for delay in (-1, 0):
        factory.rebalance_later(delay)
    with pytest.raises(ClientError, match="has ended"):
        factory.rebalance_later(1)


@pytest.mark.parametrize("kind", [ProcessQueue, PopProcessQueue])
def test_a_queue_is_idle_after_more_than_its_time(kind):
    queue = kind(now=7)
    assert not queue.is_pull_expired(7 + PULL_MAX_IDLE)
    assert queue.is_pull_expired(7 + PULL_MAX_IDLE + 1)


def test_a_lock_is_lost_after_more_than_its_time_and_consuming_that_ends_in_time_is_waited_for():
    queue = ProcessQueue(now=7)
    assert not queue.is_lock_expired(7 + LOCK_MAX_LIVE)
    assert queue.is_lock_expired(7 + LOCK_MAX_LIVE + 1)
    queue.begin_consuming(until=100)
    assert [queue.takes_consume_lock(now, 50) for now in (49, 50, 51)] == [False, True, True]
