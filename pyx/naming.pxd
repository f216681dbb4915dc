# Names as numbers, text by text: for columns of names in names.pyx, and for one group of objects in
# plain_group.pxd. Texts are UTF-8, lone surrogates in their 3-byte form.

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memchr, memcmp
from typedefs cimport byte_t, hash_t, index_t, offset_t

cdef extern from "mix.h" nogil:
    const uint64_t RMQ_GOLDEN
    uint64_t rmq_mix(uint64_t z)


# Bytes of the character that begins here; what is cut off counts byte by byte.
cdef inline offset_t size_of(const byte_t *text, offset_t n) noexcept nogil:
    cdef offset_t size = 1 if text[0] < 0xC0 else 2 if text[0] < 0xE0 else 3 if text[0] < 0xF0 else 4
    return size if size <= n else 1


# String.hashCode of a text, over its UTF-16 code units. ASCII goes four at a time, for each step
# waits for the one before.
cdef inline hash_t hash_of(const byte_t *at, const byte_t *end) noexcept nogil:
    cdef hash_t hashed = 0, code
    cdef offset_t size, i
    while at < end:
        while at + 4 <= end and (at[0] | at[1] | at[2] | at[3]) < 0x80:
            hashed = (hashed * <hash_t> (31 * 31 * 31 * 31) + at[0] * <hash_t> (31 * 31 * 31) + at[1] * <hash_t> (31 * 31)
                      + at[2] * <hash_t> 31 + at[3])
            at += 4
        while at < end and at[0] < 0x80:
            hashed = hashed * 31 + at[0]
            at += 1
        if at == end:
            break
        size = size_of(at, end - at)
        code = at[0] if size == 1 else at[0] & (0xFF >> (size + 1))
        for i in range(1, size):
            code = code << 6 | (at[i] & 0x3F)
        if code >= 0x10000:  # Java counts its two halves
            hashed = hashed * 31 + (0xD800 + ((code - 0x10000) >> 10))
            code = 0xDC00 + (code & 0x3FF)
        hashed = hashed * 31 + code
        at += size
    return hashed


# The hash as Java widens it.
cdef inline uint64_t wide(hash_t hashed) noexcept nogil:
    return <uint64_t> <int64_t> <index_t> hashed


# The number of a text alone, of which a client has the upper half.
cdef inline hash_t number_of(const byte_t *at, const byte_t *end) noexcept nogil:
    return <hash_t> (rmq_mix(wide(hash_of(at, end)) + RMQ_GOLDEN) >> 32)


# What the numbers of all queues of a route are mixed from.
cdef inline uint64_t route_number(hash_t topic, hash_t broker) noexcept nogil:
    return rmq_mix(wide(topic)) + (wide(broker) << 32)


cdef inline uint64_t queue_number(uint64_t of_route, index_t queue_id) noexcept nogil:
    return rmq_mix(of_route + <uint32_t> queue_id)


# Whether a stretch ends in a text.
cdef inline bint ends_in(const byte_t *begin, const byte_t *end, const byte_t *text, offset_t n) noexcept nogil:
    return end - begin >= n and (n == 0 or memcmp(end - n, text, n) == 0)


# The number between two texts that the instance name of a client id ends in, -1 without one; nine
# digits at most.
cdef inline index_t slot_in(const byte_t *text, offset_t n, const byte_t *before, offset_t n_before, const byte_t *after,
                            offset_t n_after) noexcept nogil:
    cdef const byte_t *begin = <const byte_t *> memchr(text, c"@", n) if n else NULL
    cdef const byte_t *stop
    cdef const byte_t *first
    cdef index_t slot = 0
    if begin == NULL:
        return -1
    begin += 1
    stop = <const byte_t *> memchr(begin, c"@", text + n - begin)
    if stop == NULL:
        stop = text + n
    if not ends_in(begin, stop, after, n_after):
        return -1
    stop -= n_after
    first = stop
    while first > begin and c"0" <= (first - 1)[0] <= c"9":
        first -= 1
    if not (0 < stop - first <= 9 and (stop - first == 1 or first[0] != c"0") and ends_in(begin, first, before, n_before)):
        return -1
    while first < stop:
        slot = slot * 10 + (first[0] - c"0")
        first += 1
    return slot
