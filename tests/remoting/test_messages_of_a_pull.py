"""Messages as a pull answers them: laid out by hand as Java's encoder does, whole, cut, damaged and
compressed.
"""

import gzip
import io
import struct
import sys
import tracemalloc
import types
import zlib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqalloc.remoting import (
    BodyError,
    Message,
    MessageError,
    SubscriptionData,
    answer_of,
    decode_messages,
    encode_message,
    tagged,
)
from rmqalloc.remoting import message as module

V1, V2 = 0xDAA320A7, 0xDAA320A7 + 4
V4, V6 = bytes([10, 0, 0, 1]), bytes(range(16))
PROPERTIES = b"TAGS\x01paid\x02KEYS\x01k1 k2\x02UNIQ_KEY\x01AC11\x02RETRY_TOPIC\x01orders\x02REAL_TOPIC\x01real\x02"


def laid_out(
    topic=b"orders",
    body=b"42",
    properties=PROPERTIES,
    sys_flag=0,
    born=V4,
    store=V4,
    magic=V1,
    crc=None,
):
    """A message field by field, in the order of ``MessageDecoder.encode``."""
    crc = zlib.crc32(body) & 0x7FFFFFFF if crc is None else crc
    data = struct.pack(">IIiiqqi", magic, crc, 3, 9, 77, 4096, sys_flag)
    data += struct.pack(">q", 1_700_000_000_001) + born + struct.pack(">i", 50_123)
    data += struct.pack(">q", 1_700_000_000_002) + store + struct.pack(">i", 10_911)
    data += struct.pack(">iq", 2, 11) + struct.pack(">i", len(body)) + body
    data += (
        struct.pack(">b", len(topic)) if magic == V1 else struct.pack(">h", len(topic))
    ) + topic
    data += struct.pack(">h", len(properties)) + properties
    return struct.pack(">i", 4 + len(data)) + data


def test_a_message_as_java_lays_it_out():
    [one] = decode_messages(laid_out())
    assert (one.topic, one.body, one.queue_id, one.queue_offset, one.commit_log_offset) == (
        "orders",
        b"42",
        3,
        77,
        4096,
    )
    assert (one.flag, one.sys_flag, one.reconsume_times, one.prepared_transaction_offset) == (
        9,
        0,
        2,
        11,
    )
    assert (one.born_timestamp, one.store_timestamp) == (1_700_000_000_001, 1_700_000_000_002)
    assert (one.born_host, one.store_host) == ("10.0.0.1:50123", "10.0.0.1:10911")
    assert one.offset_msg_id == "0A000001" + "00002A9F" + "0000000000001000"
    assert (one.msg_id, one.unique_key, one.tags, one.keys) == (
        "AC11",
        "AC11",
        "paid",
        ["k1", "k2"],
    )
    assert (one.retry_topic, one.real_topic, one.store_size) == ("orders", "real", len(laid_out()))
    one.check_body()
    one.topic, one.reconsume_times = (
        "other",
        0,
    )  # a consumer puts the topic back that a retried message came from


def test_a_message_without_properties():
    [one] = decode_messages(laid_out(properties=b"", body=b""))
    assert (one.tags, one.keys, one.unique_key, one.retry_topic, one.properties) == (
        None,
        [],
        None,
        None,
        {},
    )
    assert one.msg_id == one.offset_msg_id
    assert one.body == b""


@pytest.mark.parametrize(
    ("born", "store"),
    [
        pytest.param(V6, V4, id="V6-V4"),
        pytest.param(V4, V6, id="V4-V6"),
        pytest.param(V6, V6, id="V6-V6"),
    ],
)
def test_hosts_of_either_kind(born, store):
    flag = 16 * (born is V6) | 32 * (store is V6)
    one, other = decode_messages(laid_out(sys_flag=flag, born=born, store=store) + laid_out())
    hosts = {V4: "10.0.0.1", V6: "[1:203:405:607:809:a0b:c0d:e0f]"}
    assert (one.born_host, one.store_host) == (f"{hosts[born]}:50123", f"{hosts[store]}:10911")
    assert len(one.offset_msg_id) == 2 * (len(store) + 12)
    assert other.body == b"42"


def test_long_topics_have_the_second_magic_code():
    topic = b"t" * 300
    [one] = decode_messages(laid_out(topic, magic=V2))
    assert one.topic == "t" * 300
    assert decode_messages(encode_message(one)) == [one]


MESSAGES = st.builds(
    Message,
    st.text(max_size=200, alphabet=st.characters(exclude_categories=["Cs"])), st.binary(max_size=50), st.binary(max_size=50),
    *[st.integers(-(1 << 31), (1 << 31) - 1), st.integers(-(1 << 63), (1 << 63) - 1), st.integers(-(1 << 63), (1 << 63) - 1)],
    sys_flag=st.sampled_from([0, 4, 8]),
)  # fmt: skip


@given(st.lists(MESSAGES, max_size=4))
def test_what_is_encoded_is_decoded(messages):
    found = decode_messages(b"".join(map(encode_message, messages)))
    assert list(map(encode_message, found)) == list(map(encode_message, messages))
    fields = (
        "topic",
        "raw_body",
        "raw_properties",
        "queue_id",
        "queue_offset",
        "commit_log_offset",
        "sys_flag",
    )
    assert all(
        getattr(a, x) == getattr(b, x) for a, b in zip(found, messages, strict=True) for x in fields
    )


def test_a_last_message_that_is_cut_is_left_out():
    whole = laid_out()
    ends = range(len(whole) + 1, 2 * len(whole))
    assert (
        [len(decode_messages((whole + whole)[:end])) for end in ends]
        == [1] * (len(whole) - 1)
        != []
    )
    for end in range(1, len(whole)):
        with pytest.raises(MessageError, match=f"the first message is cut: {end} bytes came"):
            decode_messages(whole[:end])


@pytest.mark.parametrize(
    ("damaged", "said"),
    [
        pytest.param(
            laid_out(magic=7),
            "byte 0 begins no message: its magic code is 7, not -626843481 or -626843477",
            id="magic code 7",
        ),
        pytest.param(
            laid_out(topic=b"\xff"),
            "the topic of the message at byte 0 is not UTF-8",
            id="topic not UTF-8",
        ),
        pytest.param(
            laid_out()[:84] + struct.pack(">i", -2) + laid_out()[88:],
            "has a body of -2 and a topic of",
            id="body of -2",
        ),
    ],
)
def test_what_is_no_message_is_an_error_wherever_it_stands(damaged, said):
    with pytest.raises(MessageError, match=said):
        decode_messages(damaged)
    with (
        pytest.raises(BodyError, match="answered PULL_MESSAGE with an unreadable body"),
        answer_of("10.0.0.1:1", "PULL_MESSAGE"),
    ):
        decode_messages(laid_out() + damaged)


@given(st.integers(0, 400), st.binary(min_size=1, max_size=8), st.integers(0, 5))
def test_damaged_bytes_are_read_or_refused(at, damage, n):
    data = bytearray(laid_out() * 2)
    data[at : at + len(damage)] = damage
    with suppress(MessageError):
        messages = decode_messages(bytes(data[: len(data) - n]))
        assert messages
        for one in messages:
            assert (
                isinstance(one.properties, dict) and one.msg_id and one.born_host and one.store_host
            )


@given(st.binary(max_size=80))
def test_properties_are_read_as_java_does(data):
    text = data.decode(errors="replace")
    found, at = {}, 0
    while at < len(text):  # string2messageProperties
        end = text.find("\2", at)
        end = len(text) if end < 0 else end
        if end - at >= 3:
            middle = text.find("\1", at)
            if at < middle < end - 1:
                found[text[at:middle]] = text[middle + 1 : end]
        at = end + 1
    assert module.read_properties(data) == found


@pytest.mark.parametrize("kind", [0, 3])
def test_bodies_that_zlib_compressed(kind):
    [one] = decode_messages(laid_out(body=zlib.compress(b"x" * 5000), sys_flag=1 | kind << 8))
    assert one.body == b"x" * 5000
    one.check_body()


@pytest.mark.parametrize(
    ("body", "flag", "said"),
    [
        pytest.param(gzip.compress(b"x", mtime=0), 1, "is not valid zlib", id="gzip"),
        pytest.param(
            zlib.compress(b"x" * 500)[:-5],
            1,
            "is not valid zlib: it is cut",
            id="zlib that is cut",
        ),
        pytest.param(b"", 1, "it is cut", id="empty"),
        pytest.param(b"x", 1 | 7 << 8, "compressed by an unknown method: 7", id="method 7"),
        pytest.param(
            b"x", 1 | 1 << 8, "compressed by LZ4; to read it, install the package lz4", id="LZ4"
        ),
        pytest.param(
            b"x",
            1 | 2 << 8,
            "compressed by Zstandard; to read it, install the package zstandard",
            id="Zstandard",
        ),
    ],
)
def test_a_body_that_cannot_be_read_is_an_error_of_that_message_alone(
    body, flag, said, monkeypatch
):
    for name in ("lz4", "lz4.frame", "zstandard"):
        monkeypatch.setitem(sys.modules, name, None)
    one, other = decode_messages(laid_out(body=body, sys_flag=flag) + laid_out())
    with pytest.raises(MessageError, match=said):
        _ = one.body
    assert other.body == b"42"


def test_packages_for_other_methods_are_used_if_they_are_there(monkeypatch):
    def decompressor(**_settings):
        return types.SimpleNamespace(stream_reader=lambda data: io.BytesIO(b"of zstandard"))

    lz4 = types.SimpleNamespace(decompress=lambda data, most: b"of lz4"[:most], eof=True)
    monkeypatch.setitem(sys.modules, "lz4", types.ModuleType("lz4"))
    monkeypatch.setitem(
        sys.modules, "lz4.frame", types.SimpleNamespace(LZ4FrameDecompressor=lambda: lz4)
    )
    monkeypatch.setitem(
        sys.modules, "zstandard", types.SimpleNamespace(ZstdDecompressor=decompressor)
    )
    found = decode_messages(laid_out(sys_flag=1 | 1 << 8) + laid_out(sys_flag=1 | 2 << 8))
    assert [one.body for one in found] == [b"of lz4", b"of zstandard"]


def test_a_small_body_does_not_become_a_large_one(monkeypatch):
    monkeypatch.setattr(module, "MAX_BODY", 1000)
    body, more = (zlib.compress(b"\0" * n) for n in (1000, 1001))
    one, other = decode_messages(laid_out(body=body, sys_flag=1) + laid_out(body=more, sys_flag=1))
    assert len(one.body) == 1000
    with pytest.raises(MessageError, match="more than 1000 bytes"):
        _ = other.body
    [bomb] = decode_messages(laid_out(body=zlib.compress(b"\0" * 50_000_000), sys_flag=1))
    tracemalloc.start()
    try:
        with pytest.raises(MessageError, match="more than 1000 bytes"):
            _ = bomb.body
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_a_checksum_that_is_wrong():
    [one] = decode_messages(laid_out(crc=5))
    with pytest.raises(MessageError, match="the body of message 0A0000"):
        one.check_body()


def inner(body, properties=b""):
    size = 22 + len(body) + len(properties)
    return (
        struct.pack(">iiiii", size, 0, 0, 9, len(body))
        + body
        + struct.pack(">h", len(properties))
        + properties
    )


@pytest.mark.parametrize("is_compressed", [False, True])
def test_a_batch_is_the_messages_in_it(is_compressed):
    body = inner(b"1", b"TAGS\x01a\x02") + inner(b"22")
    body = zlib.compress(body) if is_compressed else body
    first, second, last = decode_messages(
        laid_out(body=body, sys_flag=192 | is_compressed) + laid_out()
    )
    assert [(one.body, one.queue_offset, one.tags) for one in (first, second)] == [
        (b"1", 77, "a"),
        (b"22", 78, None),
    ]
    assert first.topic == "orders" and first.sys_flag == 0 and last.body == b"42"
    first.check_body()


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"x", id="one byte"),
        pytest.param(inner(b"1")[:-1], id="cut"),
        pytest.param(struct.pack(">iiiii", 22, 0, 0, 0, -4) + b"\0" * 8, id="body of -4"),
    ],
)
def test_a_batch_of_something_else_is_an_error(body):
    with pytest.raises(
        MessageError, match=r"the batch 0A000001.* contains bytes that are not messages"
    ):
        decode_messages(laid_out(body=body, sys_flag=192))


def test_a_batch_that_cannot_be_decompressed_stays_one_message():
    [one] = decode_messages(laid_out(body=b"x", sys_flag=192 | 1))
    with pytest.raises(MessageError):
        _ = one.body


def test_tags_are_compared_as_text():
    """``Aa`` and ``BB`` have one hash, by which brokers compare."""
    found = decode_messages(
        b"".join(laid_out(properties=f"TAGS\1{tag}\2".encode()) for tag in ("Aa", "BB", "C"))
        + laid_out()
    )
    wanted = SubscriptionData("orders", "Aa || C")
    assert SubscriptionData("orders", "Aa").codes == SubscriptionData("orders", "BB").codes
    assert [one.tags for one in tagged(found, wanted.tags)] == ["Aa", "C"]
    assert tagged(found, SubscriptionData("orders").tags) == found
