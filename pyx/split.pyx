# Splits of a run of queues among clients. Unit u's queues are
# out[queue_offsets[u]:queue_offsets[u+1]]; a unit without clients leaves its queues to nobody (-1).
# Of RocketMQ's three ways to share queues two stand here: `contiguous` is
# AllocateMessageQueueAveragely, `circular` AllocateMessageQueueAveragelyByCircle;
# AllocateMessageQueueConsistentHash is in ring.pyx.
#
# Two units, of 5 queues and 2 clients and of 3 queues and 3 clients, laid end to end:
#
# >>> queue_offsets, n_clients = np.array([0, 5, 8]), np.array([2, 3], np.int32)
# >>> owners = np.empty(8, np.int32)
# >>> split.contiguous(queue_offsets, n_clients, owners)
# >>> owners
# array([0, 0, 0, 1, 1, 0, 1, 2], dtype=int32)
# >>> split.circular(queue_offsets, n_clients, owners)
# >>> owners
# array([0, 1, 0, 1, 0, 0, 1, 2], dtype=int32)

from libc.stdint cimport int64_t

from typedefs cimport byte_t, index_t, offset_t, owner_t

include "isa.pxi"


cdef extern from "vector/split.h" nogil:
    ctypedef struct rmq_splits_t:
        void (*contiguous)(const int64_t *queue_offsets, const owner_t *n_clients, int64_t n_units, owner_t *out) noexcept nogil
        void (*circular)(const int64_t *queue_offsets, const owner_t *n_clients, int64_t n_units, owner_t *out) noexcept nogil
    const rmq_splits_t *rmq_splits()


cdef inline void fill(owner_t[::1] out, offset_t lo, offset_t hi, owner_t owner) noexcept nogil:
    cdef offset_t queue
    for queue in range(lo, hi):
        out[queue] = owner


# Where the block of a client begins: each has `size` queues, and the first `extra` have one more.
cdef inline offset_t block_begin(offset_t client, offset_t size, offset_t extra) noexcept nogil:
    return client * size + min(client, extra)


def contiguous(const offset_t[::1] queue_offsets not None, const owner_t[::1] n_clients not None,
               owner_t[::1] out not None):
    """Blocks in client order, the first ``n mod m`` clients take one more."""
    cdef const rmq_splits_t *level = rmq_splits()
    cdef Py_ssize_t unit
    cdef offset_t first, end, client, n, size, extra
    if level and n_clients.shape[0] and out.shape[0]:  # an empty view has no first element to point at
        with nogil:
            level.contiguous(<const int64_t *>&queue_offsets[0], &n_clients[0], n_clients.shape[0], &out[0])
        return
    with nogil:
        for unit in range(n_clients.shape[0]):
            first, end, n = queue_offsets[unit], queue_offsets[unit + 1], n_clients[unit]
            if n == 0:
                fill(out, first, end, -1)
                continue
            size, extra = (end - first) // n, (end - first) % n
            for client in range(min(n, end - first)):
                fill(out, first + block_begin(client, size, extra), first + block_begin(client + 1, size, extra),
                     <owner_t> client)


def circular(const offset_t[::1] queue_offsets not None, const owner_t[::1] n_clients not None,
             owner_t[::1] out not None):
    """Queue after queue to client after client, round and round."""
    cdef const rmq_splits_t *level = rmq_splits()
    cdef Py_ssize_t unit
    cdef offset_t queue
    cdef owner_t client, first
    if level and n_clients.shape[0] and out.shape[0]:
        with nogil:
            level.circular(<const int64_t *>&queue_offsets[0], &n_clients[0], n_clients.shape[0], &out[0])
        return
    with nogil:
        for unit in range(n_clients.shape[0]):
            client = first = 0 if n_clients[unit] else -1
            for queue in range(queue_offsets[unit], queue_offsets[unit + 1]):
                out[queue] = client
                client = client + 1 if client + 1 < n_clients[unit] else first


def tail_remainder(const offset_t[::1] queue_offsets not None, const owner_t[::1] n_clients not None,
                   owner_t[::1] out not None):
    """Equal blocks in client order, then what is left over, one each from the first client on."""
    cdef Py_ssize_t unit
    cdef offset_t lo, hi, size, client
    cdef owner_t n
    with nogil:
        for unit in range(n_clients.shape[0]):
            lo = queue_offsets[unit]
            hi = queue_offsets[unit + 1]
            n = n_clients[unit]
            if n == 0:
                fill(out, lo, hi, -1)
                continue
            size = (hi - lo) // n
            for client in range(n):
                fill(out, lo + client * size, lo + (client + 1) * size, <owner_t> client)
            for client in range((hi - lo) - size * n):
                out[lo + size * n + client] = <owner_t> client


def rename(const offset_t[::1] queue_offsets not None, const offset_t[::1] slot_starts not None,
           const owner_t[::1] slot_owner not None, owner_t[::1] out not None):
    """Replace each owner by ``slot_owner`` of its slot, in place; -1 stays -1."""
    cdef Py_ssize_t unit
    cdef offset_t queue
    with nogil:
        for unit in range(slot_starts.shape[0]):
            for queue in range(queue_offsets[unit], queue_offsets[unit + 1]):
                if out[queue] >= 0:
                    out[queue] = slot_owner[slot_starts[unit] + out[queue]]


def rename_some(const offset_t[::1] units not None, const offset_t[::1] queue_offsets not None,
                const offset_t[::1] slot_starts not None, const owner_t[::1] slot_owner not None, owner_t[::1] out not None):
    """The same in some units; ``slot_starts[k]`` is the first slot of ``units[k]``."""
    cdef Py_ssize_t k
    cdef offset_t queue
    with nogil:
        for k in range(units.shape[0]):
            for queue in range(queue_offsets[units[k]], queue_offsets[units[k] + 1]):
                if out[queue] >= 0:
                    out[queue] = slot_owner[slot_starts[k] + out[queue]]


def vacate_contiguous(const offset_t[::1] units not None, const index_t[::1] unit_list not None,
                      const offset_t[::1] queue_offsets not None, const owner_t[::1] n_clients not None,
                      const offset_t[::1] vacant_offsets not None, const index_t[::1] vacant not None,
                      owner_t[::1] out not None):
    """Leave to nobody what ``contiguous`` gave to the vacant places of some units' lists."""
    cdef Py_ssize_t k
    cdef offset_t i, lo, n, size, extra, place
    with nogil:
        for k in range(units.shape[0]):
            lo = queue_offsets[units[k]]
            n = n_clients[units[k]]
            size = (queue_offsets[units[k] + 1] - lo) // n
            extra = queue_offsets[units[k] + 1] - lo - size * n
            for i in range(vacant_offsets[unit_list[k]], vacant_offsets[unit_list[k] + 1]):
                place = vacant[i]
                fill(out, lo + block_begin(place, size, extra), lo + block_begin(place + 1, size, extra), -1)


def vacate_circular(const offset_t[::1] units not None, const index_t[::1] unit_list not None,
                    const offset_t[::1] queue_offsets not None, const owner_t[::1] n_clients not None,
                    const offset_t[::1] vacant_offsets not None, const index_t[::1] vacant not None,
                    owner_t[::1] out not None):
    """Leave to nobody what ``circular`` gave to the vacant places of some units' lists."""
    cdef Py_ssize_t k
    cdef offset_t i, queue, end
    with nogil:
        for k in range(units.shape[0]):
            end = queue_offsets[units[k] + 1]
            for i in range(vacant_offsets[unit_list[k]], vacant_offsets[unit_list[k] + 1]):
                queue = queue_offsets[units[k]] + vacant[i]
                while queue < end:
                    out[queue] = -1
                    queue = queue + n_clients[units[k]]


def level(const offset_t[::1] queue_offsets not None, const offset_t[::1] slot_offsets not None,
          const byte_t[::1] is_open not None, owner_t[::1] loads not None, owner_t[::1] out not None):
    """Each open queue, in order, to the client with the fewest, ties to the first; slots of a load below 0 take none."""
    cdef Py_ssize_t unit
    cdef offset_t queue, slot, lo, hi
    cdef owner_t height
    with nogil:
        for unit in range(slot_offsets.shape[0] - 1):
            lo, hi = slot_offsets[unit], slot_offsets[unit + 1]
            slot, height = hi, -1
            for queue in range(queue_offsets[unit], queue_offsets[unit + 1]):
                if not is_open[queue]:
                    continue
                # All before the slot are above this height, and none is below it.
                while slot == hi or loads[slot] != height:
                    if slot < hi:
                        slot += 1
                    else:
                        slot, height = lo, least_from(loads, lo, hi)
                out[queue] = <owner_t> (slot - lo)
                loads[slot] += 1


# The least load that is not below 0; one is there.
cdef inline owner_t least_from(const owner_t[::1] loads, offset_t lo, offset_t hi) noexcept nogil:
    cdef owner_t least = 0x7fffffff
    cdef offset_t slot
    for slot in range(lo, hi):
        if 0 <= loads[slot] < least:
            least = loads[slot]
    return least
