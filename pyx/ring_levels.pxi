# The ring over vectors: which loops run, and what stands between the views of ring.pyx and the
# addresses of vector/ring.h.

include "isa.pxi"


cdef extern from "vector/ring.h" nogil:
    ctypedef struct rmq_ring_t:
        pass
    ctypedef struct rmq_rings_t:
        void (*start)(rmq_ring_t *ring, index_t virtual_nodes, uint64_t *scratch) noexcept nogil
        bint (*take)(rmq_ring_t *ring, const hash_t *points, index_t n_clients, int64_t n_queues,
                     int64_t n_spans) noexcept nogil
        bint (*locate)(rmq_ring_t *ring, const hash_t *hashes, int64_t n_queues, owner_t *owners) noexcept nogil
        bint (*sift_begin)(rmq_ring_t *ring, const hash_t *hashes, int64_t n_queues) noexcept nogil
        void (*sift_some)(rmq_ring_t *ring, const hash_t *points, index_t first_slot, index_t n_clients,
                          int64_t n_queues) noexcept nogil
        void (*sift_end)(rmq_ring_t *ring, int64_t n_queues, owner_t *owners) noexcept nogil
    const rmq_rings_t *rmq_rings(bint is_begun)
    int64_t rmq_ring_scratch_size(int64_t n_points)


# The first element's place, also for an empty view (which has none to point at).
cdef inline const hash_t *hashes_of(const hash_t[::1] view) noexcept nogil:
    return &view[0] if view.shape[0] else NULL


cdef inline owner_t *owners_of(owner_t[::1] view) noexcept nogil:
    return &view[0] if view.shape[0] else NULL


# Whether a unit's hashes and owners follow those of the unit before.
cdef inline bint adjoins(Py_ssize_t unit, const offset_t[::1] out_starts, const index_t[::1] n_queues,
                         const offset_t[::1] queue_starts) noexcept nogil:
    return (queue_starts[unit] == queue_starts[unit - 1] + n_queues[unit - 1]
            and out_starts[unit] == out_starts[unit - 1] + n_queues[unit - 1])


# As `locate_units`, by the loops of a level. Where a level has no room for a ring, because too many
# points lie close together, the plain loops go on.
cdef void locate_in_vectors(const rmq_rings_t *level, const offset_t[::1] out_starts, const index_t[::1] n_queues,
                            const offset_t[::1] queue_starts, const offset_t[::1] slot_starts, const index_t[::1] n_clients,
                            offset_t first_queue, offset_t first_slot, index_t virtual_nodes, const hash_t[::1] points,
                            const hash_t[::1] hashes, key_t[::1] scratch, owner_t[::1] out) noexcept nogil:
    cdef Py_ssize_t n_units = n_queues.shape[0], unit = 0, first, end
    cdef offset_t asked, n_spans
    cdef bint crowded
    cdef rmq_ring_t ring
    level.start(&ring, virtual_nodes, <uint64_t *>&scratch[0])
    while unit < n_units:
        # Neighbours with the same client list are weighed together and share one ring.
        asked, n_spans, end = n_queues[unit], 1, unit + 1
        while end < n_units and slot_starts[end] == slot_starts[unit] and n_clients[end] == n_clients[unit]:
            n_spans += not adjoins(end, out_starts, n_queues, queue_starts)
            asked += n_queues[end]
            end += 1
        if not asked:  # there may be no hashes at all, and no address to begin from
            unit = end
            continue
        crowded = not level.take(&ring, hashes_of(points) + (slot_starts[unit] - first_slot) * virtual_nodes, n_clients[unit],
                                 asked, n_spans)
        # Those whose queues adjoin as well are asked as one: small units would leave most of a
        # vector empty.
        while unit < end and not crowded:
            first, asked, unit = unit, n_queues[unit], unit + 1
            while unit < end and adjoins(unit, out_starts, n_queues, queue_starts):
                asked += n_queues[unit]
                unit += 1
            crowded = not level.locate(&ring, hashes_of(hashes) + (queue_starts[first] - first_queue), asked,
                                       owners_of(out) + out_starts[first])
            if crowded:
                unit = first
        if crowded:
            locate_units(unit, end, out_starts, n_queues, queue_starts, slot_starts, n_clients, first_queue, first_slot,
                         virtual_nodes, points, hashes, scratch, out)
            unit = end


# One huge client list: its points are taken in portions, so that the caller can be interrupted in
# between.
def sift_begin(const hash_t[::1] hashes not None, key_t[::1] scratch not None, byte_t[::1] out not None):
    cdef const rmq_rings_t *level = rmq_rings(False)
    cdef rmq_ring_t ring
    with nogil:
        out[0] = False
        if level:
            level.start(&ring, 0, <uint64_t *>&scratch[0])
            out[0] = level.sift_begin(&ring, &hashes[0], hashes.shape[0])


def sift_some(const hash_t[::1] points not None, index_t first_slot, index_t n_clients, index_t virtual_nodes,
              offset_t n_queues, key_t[::1] scratch not None):
    cdef const rmq_rings_t *level = rmq_rings(True)
    cdef rmq_ring_t ring
    with nogil:
        level.start(&ring, virtual_nodes, <uint64_t *>&scratch[0])
        level.sift_some(&ring, &points[0], first_slot, n_clients, n_queues)


def sift_end(key_t[::1] scratch not None, owner_t[::1] out not None):
    cdef const rmq_rings_t *level = rmq_rings(True)
    cdef rmq_ring_t ring
    with nogil:
        level.start(&ring, 0, <uint64_t *>&scratch[0])
        level.sift_end(&ring, out.shape[0], &out[0])
