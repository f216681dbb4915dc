# Names as numbers: Java's hash of texts, slots of client ids, numbers of queues. Texts are UTF-8, lone surrogates in their 3-byte form.

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memchr

from typedefs cimport byte_t, hash_t, index_t, offset_t

# As wide as the array they are written to, which gets their upper bits.
ctypedef fused number_t:
    unsigned long long
    hash_t

cdef enum:
    MOST_DIGITS = 9


cdef extern from "mix.h" nogil:
    const uint64_t RMQ_GOLDEN
    uint64_t rmq_mix(uint64_t z)


# Bytes of the character that begins here; what is cut off counts byte by byte.
cdef inline offset_t size_of(const byte_t[::1] values, offset_t at, offset_t end) noexcept nogil:
    cdef offset_t size = 1 if values[at] < 0xC0 else 2 if values[at] < 0xE0 else 3 if values[at] < 0xF0 else 4
    return size if size <= end - at else 1


# String.hashCode of a text, over its UTF-16 code units. ASCII goes four at a time, for each step waits for the one before.
cdef inline hash_t hash_of(const byte_t[::1] values, offset_t at, offset_t end) noexcept nogil:
    cdef hash_t hashed = 0, code
    cdef offset_t size, i
    while at < end:
        while at + 4 <= end and (values[at] | values[at + 1] | values[at + 2] | values[at + 3]) < 0x80:
            hashed = (hashed * <hash_t> (31 * 31 * 31 * 31) + values[at] * <hash_t> (31 * 31 * 31)
                      + values[at + 1] * <hash_t> (31 * 31) + values[at + 2] * <hash_t> 31 + values[at + 3])
            at += 4
        while at < end and values[at] < 0x80:
            hashed = hashed * 31 + values[at]
            at += 1
        if at == end:
            break
        size = size_of(values, at, end)
        code = values[at] if size == 1 else values[at] & (0xFF >> (size + 1))
        for i in range(at + 1, at + size):
            code = code << 6 | (values[i] & 0x3F)
        if code >= 0x10000:  # Java counts its two halves
            hashed = hashed * 31 + (0xD800 + ((code - 0x10000) >> 10))
            code = 0xDC00 + (code & 0x3FF)
        hashed = hashed * 31 + code
        at += size
    return hashed


def hash_names(const byte_t[::1] values not None, const offset_t[::1] offsets not None, index_t[::1] out not None):
    """Java's hash of each text."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(out.shape[0]):
            out[i] = <index_t> hash_of(values, offsets[i], offsets[i + 1])


def number_names(const byte_t[::1] values not None, const offset_t[::1] offsets not None, hash_t[::1] out not None):
    """The upper half of a number for each text, mixed from its hash."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(out.shape[0]):
            out[i] = <hash_t> (rmq_mix(<uint64_t> <int64_t> <index_t> hash_of(values, offsets[i], offsets[i + 1]) + RMQ_GOLDEN) >> 32)


# Where a byte stands first, the end without it.
cdef inline offset_t find(const byte_t[::1] values, byte_t byte, offset_t at, offset_t end) noexcept nogil:
    cdef const byte_t *found = <const byte_t *> memchr(&values[at], byte, end - at) if at < end else NULL
    return found - &values[0] if found else end


# Whether a stretch ends in a text.
cdef inline bint ends_in(const byte_t[::1] values, offset_t begin, offset_t end, const byte_t[:] text) noexcept nogil:
    cdef offset_t i, n = text.shape[0]
    if end - begin < n:
        return False
    for i in range(n):
        if values[end - n + i] != text[i]:
            return False
    return True


def find_slots(const byte_t[::1] values not None, const offset_t[::1] offsets not None, const byte_t[:] before not None,
               const byte_t[:] after not None, index_t[::1] out not None):
    """The number between ``before`` and ``after`` that each instance name ends in, -1 without one."""
    cdef Py_ssize_t i
    cdef offset_t begin, first, stop
    with nogil:
        for i in range(out.shape[0]):
            out[i] = -1
            begin = find(values, c"@", offsets[i], offsets[i + 1]) + 1
            if begin > offsets[i + 1]:
                continue
            stop = find(values, c"@", begin, offsets[i + 1])
            if not ends_in(values, begin, stop, after):
                continue
            stop -= after.shape[0]
            first = stop
            while first > begin and c"0" <= values[first - 1] <= c"9":
                first -= 1
            if (0 < stop - first <= MOST_DIGITS and (stop - first == 1 or values[first] != c"0")
                    and ends_in(values, begin, first, before)):
                out[i] = 0
                for first in range(first, stop):
                    out[i] = out[i] * 10 + (values[first] - c"0")


def number_queues(const index_t[::1] topic_hashes not None, const index_t[::1] broker_hashes not None,
                  const index_t[::1] route_topic not None, const index_t[::1] route_broker not None,
                  const offset_t[::1] route_offsets not None, const index_t[::1] queue_ids not None, offset_t first,
                  number_t[::1] out not None):
    """A number for every queue of some routes, mixed from the hashes of its names and its id; of 32 bits the upper ones."""
    cdef int unwanted = 64 - 8 * sizeof(number_t)
    cdef Py_ssize_t route
    cdef offset_t queue
    cdef uint64_t of_route
    with nogil:
        for route in range(route_topic.shape[0]):
            of_route = (rmq_mix(<uint64_t> <int64_t> topic_hashes[route_topic[route]])
                        + (<uint64_t> <int64_t> broker_hashes[route_broker[route]] << 32))
            for queue in range(route_offsets[route], route_offsets[route + 1]):
                out[queue - first] = <number_t> (rmq_mix(of_route + <uint32_t> queue_ids[queue]) >> unwanted)
