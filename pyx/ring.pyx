# Which client's point comes first at or after the hash of each queue, unit by unit. The loops are in ring_core.c, because
# they come in one version for each instruction set, chosen when this module is imported.

from libc.stdint cimport int64_t, uint64_t

from typedefs cimport hash_t, index_t, offset_t, owner_t

include "isa.pxi"


cdef extern from "ring.h" nogil:
    ctypedef struct rmq_ring_t:
        pass
    int64_t rmq_ring_scratch_size(int64_t n_points)
    void rmq_ring_start(rmq_ring_t *ring, index_t virtual_nodes, uint64_t *scratch)
    void rmq_ring_take(rmq_ring_t *ring, const hash_t *points, index_t n_clients, int64_t n_queues, int64_t n_units)
    void rmq_ring_locate(rmq_ring_t *ring, const hash_t *hashes, index_t n_queues, owner_t *owners)


# The first element's place, also for an empty view (which has none to point at).
cdef inline const hash_t *hashes_of(const hash_t[::1] view) noexcept nogil:
    return &view[0] if view.shape[0] else NULL


cdef inline owner_t *owners_of(owner_t[::1] view) noexcept nogil:
    return &view[0] if view.shape[0] else NULL


# Sorting queues needs no more room than sorting points: it is done when they are fewer.
def scratch_size(offset_t n_points_max, offset_t n_queues_max):
    return rmq_ring_scratch_size(n_points_max)


def locate(
    const offset_t[::1] out_starts not None,
    const index_t[::1] n_queues not None,
    const offset_t[::1] queue_starts not None,
    const offset_t[::1] slot_starts not None,
    const index_t[::1] n_clients not None,
    offset_t first_queue,
    offset_t first_slot,
    index_t virtual_nodes,
    const hash_t[::1] points not None,
    const hash_t[::1] hashes not None,
    unsigned long long[::1] scratch not None,
    owner_t[::1] out not None,
):
    cdef Py_ssize_t n_units = n_queues.shape[0], unit = 0, end
    cdef offset_t asked
    cdef rmq_ring_t ring
    with nogil:
        rmq_ring_start(&ring, virtual_nodes, <uint64_t *>&scratch[0])
        while unit < n_units:
            # Neighbours with the same client list are weighed together and share one ring.
            asked, end = n_queues[unit], unit + 1
            while end < n_units and slot_starts[end] == slot_starts[unit] and n_clients[end] == n_clients[unit]:
                asked += n_queues[end]
                end += 1
            rmq_ring_take(&ring, hashes_of(points) + (slot_starts[unit] - first_slot) * virtual_nodes, n_clients[unit],
                          asked, end - unit)
            for unit in range(unit, end):
                rmq_ring_locate(&ring, hashes_of(hashes) + (queue_starts[unit] - first_queue), n_queues[unit],
                                owners_of(out) + out_starts[unit])
            unit = end
