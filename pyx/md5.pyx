# Hashes of the consistent hash ring: the first 32 bits of MD5 for many short keys. The loops are in md5_core.c, because
# they come in one version for each instruction set, chosen when this module is imported.

from libc.stdint cimport int64_t

from typedefs cimport byte_t, hash_t, index_t, offset_t

include "isa.pxi"


cdef extern from "md5.h" nogil:
    void rmq_md5_points(const byte_t *values, const int64_t *offsets, int64_t first, int64_t last,
                        const index_t *starts, index_t v, hash_t *out)
    void rmq_md5_queues(const byte_t *topic_values, const int64_t *topic_offsets,
                        const byte_t *broker_values, const int64_t *broker_offsets,
                        const index_t *route_topic, const index_t *route_broker, const int64_t *route_offsets,
                        int64_t first_route, int64_t last_route, const index_t *queue_ids, hash_t *out)
    void rmq_md5_strings(const byte_t *values, const int64_t *offsets, int64_t first, int64_t last, hash_t *out)
    void rmq_md5_bare(const unsigned int *blocks, int64_t n_groups, hash_t *out)


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
    with nogil:
        rmq_md5_points(bytes_of(values), offsets_of(offsets), first, last, indices_of(starts), virtual_nodes,
                       hashes_of(out))


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
    with nogil:
        rmq_md5_queues(
            bytes_of(topic_values), offsets_of(topic_offsets), bytes_of(broker_values), offsets_of(broker_offsets),
            indices_of(route_topic), indices_of(route_broker), offsets_of(route_offsets),
            first_route, last_route, indices_of(queue_ids), hashes_of(out),
        )


def strings(
    const byte_t[::1] values not None,
    const offset_t[::1] offsets not None,
    offset_t first,
    offset_t last,
    hash_t[::1] out not None,
):
    with nogil:
        rmq_md5_strings(bytes_of(values), offsets_of(offsets), first, last, hashes_of(out))


def bare(const hash_t[:, :, ::1] blocks not None, hash_t[:, ::1] out not None):
    with nogil:
        rmq_md5_bare(&blocks[0, 0, 0], blocks.shape[0], &out[0, 0])
