"""The MD5 kernels against hashlib, once for every instruction set of this machine."""

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from instruction_sets import isas_of
from numpy.typing import NDArray

from rmqalloc._engine import md5

MIN, MAX = -(2**31), 2**31 - 1
RANDOM = np.random.default_rng(20240601)


def column(strings: Sequence[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Lay byte strings end to end as values and offsets."""
    offsets = np.cumsum([0, *map(len, strings)], dtype=np.int64)
    return np.frombuffer(b"".join(strings), dtype=np.uint8), offsets


def truth(keys: Sequence[bytes]) -> NDArray[np.uint32]:
    """Hash keys one by one with hashlib."""
    return np.array(
        [int.from_bytes(hashlib.md5(key).digest()[:4], "big") for key in keys], dtype=np.uint32
    )


def word(length: int) -> bytes:
    """Make up a random string."""
    return RANDOM.integers(32, 127, length, dtype=np.uint8).tobytes()


def hash_points(
    ids: Sequence[bytes], v: int, starts: Sequence[int] | None = None
) -> NDArray[np.uint32]:
    """Call the kernel on whole columns."""
    out = np.zeros(len(ids) * v, dtype=np.uint32)
    md5.points(
        *column(ids),
        0,
        len(ids),
        None if starts is None else np.array(starts, dtype=np.int32),
        v,
        out,
    )
    return out


def hash_queues(routes: Sequence[tuple[bytes, bytes, Sequence[int]]]) -> NDArray[np.uint32]:
    """Call the kernel with one topic and one broker per route."""
    topics, brokers, lists = zip(*routes, strict=True) if routes else ((), (), ())
    each = np.arange(len(routes), dtype=np.int32)
    offsets = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    queue_ids = np.array([i for ids in lists for i in ids], dtype=np.int32)
    out = np.zeros(len(queue_ids), dtype=np.uint32)
    md5.queues(
        *column(topics), *column(brokers), each, each, offsets, 0, len(routes), queue_ids, out
    )
    return out


def point_keys(ids: Sequence[bytes], v: int, starts: Sequence[int] | None = None) -> list[bytes]:
    """Write out the keys of ``hash_points``."""
    return [
        b"%b-%d" % (id_, s + k)
        for id_, s in zip(ids, starts or [0] * len(ids), strict=True)
        for k in range(v)
    ]


def queue_keys(routes: Sequence[tuple[bytes, bytes, Sequence[int]]]) -> list[bytes]:
    """Write out the keys of ``hash_queues``."""
    return [
        b"MessageQueue [topic=%b, brokerName=%b, queueId=%d]" % (t, b, n)
        for t, b, ids in routes
        for n in ids
    ]


isa = isas_of(md5, autouse=True)


def test_values_computed_by_java() -> None:
    assert hash_points([b"c1"], 1).tolist() == [3886541579]
    assert hash_points([b"10.0.0.1@1"], 10)[9] == 1910767523
    assert hash_points(["\N{LATIN SMALL LETTER E WITH ACUTE}".encode()], 1).tolist() == [795419618]
    assert hash_points(["\N{GRINNING FACE}".encode()], 1).tolist() == [1552967531]
    assert hash_points([b"?"], 1).tolist() == [118126210]
    assert hash_queues([(b"TopicTest", b"broker-a", [3])]).tolist() == [3652785994]


def test_strings_of_every_length_up_to_200() -> None:
    strings = [word(length) for length in range(201)]
    out = np.zeros(201, dtype=np.uint32)
    md5.strings(*column(strings), 0, 201, out)
    np.testing.assert_array_equal(out, truth(strings))


@pytest.mark.parametrize("v", [1, 2, 3, 10, 16, 17, 160])
def test_points_of_ids_of_every_length_up_to_200(v: int) -> None:
    ids = [word(length) for length in range(201)]
    np.testing.assert_array_equal(hash_points(ids, v), truth(point_keys(ids, v)))


@pytest.mark.parametrize("v", [1, 10, 48, 100])
def test_points_of_ids_of_mixed_lengths(v: int) -> None:
    ids = [
        word(int(length))
        for length in RANDOM.choice([0, 5, 33, 38, 52, 53, 54, 61, 63, 64, 119, 130, 500], 300)
    ]
    np.testing.assert_array_equal(hash_points(ids, v), truth(point_keys(ids, v)))


def test_points_continue_the_numbering() -> None:
    starts = [0, 7, 95, 990, 9_990, 99_999, 123_456_789, MAX - 19, -5, -100, MIN] * 20
    ids = [word(int(length)) for length in RANDOM.integers(0, 80, len(starts))]
    np.testing.assert_array_equal(hash_points(ids, 20, starts), truth(point_keys(ids, 20, starts)))


def test_many_virtual_nodes() -> None:
    ids = [word(33), word(57)]
    np.testing.assert_array_equal(hash_points(ids, 12_345), truth(point_keys(ids, 12_345)))


def test_nothing_to_do() -> None:
    hash_points([], 10)
    hash_points([b"a", b"b"], 0)
    hash_queues([])
    hash_queues([(b"t", b"b", []), (b"t", b"c", [])])
    md5.strings(*column([b"a"]), 1, 1, np.zeros(0, dtype=np.uint32))


@pytest.mark.thorough(keep=1)
def test_huge_strings() -> None:
    ids = [word(33), bytes(10_000_000), word(4_000), word(12)]
    np.testing.assert_array_equal(hash_points(ids, 12), truth(point_keys(ids, 12)))
    routes = [(ids[0], ids[1], [1, 2]), (ids[2], ids[3], [3]), (ids[3], ids[0], range(5))]
    np.testing.assert_array_equal(hash_queues(routes), truth(queue_keys(routes)))


def test_queues_of_names_of_every_length() -> None:
    routes = [(word(t), word(b), range(8)) for t in range(0, 90, 3) for b in (0, 1, 8, 9, 30)]
    np.testing.assert_array_equal(hash_queues(routes), truth(queue_keys(routes)))


def test_queue_ids_of_every_width() -> None:
    widths = [0, 9, 10, 99, 100, 999, 1000, 9999, 10_000, 10**6, 10**9, MAX, -1, -10, -(10**9), MIN]
    routes = [
        (word(t), b"broker-a", RANDOM.permutation(widths)[: t % 17].tolist()) for t in range(100)
    ]
    np.testing.assert_array_equal(hash_queues(routes), truth(queue_keys(routes)))


def test_routes_share_topics_and_brokers() -> None:
    topics, brokers = (
        [word(int(n)) for n in RANDOM.integers(1, 60, 7)],
        [word(int(n)) for n in RANDOM.integers(1, 30, 5)],
    )
    topic, broker = (RANDOM.integers(0, n, 400, dtype=np.int32) for n in (7, 5))
    offsets = np.cumsum([0, *RANDOM.integers(0, 20, 400)], dtype=np.int64)
    queue_ids = RANDOM.integers(0, 2000, offsets[-1], dtype=np.int32)
    routes = [
        (topics[t], brokers[b], queue_ids[low:high].tolist())
        for t, b, low, high in zip(topic, broker, offsets[:-1], offsets[1:], strict=True)
    ]
    want = truth(queue_keys(routes))
    for first, last in [(0, 400), (13, 399), (399, 400), (200, 200)]:
        out = np.zeros(offsets[last] - offsets[first], dtype=np.uint32)
        md5.queues(
            *column(topics), *column(brokers), topic, broker, offsets, first, last, queue_ids, out
        )
        np.testing.assert_array_equal(out, want[offsets[first] : offsets[last]])


@pytest.mark.parametrize("n_topic", [*range(0, 40, 3), 31, 32, *range(60, 140, 5), 84, 86, 300])
def test_routes_of_one_topic_follow_each_other(n_topic: int) -> None:
    topics, brokers = (
        [word(n_topic), word(7), word(n_topic)],
        [word(n) for n in (0, 1, 9, 21, 40, 60, 64, 90)],
    )
    topic, broker = (
        np.repeat(np.arange(3, dtype=np.int32), 8),
        np.tile(np.arange(8, dtype=np.int32), 3),
    )
    offsets, queue_ids = (
        np.arange(25, dtype=np.int64) * 4,
        np.tile(np.arange(4, dtype=np.int32), 24),
    )
    out = np.zeros(96, dtype=np.uint32)
    md5.queues(*column(topics), *column(brokers), topic, broker, offsets, 0, 24, queue_ids, out)
    routes = [(topics[t], brokers[b], range(4)) for t, b in zip(topic, broker, strict=True)]
    np.testing.assert_array_equal(out, truth(queue_keys(routes)))


@pytest.mark.parametrize("n_keys", [48, 64, 504, 512, 513, 1008, 1024])
@pytest.mark.parametrize("each", [1, 3, 4, 8])
def test_whole_groups_of_lanes_are_read_and_written_in_place(n_keys: int, each: int) -> None:
    topic, offsets = word(20), np.append(np.arange(0, n_keys, each), n_keys).astype(np.int64)
    zeros = np.zeros(offsets.size - 1, dtype=np.int32)
    numbers, out = (
        RANDOM.integers(0, 9, n_keys + 1, dtype=np.int32),
        np.full(n_keys + 33, 0xDEADBEEF, dtype=np.uint32),
    )
    columns = (*column([topic]), *column([b"b"]), zeros, zeros, offsets, 0, zeros.size)
    md5.queues(*columns, numbers[1:], out[1:-32])
    np.testing.assert_array_equal(
        out[1:-32], truth(queue_keys([(topic, b"b", numbers[1:].tolist())]))
    )
    np.testing.assert_array_equal(np.append(out[:1], out[-32:]), 0xDEADBEEF)


def test_a_range_of_ids_and_nothing_beside_it() -> None:
    ids = [word(int(n)) for n in RANDOM.integers(0, 70, 100)]
    starts = RANDOM.integers(0, 1000, 100, dtype=np.int32)
    out = np.full(60 * 7 + 32, 0xDEADBEEF, dtype=np.uint32)
    md5.points(*column(ids), 20, 80, starts, 7, out[16:-16])
    np.testing.assert_array_equal(
        out[16:-16], truth(point_keys(ids[20:80], 7, starts[20:80].tolist()))
    )
    np.testing.assert_array_equal(np.append(out[:16], out[-16:]), 0xDEADBEEF)


def test_many_calls_at_once() -> None:
    ids = [word(int(n)) for n in RANDOM.integers(0, 150, 3000)]
    columns, out, want = column(ids), np.zeros(30_000, dtype=np.uint32), truth(point_keys(ids, 10))
    with ThreadPoolExecutor(4) as pool:
        for done in [
            pool.submit(
                md5.points,
                *columns,
                first,
                first + 100,
                None,
                10,
                out[10 * first : 10 * first + 1000],
            )
            for first in range(0, 3000, 100)
        ]:
            done.result()
    np.testing.assert_array_equal(out, want)


@pytest.mark.parametrize("offset", [0, 4])
def test_bare_rounds(offset: int) -> None:
    messages = [word(40) for _ in range(2 * 192)]
    padded = np.array(
        [np.frombuffer(m.ljust(64, b"\0"), dtype="<u4") for m in messages], dtype=np.uint32
    )
    padded[:, 10], padded[:, 14] = 0x80, 40 * 8
    memory = np.zeros(2 * 16 * 192 + offset, dtype=np.uint32)
    blocks, out = memory[offset:].reshape(2, 16, 192), np.zeros((2, 192), dtype=np.uint32)
    blocks[:] = padded.reshape(2, 192, 16).transpose(0, 2, 1)
    md5.bare(blocks, out)
    np.testing.assert_array_equal(out.ravel(), truth(messages))
