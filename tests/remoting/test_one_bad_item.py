"""One bad item among good ones: a message costs itself, an entry of a list the whole list."""

import json
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqalloc.remoting import (
    AnswerError,
    Command,
    Message,
    MessageError,
    body_fields,
    decode_messages,
    encode_message,
    read_assignments,
    read_client_ids,
    read_locked,
    read_offset_reset,
    read_topic_route,
    route_codec,
)
from rmqalloc.remoting import message as module
from rmqalloc.remoting.message import MessageReader, read_properties

BATCH = 192


def good(offset, body=b"42", sys_flag=0):
    return encode_message(Message("orders", body, b"TAGS\1a\2", 3, offset, sys_flag=sys_flag))


def inner(body=b"1"):
    return struct.pack(">iiiii", 22 + len(body), 0, 0, 9, len(body)) + body + b"\0\0"


def with_bytes(data, at, value):
    return data[:at] + value + data[at + len(value) :]


def int_at(data, at, value):
    return with_bytes(data, at, struct.pack(">i", value))


DAMAGES = {
    "magic code": lambda offset: int_at(good(offset), 4, 7),
    "topic": lambda offset: good(offset).replace(b"orders", b"\xffrders"),
    "body of -1": lambda offset: int_at(good(offset), 84, -1),
    "body that is too long": lambda offset: int_at(good(offset), 84, 1 << 30),
    "body of one byte more": lambda offset: int_at(good(offset), 84, 3),
    "size of 0": lambda offset: int_at(good(offset), 0, 0),
    "negative size": lambda offset: int_at(good(offset), 0, -(1 << 31)),
    "size of one byte more": lambda offset: int_at(good(offset), 0, len(good(offset)) + 1),
    "size of the rest": lambda offset: int_at(good(offset), 0, 1 << 30),
    "garbage": lambda offset: b"\xff" * 150,
    "nothing but zeros": lambda offset: bytes(150),
    "offset before": lambda offset: good(-5),
    "offset after": lambda offset: good(1 << 62),
    "batch of something else": lambda offset: good(offset, b"x", BATCH),
    "cut batch": lambda offset: good(offset, inner()[:-1], BATCH),
    "compressed batch of something else": lambda offset: good(
        offset, zlib.compress(b"x"), BATCH | 1
    ),
}


def pulled(stored, begin, most=32):
    """Pull a queue to its end, as a member does: offsets that were read, and what was passed."""
    found, passed, n_pulls = [], [], 0
    while begin < len(stored):
        end = min(len(stored), begin + most)
        reader = MessageReader(b"".join(stored[begin:end]), begin, end)
        for _ in reader.steps():
            pass
        assert begin < reader.following <= end
        found += [message.queue_offset for message in reader.messages]
        passed += [reader.first_undecodable] * reader.n_undecodable
        begin, n_pulls = reader.following, n_pulls + 1
    return found, passed, n_pulls


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("bad", [0, 1, 15, 30, 31])
def test_a_bad_message_costs_itself(damage, bad):
    stored = [DAMAGES[damage](n) if n == bad else good(n) for n in range(32)]
    found, passed, n_pulls = pulled(stored, 0)
    assert found == [n for n in range(32) if n != bad]
    assert passed == [bad]
    assert n_pulls <= 3


@given(
    st.lists(st.sampled_from([None, *DAMAGES]), min_size=1, max_size=40),
    st.integers(1, 12),
)
def test_bad_messages_cost_themselves_wherever_they_stand(damages, most):
    stored = [good(n) if name is None else DAMAGES[name](n) for n, name in enumerate(damages)]
    found, passed, _ = pulled(stored, 0, most)
    assert found == [n for n, name in enumerate(damages) if name is None]
    assert passed[:1] == [n for n, name in enumerate(damages) if name is not None][:1]
    assert len(passed) == sum(name is not None for name in damages)


@given(st.binary(max_size=300), st.integers(0, 300), st.integers(1, 1 << 62))
def test_whatever_comes_the_next_pull_is_further_on(damage, at, begin):
    data = with_bytes(good(begin) + good(begin + 1) + good(begin + 2), at, damage)
    reader = MessageReader(data, begin, begin + 3)
    assert len(list(reader.steps())) < 2
    assert begin < reader.following <= begin + 3
    assert all(begin <= message.queue_offset < begin + 3 for message in reader.messages)


def test_a_batch_that_breaks_off_costs_its_rest():
    reader = MessageReader(good(5, inner(b"1") + inner(b"2") + b"x", BATCH) + good(9), 5, 10)
    assert not list(reader.steps())
    assert [(found.queue_offset, found.body) for found in reader.messages] == [
        (5, b"1"),
        (6, b"2"),
        (9, b"42"),
    ]
    assert (reader.n_undecodable, reader.first_undecodable, reader.following) == (1, 7, 10)
    assert "contains bytes that are not messages" in str(reader.first_error)


def test_a_batch_has_no_more_messages_than_offsets():
    reader = MessageReader(good(5, inner() * 1000, BATCH), 5, 8)
    assert not list(reader.steps())
    assert [found.queue_offset for found in reader.messages] == [5, 6, 7]
    assert (reader.n_undecodable, reader.following) == (1, 8)


def test_a_pull_in_the_midst_of_a_batch_goes_on_there():
    reader = MessageReader(good(5, inner() * 4, BATCH), 7, 9)
    assert not list(reader.steps())
    assert [found.queue_offset for found in reader.messages] == [7, 8]
    assert (reader.n_undecodable, reader.following) == (0, 9)


@pytest.mark.parametrize("is_batch", [False, True])
def test_more_messages_than_are_read_at_once_come_with_the_next_pulls(is_batch, monkeypatch):
    monkeypatch.setattr(module, "MAX_MESSAGES", 50)
    for step in ("_STEP", "_BATCH_STEP"):
        monkeypatch.setattr(module, step, 200)
    answer = good(0, inner() * 120, BATCH) if is_batch else b"".join(map(good, range(120)))
    found, begin = [], 0
    while begin < 120:
        data = answer if is_batch else answer[begin * len(good(0)) :]
        reader = MessageReader(data, begin, 120)
        for _ in reader.steps():
            assert len(reader.messages) <= 60
        assert len(reader.messages) <= 50 and reader.n_undecodable == 0
        found += [message.queue_offset for message in reader.messages]
        begin = reader.following
    assert found == [*range(120)]
    with pytest.raises(MessageError, match="more than 50 messages"):
        decode_messages(answer)


def test_a_bomb_is_read_in_steps_and_not_to_its_end():
    """61 kB that become 2.9 million messages."""
    bomb = good(0, zlib.compress(bytes(module.MAX_BODY)), BATCH | 1)
    assert len(bomb) < 70_000
    reader = MessageReader(bomb * 3, 0, 1 << 40)
    last = 0
    for _ in reader.steps():
        assert len(reader.messages) - last < 3_000
        last = len(reader.messages)
    assert len(reader.messages) == module.MAX_MESSAGES == reader.following


def test_batches_of_an_answer_have_a_bound_together(monkeypatch):
    monkeypatch.setattr(module, "MAX_BODY", 10_000)
    batch = zlib.compress(inner(b"\0" * 5_000))
    reader = MessageReader(good(0, batch, BATCH | 1) + good(1, batch, BATCH | 1), 0, 2)
    assert [len(reader.messages) for _ in reader.steps()] == [0]
    assert (len(reader.messages), reader.following, reader.n_undecodable) == (1, 1, 0)
    alone = MessageReader(good(1, zlib.compress(inner(b"\0" * 11_000)), BATCH | 1), 1, 2)
    [*alone.steps()]
    assert len(alone.messages) == 1  # its listener finds out
    with pytest.raises(MessageError, match="more than 10000 bytes"):
        _ = alone.messages[0].body


@given(st.lists(st.sampled_from(["a\1b", "\1", "a", "\1x", "x\1", "", "\ufffd"]), max_size=8))
def test_a_property_that_is_none_costs_itself(parts):
    data = "\2".join(["KEYS\1k", *parts, "TAGS\1paid"]).encode()
    found = read_properties(data.replace("\ufffd".encode(), b"\xff"))
    assert (found["KEYS"], found["TAGS"]) == ("k", "paid")
    assert found.keys() - {"a"} == {"KEYS", "TAGS"}


QUEUE = {"topic": "orders", "brokerName": "a", "queueId": 3}
HELD = {"brokerName": "a", "readQueueNums": 4, "writeQueueNums": 4, "perm": 6}
SERVED = {"brokerName": "a", "cluster": "c", "brokerAddrs": {"0": "10.0.0.1:10911"}}
MAPPED = {"bname": "a", "totalQueues": 8, "epoch": 3, "scope": "s", "currIdMap": {"5": 0}}


def reset_by(listed):
    body = json.dumps({"offsetTable": listed}).encode()
    return read_offset_reset(Command(220, ext_fields={"topic": "orders", "group": "g"}, body=body))


def route_of(**content):
    return read_topic_route(json.dumps({"queueDatas": [], "brokerDatas": []} | content).encode())


LISTS = {
    "client ids": (lambda items: read_client_ids(json.dumps({"consumerIdList": items}).encode()), "x"),
    "locks": (lambda items: read_locked(json.dumps({"lockOKMQSet": items}).encode()), QUEUE),
    "assignments": (
        lambda items: read_assignments(json.dumps({"messageQueueAssignments": items}).encode()),
        {"messageQueue": QUEUE, "mode": "PULL"},
    ),
    "queues of a route": (lambda items: route_of(queueDatas=_named(items)), HELD),
    "brokers of a route": (lambda items: route_of(brokerDatas=_named(items)), SERVED),
    "addresses": (
        lambda items: route_of(brokerDatas=[SERVED | {"brokerAddrs": dict(enumerate(items))}]),
        "10.0.0.1:10911",
    ),
    "mappings": (lambda items: route_of(topicQueueMappingByBroker=dict(enumerate(items))), MAPPED),
    "reset offsets": (reset_by, QUEUE | {"offset": 7}),
}  # fmt: skip


def _named(items):
    """The same with a broker of its own for each."""
    return [
        item | {"brokerName": f"{n}"} if isinstance(item, dict) else item
        for n, item in enumerate(items)
    ]


@pytest.mark.parametrize("name", LISTS)
@given(st.integers(0, 6), st.sampled_from([5, [], True, 1.5, [5]]))
def test_an_entry_that_is_none_costs_the_whole_list(name, at, bad):
    read, item = LISTS[name]
    items = [item] * 6
    read(items)
    items.insert(at, bad)
    with pytest.raises(AnswerError):
        read(items)


def test_an_offset_below_0_is_none_to_reset_to():
    with pytest.raises(AnswerError, match="got -1"):
        reset_by([QUEUE | {"offset": 7}, QUEUE | {"offset": -1}])


def test_a_route_of_more_queues_than_are_read_is_refused():
    most = route_codec.MAX_ROUTE_QUEUES
    assert len(route_of(queueDatas=[HELD | {"readQueueNums": most}]).queue_datas) == 1
    two = [HELD | {"readQueueNums": most}, HELD | {"brokerName": "b", "readQueueNums": 1}]
    with pytest.raises(AnswerError, match="a topic of 16,385 queues; the limit is 16,384"):
        route_of(queueDatas=two)
    static = {"a": MAPPED | {"totalQueues": most}, "b": MAPPED | {"totalQueues": most}}
    assert len(route_of(topicQueueMappingByBroker=static).topic_queue_mapping) == 2
    static["b"] |= {"scope": "another"}
    with pytest.raises(AnswerError, match="a topic of 32,768 queues"):
        route_of(topicQueueMappingByBroker=static)


def test_a_body_that_is_too_long_is_refused_before_it_is_read(monkeypatch):
    monkeypatch.setattr(body_fields, "MAX_JSON", 100)
    read, item = LISTS["client ids"]
    assert read([item] * 10) == ["x"] * 10
    with pytest.raises(AnswerError, match="a body of 120 bytes; the limit is 100"):
        read([item] * 20)


@pytest.mark.parametrize("place", range(6))
@pytest.mark.parametrize("claimed", range(8))
def test_a_message_with_a_wrong_offset_costs_itself(place, claimed):
    """Also where it claims the offset of a good one, before or behind it."""
    offsets = [*range(place), claimed, *range(place + 1, 6)]
    data = b"".join(
        encode_message(Message("orders", b"%d" % i, queue_offset=offset))
        for i, offset in enumerate(offsets)
    )
    reader = MessageReader(data, 0, 8)
    assert list(reader.steps()) == []
    good = [(i, i) for i in range(6) if i != place]
    read = [(int(message.body), message.queue_offset) for message in reader.messages]
    assert [pair for pair in read if pair[0] != place] == good
    assert [offset for _, offset in read] == sorted({offset for _, offset in read})
    assert reader.n_undecodable == 6 - len(read)
    assert len(read) == 5 or claimed == place or (place == 5 and claimed > 5)
