# Hashes of the consistent hash ring: the first 32 bits of MD5 (RFC 1321) for many short keys,
# biggest byte first.
#
# Two points of each of two client ids, of the texts c1-0, c1-1, c2-0 and c2-1:
#
# >>> values, offsets = np.frombuffer(b"c1c2", np.uint8), np.array([0, 2, 4])
# >>> points = np.empty(4, np.uint32)
# >>> md5.points(values, offsets, 0, 2, None, 2, points)
# >>> points
# array([3886541579, 1895315590,  830676049,  198527331], dtype=uint32)

from libc.math cimport sin
from libc.stdint cimport int64_t

from typedefs cimport byte_t, hash_t, index_t, offset_t

include "isa.pxi"


cdef extern from "vector/md5.h" nogil:
    ctypedef struct rmq_md5_t:
        void (*points)(const byte_t *values, const int64_t *offsets, int64_t first, int64_t last, const index_t *starts,
                       index_t v, hash_t *out) noexcept nogil
        void (*queues)(const byte_t *topic_values, const int64_t *topic_offsets, const byte_t *broker_values,
                       const int64_t *broker_offsets, const index_t *route_topic, const index_t *route_broker,
                       const int64_t *route_offsets, int64_t first_route, int64_t last_route, const index_t *queue_ids,
                       hash_t *out) noexcept nogil
        void (*strings)(const byte_t *values, const int64_t *offsets, int64_t first, int64_t last, hash_t *out) noexcept nogil
        void (*bare)(const hash_t *blocks, int64_t n_groups, hash_t *out) noexcept nogil
    const rmq_md5_t *rmq_md5(int64_t n_keys)


# ---- MD5 of a key ----

# A key that is being hashed: the state after its whole blocks, and the bytes of the block that it
# has begun.
cdef struct key_t:
    hash_t state[4]
    byte_t block[64]
    offset_t length

cdef key_t BEGINNING
BEGINNING.state[:] = [0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476]
BEGINNING.length = 0

cdef hash_t[64] SINES
cdef int step_of_sines
for step_of_sines in range(64):
    SINES[step_of_sines] = <hash_t> <long long> (4294967296 * abs(sin(step_of_sines + 1)))


cdef inline hash_t turned(hash_t word, int bits) noexcept nogil:
    return word << bits | word >> (32 - bits)


# The 64 steps over one block of sixteen words.
cdef inline void compress(hash_t *state, const hash_t *words) noexcept nogil:
    cdef hash_t a = state[0], b = state[1], c = state[2], d = state[3]
    cdef int i
    for i in range(0, 16, 4):
        a = b + turned(a + (d ^ (b & (c ^ d))) + words[i] + SINES[i], 7)
        d = a + turned(d + (c ^ (a & (b ^ c))) + words[i + 1] + SINES[i + 1], 12)
        c = d + turned(c + (b ^ (d & (a ^ b))) + words[i + 2] + SINES[i + 2], 17)
        b = c + turned(b + (a ^ (c & (d ^ a))) + words[i + 3] + SINES[i + 3], 22)
    for i in range(16, 32, 4):
        a = b + turned(a + (c ^ (d & (b ^ c))) + words[(5 * i + 1) % 16] + SINES[i], 5)
        d = a + turned(d + (b ^ (c & (a ^ b))) + words[(5 * i + 6) % 16] + SINES[i + 1], 9)
        c = d + turned(c + (a ^ (b & (d ^ a))) + words[(5 * i + 11) % 16] + SINES[i + 2], 14)
        b = c + turned(b + (d ^ (a & (c ^ d))) + words[5 * i % 16] + SINES[i + 3], 20)
    for i in range(32, 48, 4):
        a = b + turned(a + (b ^ c ^ d) + words[(3 * i + 5) % 16] + SINES[i], 4)
        d = a + turned(d + (a ^ b ^ c) + words[(3 * i + 8) % 16] + SINES[i + 1], 11)
        c = d + turned(c + (d ^ a ^ b) + words[(3 * i + 11) % 16] + SINES[i + 2], 16)
        b = c + turned(b + (c ^ d ^ a) + words[(3 * i + 14) % 16] + SINES[i + 3], 23)
    for i in range(48, 64, 4):
        a = b + turned(a + (c ^ (b | ~d)) + words[7 * i % 16] + SINES[i], 6)
        d = a + turned(d + (b ^ (a | ~c)) + words[(7 * i + 7) % 16] + SINES[i + 1], 10)
        c = d + turned(c + (a ^ (d | ~b)) + words[(7 * i + 14) % 16] + SINES[i + 2], 15)
        b = c + turned(b + (d ^ (c | ~a)) + words[(7 * i + 5) % 16] + SINES[i + 3], 21)
    state[0] += a
    state[1] += b
    state[2] += c
    state[3] += d


cdef inline void compress_block(key_t *key) noexcept nogil:
    cdef hash_t words[16]
    cdef int i
    for i in range(16):
        words[i] = (<hash_t> key.block[4 * i] | <hash_t> key.block[4 * i + 1] << 8 | <hash_t> key.block[4 * i + 2] << 16
                    | <hash_t> key.block[4 * i + 3] << 24)
    compress(key.state, words)


cdef inline void add(key_t *key, byte_t byte) noexcept nogil:
    key.block[key.length % 64] = byte
    key.length += 1
    if key.length % 64 == 0:
        compress_block(key)


cdef inline void add_text(key_t *key, const char *text) noexcept nogil:
    while text[0]:
        add(key, <byte_t> text[0])
        text += 1


cdef inline void add_string(key_t *key, const byte_t[::1] values, offset_t first, offset_t end) noexcept nogil:
    cdef offset_t i
    for i in range(first, end):
        add(key, values[i])


cdef inline void add_number(key_t *key, index_t number) noexcept nogil:
    cdef hash_t rest = number if number >= 0 else -<hash_t> number
    cdef byte_t digits[10]
    cdef int n = 0
    if number < 0:
        add(key, c"-")
    while n == 0 or rest:
        digits[n] = <byte_t> (c"0" + rest % 10)
        rest //= 10
        n += 1
    while n:
        n -= 1
        add(key, digits[n])


# The end mark, zeros, and the length in bits; then the first word of the state, its bytes the other
# way round.
cdef inline hash_t hash_of(key_t *key) noexcept nogil:
    cdef offset_t bits = 8 * key.length
    cdef int i
    add(key, 0x80)
    if key.length % 64 > 56:
        for i in range(key.length % 64, 64):
            add(key, 0)
    for i in range(key.length % 64, 56):
        key.block[i] = 0
    for i in range(8):
        key.block[56 + i] = <byte_t> (bits >> 8 * i)
    compress_block(key)
    return swapped(key.state[0])


cdef inline hash_t swapped(hash_t word) noexcept nogil:
    return word << 24 | (word & 0xFF00) << 8 | (word >> 8 & 0xFF00) | word >> 24


# ---- many keys ----

# The first element's place, also for an empty view (which has none to point at).
cdef inline const byte_t *bytes_of(const byte_t[::1] view) noexcept nogil:
    return &view[0] if view.shape[0] else NULL


cdef inline const index_t *indices_of(const index_t[::1] view) noexcept nogil:
    return &view[0] if view is not None and view.shape[0] else NULL


# offset_t is long long; C's int64_t may be long: the same bits, but another type.
cdef inline const int64_t *offsets_of(const offset_t[::1] view) noexcept nogil:
    return <const int64_t *>&view[0]


cdef inline hash_t *hashes_of(hash_t[::1] view) noexcept nogil:
    return &view[0] if view.shape[0] else NULL


def points(
    const byte_t[::1] values not None,
    const offset_t[::1] offsets not None,
    offset_t first,
    offset_t last,
    const index_t[::1] starts,
    index_t virtual_nodes,
    hash_t[::1] out not None,
):
    cdef const rmq_md5_t *level = rmq_md5((last - first) * virtual_nodes)
    cdef key_t prefix, key
    cdef offset_t i, k
    with nogil:
        if level:
            level.points(bytes_of(values), offsets_of(offsets), first, last, indices_of(starts), virtual_nodes, hashes_of(out))
        else:
            for i in range(first, last):
                prefix = BEGINNING
                add_string(&prefix, values, offsets[i], offsets[i + 1])
                add(&prefix, c"-")
                for k in range(virtual_nodes):
                    key = prefix
                    add_number(&key, <index_t> (k + (starts[i] if starts is not None else 0)))
                    out[(i - first) * virtual_nodes + k] = hash_of(&key)


def queues(
    const byte_t[::1] topic_values not None,
    const offset_t[::1] topic_offsets not None,
    const byte_t[::1] broker_values not None,
    const offset_t[::1] broker_offsets not None,
    const index_t[::1] route_topic not None,
    const index_t[::1] route_broker not None,
    const offset_t[::1] route_offsets not None,
    offset_t first_route,
    offset_t last_route,
    const index_t[::1] queue_ids not None,
    hash_t[::1] out not None,
):
    cdef offset_t route, i, begin = route_offsets[first_route] if first_route < last_route else 0
    cdef const rmq_md5_t *level = rmq_md5(route_offsets[last_route] - begin if first_route < last_route else 0)
    cdef key_t prefix, key
    with nogil:
        if level:
            level.queues(
                bytes_of(topic_values), offsets_of(topic_offsets), bytes_of(broker_values), offsets_of(broker_offsets),
                indices_of(route_topic), indices_of(route_broker), offsets_of(route_offsets),
                first_route, last_route, indices_of(queue_ids), hashes_of(out),
            )
        else:
            for route in range(first_route, last_route):
                prefix = BEGINNING
                add_text(&prefix, "MessageQueue [topic=")
                add_string(&prefix, topic_values, topic_offsets[route_topic[route]], topic_offsets[route_topic[route] + 1])
                add_text(&prefix, ", brokerName=")
                add_string(&prefix, broker_values, broker_offsets[route_broker[route]], broker_offsets[route_broker[route] + 1])
                add_text(&prefix, ", queueId=")
                for i in range(route_offsets[route], route_offsets[route + 1]):
                    key = prefix
                    add_number(&key, queue_ids[i])
                    add(&key, c"]")
                    out[i - begin] = hash_of(&key)


def strings(
    const byte_t[::1] values not None,
    const offset_t[::1] offsets not None,
    offset_t first,
    offset_t last,
    hash_t[::1] out not None,
):
    cdef const rmq_md5_t *level = rmq_md5(last - first)
    cdef key_t key
    cdef offset_t i
    with nogil:
        if level:
            level.strings(bytes_of(values), offsets_of(offsets), first, last, hashes_of(out))
        else:
            for i in range(first, last):
                key = BEGINNING
                add_string(&key, values, offsets[i], offsets[i + 1])
                out[i - first] = hash_of(&key)


def bare(const hash_t[:, :, ::1] blocks not None, hash_t[:, ::1] out not None):
    cdef const rmq_md5_t *level = rmq_md5(out.shape[0] * out.shape[1])
    cdef hash_t words[16]
    cdef key_t key
    cdef offset_t group, message, word
    with nogil:
        if level:
            level.bare(&blocks[0, 0, 0], blocks.shape[0], &out[0, 0])
        else:
            for group in range(blocks.shape[0]):
                for message in range(blocks.shape[2]):
                    for word in range(16):
                        words[word] = blocks[group, word, message]
                    key = BEGINNING
                    compress(key.state, words)
                    out[group, message] = swapped(key.state[0])
