# Names as numbers: Java's hash of texts, slots of client ids, numbers of queues. The loops over text are in names_core.c.

from libc.stdint cimport int64_t, uint32_t, uint64_t

from typedefs cimport byte_t, hash_t, index_t, offset_t

# As wide as the array they are written to, which gets their upper bits.
ctypedef fused number_t:
    unsigned long long
    hash_t


cdef extern from "names.h" nogil:
    void rmq_hash_names(const byte_t *values, const int64_t *offsets, int64_t n, index_t *out)
    void rmq_number_names(const byte_t *values, const int64_t *offsets, int64_t n, hash_t *out)
    void rmq_find_slots(const byte_t *values, const int64_t *offsets, int64_t n, const byte_t *before, int64_t n_before,
                        const byte_t *after, int64_t n_after, index_t *out)


cdef extern from "mix.h" nogil:
    uint64_t rmq_mix(uint64_t z)


def hash_names(const byte_t[::1] values not None, const offset_t[::1] offsets not None, index_t[::1] out not None):
    """Java's hash of each text."""
    if out.shape[0]:
        with nogil:
            rmq_hash_names(&values[0], <const int64_t *>&offsets[0], out.shape[0], &out[0])


def number_names(const byte_t[::1] values not None, const offset_t[::1] offsets not None, hash_t[::1] out not None):
    """The upper half of a number for each text, mixed from its hash."""
    if out.shape[0]:
        with nogil:
            rmq_number_names(&values[0], <const int64_t *>&offsets[0], out.shape[0], &out[0])


def find_slots(const byte_t[::1] values not None, const offset_t[::1] offsets not None, const byte_t[:] before not None,
               const byte_t[:] after not None, index_t[::1] out not None):
    """The number between ``before`` and ``after`` that each instance name ends in, -1 without one."""
    cdef const byte_t *prefix = &before[0] if before.shape[0] else &values[0]
    cdef const byte_t *suffix = &after[0] if after.shape[0] else &values[0]
    if out.shape[0]:
        with nogil:
            rmq_find_slots(&values[0], <const int64_t *>&offsets[0], out.shape[0], prefix, before.shape[0], suffix,
                           after.shape[0], &out[0])


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
