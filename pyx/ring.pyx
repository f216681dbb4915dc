# Which client's point comes first at or after the hash of each queue, unit by unit:
# AllocateMessageQueueConsistentHash. The plain loops sort the points of a client list
# (`sort_points`) and search them for each hash (`search`).

from libc.stdint cimport int64_t, uint64_t

from typedefs cimport byte_t, hash_t, index_t, offset_t, owner_t

include "isa.pxi"

ctypedef unsigned long long key_t     # a point above the complement of its client: of equal points the last inserted comes first

cdef enum:
    NO_CLIENT = 0xFFFFFFFF


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


# The keys of n points from `first` on, sorted by merging; the other half of the room is where they
# are merged.
cdef inline void sort_points(const hash_t[::1] points, offset_t first, offset_t n, index_t virtual_nodes,
                             key_t[::1] keys) noexcept nogil:
    cdef offset_t i, left, right, middle, end, width = 1
    for i in range(n):
        keys[i] = <key_t> points[first + i] << 32 | <hash_t> (NO_CLIENT - i // virtual_nodes)
    while width < n:
        end = 0
        while end < n:
            left, right, middle = end, min(end + width, n), min(end + width, n)
            end = min(middle + width, n)
            for i in range(left, end):
                if left < middle and (right == end or keys[left] < keys[right]):
                    keys[n + i] = keys[left]
                    left += 1
                else:
                    keys[n + i] = keys[right]
                    right += 1
        for i in range(n):
            keys[i] = keys[n + i]
        width *= 2


# The owner of each hash: the client of the first point at or after it; past the last point the
# first one follows.
cdef inline void search(const key_t[::1] keys, offset_t n, const hash_t[::1] hashes, offset_t first, offset_t n_queues,
                        owner_t[::1] out, offset_t at) noexcept nogil:
    cdef offset_t queue, begin, end, middle
    for queue in range(n_queues):
        begin, end = 0, n
        while begin < end:
            middle = (begin + end) // 2
            if keys[middle] < <key_t> hashes[first + queue] << 32:
                begin = middle + 1
            else:
                end = middle
        out[at + queue] = <owner_t> (NO_CLIENT - <hash_t> keys[begin if begin < n else 0]) if n else -1


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


# Some units: the points of each client list are sorted once, and searched for the queues of all
# units that have it.
cdef void locate_plainly(Py_ssize_t unit, Py_ssize_t end, const offset_t[::1] out_starts, const index_t[::1] n_queues,
                         const offset_t[::1] queue_starts, const offset_t[::1] slot_starts, const index_t[::1] n_clients,
                         offset_t first_queue, offset_t first_slot, index_t virtual_nodes, const hash_t[::1] points,
                         const hash_t[::1] hashes, key_t[::1] scratch, owner_t[::1] out) noexcept nogil:
    cdef offset_t slot = -1, n_points = 0
    for unit in range(unit, end):
        if n_queues[unit] and (slot != slot_starts[unit] or n_points != <offset_t> n_clients[unit] * virtual_nodes):
            slot, n_points = slot_starts[unit], <offset_t> n_clients[unit] * virtual_nodes
            sort_points(points, (slot - first_slot) * virtual_nodes, n_points, virtual_nodes, scratch)
        search(scratch, n_points, hashes, queue_starts[unit] - first_queue, n_queues[unit], out, out_starts[unit])


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
    key_t[::1] scratch not None,
    owner_t[::1] out not None,
):
    cdef const rmq_rings_t *level = rmq_rings(False)
    cdef Py_ssize_t n_units = n_queues.shape[0], unit = 0, first, end
    cdef offset_t asked, n_spans
    cdef bint crowded
    cdef rmq_ring_t ring
    if level == NULL:
        with nogil:
            locate_plainly(0, n_units, out_starts, n_queues, queue_starts, slot_starts, n_clients, first_queue, first_slot,
                           virtual_nodes, points, hashes, scratch, out)
        return
    with nogil:
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
                locate_plainly(unit, end, out_starts, n_queues, queue_starts, slot_starts, n_clients, first_queue, first_slot,
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


# Whether a client has as many queues as it may.
cdef inline bint is_full(offset_t point, const owner_t[::1] holders, const owner_t[::1] loads, offset_t cap) noexcept nogil:
    return loads[holders[point]] >= cap


# The first of a list's sorted points, from `lo` to `hi`, at or after a hash; past the end the first
# one follows.
cdef inline offset_t first_at(hash_t hashed, const hash_t[::1] points, offset_t lo, offset_t hi) noexcept nogil:
    cdef offset_t begin = lo, end = hi, middle
    while begin < end:
        middle = begin + (end - begin) // 2
        if points[middle] < hashed:
            begin = middle + 1
        else:
            end = middle
    return begin if begin < hi else lo


def locate_bounded(
    const offset_t[::1] queue_offsets not None,
    const offset_t[::1] queue_starts not None,
    const owner_t[::1] unit_list not None,
    const offset_t[::1] caps not None,
    const offset_t[::1] list_points not None,
    const hash_t[::1] points not None,
    const owner_t[::1] holders not None,
    const hash_t[::1] hashes not None,
    owner_t[::1] loads not None,
    offset_t[::1] following not None,
    owner_t[::1] out not None,
):
    cdef Py_ssize_t unit
    cdef offset_t lo, hi, point, after, first, queue, room
    with nogil:
        for unit in range(unit_list.shape[0]):
            lo, hi = list_points[unit_list[unit]], list_points[unit_list[unit] + 1]
            for point in range(lo, hi):
                loads[holders[point]] = -1
            room = 0
            for point in range(lo, hi):
                room += caps[unit] * (loads[holders[point]] == -1)
                loads[holders[point]] = 0
                following[point - lo] = point + 1 if point + 1 < hi else lo
            for queue in range(queue_offsets[unit], queue_offsets[unit + 1]):
                first = first_at(hashes[queue_starts[unit] + queue - queue_offsets[unit]], points, lo, hi)
                point = first
                # Between a point and the one that follows it all clients are full, and stay so:
                # ways get shorter.
                while room and is_full(point, holders, loads, caps[unit]):
                    after = following[point - lo]
                    if is_full(after, holders, loads, caps[unit]):
                        following[point - lo] = following[after - lo]
                    point = after
                room -= room > 0
                loads[holders[point]] += 1
                out[queue] = holders[point]
