# Names as numbers, over columns: Java's hash of texts, slots of client ids, numbers of queues.
#
# >>> values, offsets = np.frombuffer(b"c1c2", np.uint8), np.array([0, 2, 4])
# >>> hashes = np.empty(2, np.int32)
# >>> names.hash_names(values, offsets, hashes)
# >>> hashes
# array([3118, 3119], dtype=int32)

from libc.stdint cimport uint64_t

from naming cimport hash_of, number_of, queue_number, route_number, slot_in
from typedefs cimport byte_t, hash_t, index_t, offset_t

# As wide as the array they are written to, which gets their upper bits.
ctypedef fused number_t:
    unsigned long long
    hash_t


# Where a column begins; an empty one has no place that a build with bounds checks would let be
# named.
cdef inline const byte_t *begin_of(const byte_t[::1] values) noexcept nogil:
    return &values[0] if values.shape[0] else NULL


def hash_names(const byte_t[::1] values not None, const offset_t[::1] offsets not None, index_t[::1] out not None):
    """Java's hash of each text."""
    cdef const byte_t *texts = begin_of(values)
    cdef Py_ssize_t i
    with nogil:
        for i in range(out.shape[0]):
            out[i] = <index_t> hash_of(texts + offsets[i], texts + offsets[i + 1])


def number_names(const byte_t[::1] values not None, const offset_t[::1] offsets not None, hash_t[::1] out not None):
    """The upper half of a number for each text, mixed from its hash."""
    cdef const byte_t *texts = begin_of(values)
    cdef Py_ssize_t i
    with nogil:
        for i in range(out.shape[0]):
            out[i] = number_of(texts + offsets[i], texts + offsets[i + 1])


def find_slots(const byte_t[::1] values not None, const offset_t[::1] offsets not None, const byte_t[::1] before not None,
               const byte_t[::1] after not None, index_t[::1] out not None):
    """The number between ``before`` and ``after`` that each instance name ends in, -1 without one."""
    cdef const byte_t *texts = begin_of(values)
    cdef Py_ssize_t i
    with nogil:
        for i in range(out.shape[0]):
            out[i] = slot_in(texts + offsets[i], offsets[i + 1] - offsets[i], begin_of(before), before.shape[0], begin_of(after),
                             after.shape[0])


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
            of_route = route_number(<hash_t> topic_hashes[route_topic[route]], <hash_t> broker_hashes[route_broker[route]])
            for queue in range(route_offsets[route], route_offsets[route + 1]):
                out[queue - first] = <number_t> (queue_number(of_route, queue_ids[queue]) >> unwanted)
