"""Which client's point comes first at or after each queue's hash (see the stub for the contract)."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from typedefs cimport hash_t, index_t, offset_t, owner_t


cdef extern from "ring.h" nogil:
    ctypedef struct ring_t:
        pass
    int64_t ring_scratch_size(int64_t n_points, int64_t n_queues)
    void ring_take(ring_t *ring, const uint32_t *points, int32_t n_clients, int32_t virtual_nodes, int64_t n_queues,
                   int64_t n_units, uint64_t *scratch)
    void ring_locate(ring_t *ring, const uint32_t *hashes, int32_t n_queues, int32_t *owners)


def scratch_size(offset_t n_points_max, offset_t n_queues_max):
    return ring_scratch_size(n_points_max, n_queues_max)


def locate(
    const offset_t[::1] out_starts not None,
    const index_t[::1] n_queues not None,
    const offset_t[::1] queue_starts not None,
    const offset_t[::1] slot_starts not None,
    const index_t[::1] n_clients not None,
    offset_t first_queue,
    offset_t first_slot,
    int virtual_nodes,
    const hash_t[::1] points not None,
    const hash_t[::1] hashes not None,
    unsigned long long[::1] scratch not None,
    owner_t[::1] out not None,
):
    cdef Py_ssize_t n_units = n_queues.shape[0], unit = 0, end
    cdef offset_t asked
    cdef const uint32_t *all_points = <const uint32_t *>&points[0] if points.shape[0] else NULL
    cdef const uint32_t *all_hashes = <const uint32_t *>&hashes[0] if hashes.shape[0] else NULL
    cdef uint64_t *room = <uint64_t *>&scratch[0] if scratch.shape[0] else NULL
    cdef int32_t *owners = <int32_t *>&out[0] if out.shape[0] else NULL
    cdef ring_t ring
    with nogil:
        while unit < n_units:
            # Consecutive units of one client list share its ring, and are weighed together.
            asked = n_queues[unit]
            end = unit + 1
            while end < n_units and slot_starts[end] == slot_starts[unit] and n_clients[end] == n_clients[unit]:
                asked += n_queues[end]
                end += 1
            ring_take(&ring, all_points + (slot_starts[unit] - first_slot) * virtual_nodes, n_clients[unit],
                      virtual_nodes, asked, end - unit, room)
            while unit < end:
                ring_locate(&ring, all_hashes + (queue_starts[unit] - first_queue), n_queues[unit],
                            owners + out_starts[unit])
                unit += 1
