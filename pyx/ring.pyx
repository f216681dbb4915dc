# Which client's point comes first at or after the hash of each queue, unit by unit:
# AllocateMessageQueueConsistentHash. `sort_points` and `search` are the whole rule; ring_levels.pxi
# chooses between them and the same loops over vectors.
#
# One unit: client 0 has the points 10 and 70, client 1 the points 40 and 90; four queues.
#
# >>> points, hashes = np.array([10, 70, 40, 90], np.uint32), np.array([5, 41, 75, 95], np.uint32)
# >>> start, n_queues, n_clients = np.array([0]), np.array([4], np.int32), np.array([2], np.int32)
# >>> scratch, owners = np.empty(ring.scratch_size(4, 4), np.uint64), np.empty(4, np.int32)
# >>> ring.locate(start, n_queues, start, start, n_clients, 0, 0, 2, points, hashes, scratch, owners)
# >>> owners
# array([0, 0, 1, 0], dtype=int32)

from libc.stdint cimport int64_t, uint64_t

from typedefs cimport byte_t, hash_t, index_t, offset_t, owner_t

ctypedef unsigned long long key_t     # a point above the complement of its client: of equal points the last inserted comes first

cdef enum:
    NO_CLIENT = 0xFFFFFFFF


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


# The owners of some units: the points of each client list are sorted once, and searched for the
# queues of all units that have it.
cdef void locate_units(Py_ssize_t unit, Py_ssize_t end, const offset_t[::1] out_starts, const index_t[::1] n_queues,
                       const offset_t[::1] queue_starts, const offset_t[::1] slot_starts, const index_t[::1] n_clients,
                       offset_t first_queue, offset_t first_slot, index_t virtual_nodes, const hash_t[::1] points,
                       const hash_t[::1] hashes, key_t[::1] scratch, owner_t[::1] out) noexcept nogil:
    cdef offset_t slot = -1, n_points = 0
    for unit in range(unit, end):
        if n_queues[unit] and (slot != slot_starts[unit] or n_points != <offset_t> n_clients[unit] * virtual_nodes):
            slot, n_points = slot_starts[unit], <offset_t> n_clients[unit] * virtual_nodes
            sort_points(points, (slot - first_slot) * virtual_nodes, n_points, virtual_nodes, scratch)
        search(scratch, n_points, hashes, queue_starts[unit] - first_queue, n_queues[unit], out, out_starts[unit])


include "ring_levels.pxi"


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
    with nogil:
        if level == NULL:
            locate_units(0, n_queues.shape[0], out_starts, n_queues, queue_starts, slot_starts, n_clients, first_queue,
                         first_slot, virtual_nodes, points, hashes, scratch, out)
        else:
            locate_in_vectors(level, out_starts, n_queues, queue_starts, slot_starts, n_clients, first_queue, first_slot,
                              virtual_nodes, points, hashes, scratch, out)


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
