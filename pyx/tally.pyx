"""Counting kernels: who owns how much and what moves, read from owners vectors in one pass.

A unit is one consumer group on one topic. Unit ``u`` has the queues ``queue_offsets[u]:queue_offsets[u + 1]`` of ``owners``;
``owners[q]`` is a position in its client list, any negative number means nobody. The faces in rmqalloc.evaluation have checked that
every owner is below its unit's number of clients. The counts are in tally_core.c, because they come in one version for each
instruction set, chosen when this module is imported.
"""

from libc.stdint cimport int64_t

from typedefs cimport index_t, offset_t, owner_t

include "isa.pxi"


cdef extern from "tally.h" nogil:
    owner_t RMQ_TALLY_ABSENT
    ctypedef struct rmq_tally_balance_t:
        owner_t *unowned
        owner_t *idle
        owner_t *least
        owner_t *most
    ctypedef struct rmq_tally_change_t:
        const int64_t *queue_offsets
        const owner_t *before
        const owner_t *after
        const int64_t *slot_starts
        const owner_t *n_before
        const owner_t *renamed
        const owner_t *n_after
        int64_t n_units
        int64_t n_slots
    ctypedef struct rmq_tally_movement_t:
        owner_t *moved
        owner_t *least_moves
        owner_t *affected

    void rmq_tally_loads(const int64_t *queue_offsets, const int64_t *client_offsets, const owner_t *owners, int64_t n_units,
                         owner_t *out)
    void rmq_tally_balance(const int64_t *queue_offsets, const owner_t *n_clients, const owner_t *owners, int64_t n_units,
                           owner_t *scratch, const rmq_tally_balance_t *out)
    void rmq_tally_movement(const rmq_tally_change_t *change, owner_t *scratch, const rmq_tally_movement_t *out)
    void rmq_tally_moved(const rmq_tally_change_t *change, owner_t *out)
    void rmq_tally_least_moves(const rmq_tally_change_t *change, owner_t *scratch, owner_t *out)

ABSENT = RMQ_TALLY_ABSENT


# The first element's place. An empty view has none to point at, and C may not add even 0 to a null pointer, as the loops do with the
# offsets of units: it gets a place that is never read or written.
cdef owner_t no_owner = -1
cdef int64_t no_offset = 0


cdef inline const owner_t *of(const owner_t[::1] view) noexcept nogil:
    return &view[0] if view.shape[0] else &no_owner


cdef inline const int64_t *offsets_of(const offset_t[::1] view) noexcept nogil:
    return <const int64_t *> &view[0] if view.shape[0] else &no_offset


cdef inline owner_t *into(owner_t[::1] view) noexcept nogil:
    return &view[0] if view.shape[0] else &no_owner


def loads(
    const offset_t[::1] queue_offsets not None,
    const offset_t[::1] client_offsets not None,
    const owner_t[::1] owners not None,
    owner_t[::1] out not None,
):
    """Queues per client: ``out[client_offsets[u] + c]`` is the load of client ``c`` of unit ``u``."""
    with nogil:
        rmq_tally_loads(offsets_of(queue_offsets), offsets_of(client_offsets), of(owners), client_offsets.shape[0] - 1,
                        into(out))


def balance(
    const offset_t[::1] queue_offsets not None,
    const owner_t[::1] n_clients not None,
    const owner_t[::1] owners not None,
    owner_t[::1] load_scratch not None,
    owner_t[::1] unowned not None,
    owner_t[::1] idle not None,
    owner_t[::1] least not None,
    owner_t[::1] most not None,
):
    """Unowned queues, idle clients, least and greatest load of every unit (least and most are 0 without clients)."""
    cdef rmq_tally_balance_t out
    with nogil:
        out = rmq_tally_balance_t(into(unowned), into(idle), into(least), into(most))
        rmq_tally_balance(offsets_of(queue_offsets), of(n_clients), of(owners), n_clients.shape[0], into(load_scratch), &out)


def movement(
    const offset_t[::1] queue_offsets not None,
    const owner_t[::1] before not None,
    const owner_t[::1] after not None,
    const owner_t[::1] n_before not None,
    const offset_t[::1] slot_starts not None,
    const owner_t[::1] renamed not None,
    const owner_t[::1] n_after not None,
    owner_t[::1] scratch not None,
    owner_t[::1] moved not None,
    owner_t[::1] least_moves not None,
    owner_t[::1] affected not None,
):
    """Queues that change owner, the fewest that could, and clients that lose or gain a queue."""
    cdef rmq_tally_change_t change
    cdef rmq_tally_movement_t out
    with nogil:
        change = rmq_tally_change_t(offsets_of(queue_offsets), of(before), of(after), offsets_of(slot_starts), of(n_before),
                                    of(renamed), of(n_after), slot_starts.shape[0], renamed.shape[0])
        out = rmq_tally_movement_t(into(moved), into(least_moves), into(affected))
        rmq_tally_movement(&change, into(scratch), &out)


def moved(
    const offset_t[::1] queue_offsets not None,
    const owner_t[::1] before not None,
    const owner_t[::1] after not None,
    const offset_t[::1] slot_starts not None,
    const owner_t[::1] renamed not None,
    owner_t[::1] out not None,
):
    """Queues of every unit that another client owns than before, or nobody any more, or somebody at last."""
    cdef rmq_tally_change_t change
    with nogil:
        change = rmq_tally_change_t(offsets_of(queue_offsets), of(before), of(after), offsets_of(slot_starts), NULL,
                                    of(renamed), NULL, slot_starts.shape[0], renamed.shape[0])
        rmq_tally_moved(&change, into(out))


def least_moves(
    const offset_t[::1] queue_offsets not None,
    const owner_t[::1] before not None,
    const owner_t[::1] n_before not None,
    const offset_t[::1] slot_starts not None,
    const owner_t[::1] renamed not None,
    const owner_t[::1] n_after not None,
    owner_t[::1] load_scratch not None,
    owner_t[::1] out not None,
):
    """Fewest queues of every unit that can move if the loads of the clients after may differ by one at most."""
    cdef rmq_tally_change_t change
    with nogil:
        change = rmq_tally_change_t(offsets_of(queue_offsets), of(before), NULL, offsets_of(slot_starts), of(n_before),
                                    of(renamed), of(n_after), slot_starts.shape[0], renamed.shape[0])
        rmq_tally_least_moves(&change, into(load_scratch), into(out))


def align(
    const offset_t[::1] starts_before not None,
    const index_t[::1] order_before not None,
    const unsigned long long[::1] keys_before not None,
    const offset_t[::1] offsets_before not None,
    const owner_t[::1] before not None,
    const offset_t[::1] starts_after not None,
    const index_t[::1] order_after not None,
    const unsigned long long[::1] keys_after not None,
    const offset_t[::1] offsets_after not None,
    const owner_t[::1] after not None,
    offset_t[::1] offsets not None,
    owner_t[::1] out_before not None,
    owner_t[::1] out_after not None,
):
    """Numbers of equal keys of two lists of every unit side by side; what one side lacks is ``ABSENT`` there."""
    cdef Py_ssize_t unit
    cdef offset_t i, j, n_before, n_after, at = 0, from_before, from_after
    cdef bint in_before, in_after
    with nogil:
        for unit in range(offsets.shape[0] - 1):
            offsets[unit] = at
            from_before, from_after = starts_before[unit], starts_after[unit]
            n_before, n_after = offsets_before[unit + 1] - offsets_before[unit], offsets_after[unit + 1] - offsets_after[unit]
            i = j = 0
            while i < n_before or j < n_after:
                in_before, in_after = i < n_before, j < n_after
                if in_before and in_after:
                    in_before = (keys_before[from_before + order_before[from_before + i]]
                                 <= keys_after[from_after + order_after[from_after + j]])
                    in_after = (keys_before[from_before + order_before[from_before + i]]
                                >= keys_after[from_after + order_after[from_after + j]])
                out_before[at] = before[offsets_before[unit] + order_before[from_before + i]] if in_before else RMQ_TALLY_ABSENT
                out_after[at] = after[offsets_after[unit] + order_after[from_after + j]] if in_after else RMQ_TALLY_ABSENT
                i, j, at = i + in_before, j + in_after, at + 1
        offsets[offsets.shape[0] - 1] = at


def cross_room(
    const offset_t[::1] queue_offsets not None,
    const owner_t[::1] owners not None,
    const offset_t[::1] queue_starts not None,
    const index_t[::1] queue_route not None,
    const offset_t[::1] route_offsets not None,
    const index_t[::1] route_room not None,
    const offset_t[::1] slot_starts not None,
    const index_t[::1] slot_room not None,
    owner_t[::1] out not None,
):
    """Queues of every unit whose room and whose owner's room are known (not negative) and differ."""
    cdef Py_ssize_t unit
    cdef offset_t queue, end, shift, slot
    cdef index_t route, room
    cdef owner_t count
    with nogil:
        for unit in range(out.shape[0]):
            queue, end, slot = queue_offsets[unit], queue_offsets[unit + 1], slot_starts[unit]
            shift = queue_starts[unit] - queue
            route = queue_route[queue + shift] if queue < end else 0
            count = 0
            while queue < end:
                room = route_room[route]
                for queue in range(queue, min(end, route_offsets[route + 1] - shift)):
                    if owners[queue] >= 0:
                        count += (slot_room[slot + owners[queue]] != room) & (slot_room[slot + owners[queue]] >= 0) & (room >= 0)
                queue = route_offsets[route + 1] - shift
                route = route + 1
            out[unit] = count
