"""Counting kernels: who owns how much and what moves, read from owners vectors in one pass.

A unit is one consumer group on one topic. Unit ``u`` has the queues ``queue_offsets[u]:queue_offsets[u + 1]`` of ``owners``;
``owners[q]`` is a position in its client list, any negative number means nobody. The faces in rmqalloc.evaluation have checked that
every owner is below its unit's number of clients. The plain loops stand here; units that fit into vector registers are counted by
those of the level in use, if it has any.
"""

# One unit of four queues, one of them unowned, and two clients:
#
# >>> queue_offsets, client_offsets = np.array([0, 4]), np.array([0, 2])
# >>> owners, loads = np.array([0, 0, 1, -1], np.int32), np.empty(2, np.int32)
# >>> tally.loads(queue_offsets, client_offsets, owners, loads)
# >>> loads
# array([2, 1], dtype=int32)

from libc.stdint cimport int64_t

from typedefs cimport index_t, offset_t, owner_t

include "isa.pxi"


cdef extern from "vector/tally.h" nogil:
    owner_t RMQ_TALLY_ABSENT
    ctypedef struct rmq_tally_rest_t:
        int64_t first
        int64_t behind
        unsigned int odd
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
    ctypedef struct rmq_tally_t:
        rmq_tally_rest_t (*loads)(const int64_t *queue_offsets, const int64_t *client_offsets, const owner_t *owners,
                                  int64_t n_units, int64_t next, owner_t *out) noexcept nogil
        rmq_tally_rest_t (*balance)(const int64_t *queue_offsets, const owner_t *n_clients, const owner_t *owners,
                                    int64_t n_units, int64_t next, const rmq_tally_balance_t *out) noexcept nogil
        rmq_tally_rest_t (*movement)(const rmq_tally_change_t *change, int64_t next,
                                     const rmq_tally_movement_t *out) noexcept nogil
        rmq_tally_rest_t (*moved)(const rmq_tally_change_t *change, int64_t next, const rmq_tally_movement_t *out) noexcept nogil
        rmq_tally_rest_t (*least_moves)(const rmq_tally_change_t *change, int64_t next,
                                        const rmq_tally_movement_t *out) noexcept nogil
    const rmq_tally_t *rmq_tally(int64_t n_units)

ABSENT = RMQ_TALLY_ABSENT


# The first element's place. An empty view has none to point at, and C may not add even 0 to a null
# pointer, as the loops do with the offsets of units: it gets a place that is never read or written.
cdef owner_t no_owner = -1
cdef int64_t no_offset = 0


cdef inline const owner_t *of(const owner_t[::1] view) noexcept nogil:
    return &view[0] if view.shape[0] else &no_owner


cdef inline const int64_t *offsets_of(const offset_t[::1] view) noexcept nogil:
    return <const int64_t *> &view[0] if view.shape[0] else &no_offset


cdef inline owner_t *into(owner_t[::1] view) noexcept nogil:
    return &view[0] if view.shape[0] else &no_owner


# ---- one unit ----

cdef enum:
    FEW_CLIENTS = 7         # with nobody they are eight, and each has a byte of one number:
    FEW_QUEUES = 255        # counters in memory would wait for one another


# Loads of n clients from `first` on, of queues that both sides have; returns how many of these
# nobody has.
cdef inline owner_t count(const owner_t[::1] owners, const owner_t[::1] after, offset_t queue, offset_t end, owner_t[::1] loads,
                          offset_t first, offset_t n) noexcept nogil:
    cdef unsigned long long counts = 0
    cdef offset_t client
    cdef owner_t owner, unowned = 0
    if n <= FEW_CLIENTS and end - queue <= FEW_QUEUES:
        for queue in range(queue, end):
            if after[queue] != RMQ_TALLY_ABSENT and owners[queue] != RMQ_TALLY_ABSENT:
                counts += <unsigned long long> 1 << 8 * (max(owners[queue], -1) + 1)
        for client in range(n):
            loads[first + client] = counts >> 8 * (client + 1) & 255
        return counts & 255
    for client in range(first, first + n):
        loads[client] = 0
    for queue in range(queue, end):
        owner = owners[queue]
        if owner < 0:
            unowned += after[queue] != RMQ_TALLY_ABSENT
        elif owner != RMQ_TALLY_ABSENT:
            loads[first + owner] += after[queue] != RMQ_TALLY_ABSENT
    return unowned


# Queues that change owner where both sides have all of them: what a client that is gone had does
# not stay, not even with nobody.
cdef inline owner_t count_moved(const owner_t[::1] before, const owner_t[::1] after, offset_t queue, offset_t end,
                                const owner_t[::1] renamed, offset_t slot) noexcept nogil:
    cdef owner_t n_moved = 0
    for queue in range(queue, end):
        if before[queue] < 0:
            n_moved += after[queue] >= 0
        else:
            n_moved += (renamed[slot + before[queue]] != after[queue]) | (renamed[slot + before[queue]] < 0)
    return n_moved


# Fewest moves of the queues of both sides: every client that is not gone may keep a share of the
# queues after, and as many as these leave over one more each. Without clients nobody keeps what
# nobody had.
cdef inline owner_t fewest_moves(const owner_t[::1] before, const owner_t[::1] after, offset_t queue, offset_t end,
                                 const owner_t[::1] renamed, offset_t slot, owner_t n_before, owner_t n_after,
                                 owner_t[::1] loads) noexcept nogil:
    cdef offset_t client, n_both = count(before, after, queue, end, loads, 0, n_before)
    cdef offset_t n_there = 0, share, above = 0, stay = 0 if n_after else n_both
    for queue in range(queue, end):
        n_there += after[queue] != RMQ_TALLY_ABSENT
    share = n_there // n_after if n_after else 0
    for client in range(n_before):
        n_both += loads[client]
        if renamed[slot + client] >= 0:
            stay += min(<offset_t> loads[client], share)
            above += loads[client] > share
    return <owner_t> (n_both - stay - min(above, n_there - share * n_after))


# Clients that lose or gain a queue, and the queues of both sides that change owner. Clients are
# numbered by their places after, from 1 on, those of before that are gone behind them; 0 is nobody.
cdef inline owner_t count_affected(const owner_t[::1] before, const owner_t[::1] after, offset_t queue, offset_t end,
                                   const owner_t[::1] renamed, offset_t slot, owner_t n_before, owner_t n_after,
                                   owner_t[::1] touched, owner_t *n_moved) noexcept nogil:
    cdef offset_t client, source, target
    cdef owner_t had, has, differ, moved = 0, affected = 0
    for client in range(<offset_t> 1 + n_before + n_after):
        touched[client] = 0
    for queue in range(queue, end):
        had, has, source, target = before[queue], after[queue], 0, 0
        if 0 <= had < RMQ_TALLY_ABSENT:
            source = 1 + (renamed[slot + had] if renamed[slot + had] >= 0 else n_after + <offset_t> had)
        if 0 <= has < RMQ_TALLY_ABSENT:
            target = 1 + <offset_t> has
        differ = source != target  # no branch on this: what moves cannot be foreseen
        touched[source & -differ] = 1
        touched[target & -differ] = 1
        moved += differ & (had != RMQ_TALLY_ABSENT) & (has != RMQ_TALLY_ABSENT)
    for client in range(1, <offset_t> 1 + n_before + n_after):
        affected += touched[client]
    n_moved[0] = moved
    return affected


# ---- many units: those that the level in use leaves over; all where it has no loops ----

# A block of the next units, all of them odd ones.
cdef inline rmq_tally_rest_t next_units(int64_t unit, int64_t n_units) noexcept nogil:
    cdef int64_t behind = min(unit + 32, n_units)
    return rmq_tally_rest_t(unit, behind, <unsigned int> 0xFFFFFFFF if unit < behind else 0)


cdef inline bint is_odd(rmq_tally_rest_t rest, int64_t unit) noexcept nogil:
    return rest.odd >> (unit - rest.first) & 1


# What is left over before the first unit has been looked at.
cdef rmq_tally_rest_t ALL
ALL.first, ALL.behind, ALL.odd = 0, 0, 1


def loads(
    const offset_t[::1] queue_offsets not None,
    const offset_t[::1] client_offsets not None,
    const owner_t[::1] owners not None,
    owner_t[::1] out not None,
):
    """Queues per client: ``out[client_offsets[u] + c]`` is the load of client ``c`` of unit ``u``."""
    cdef int64_t unit, n_units = client_offsets.shape[0] - 1
    cdef const rmq_tally_t *level = rmq_tally(n_units)
    cdef rmq_tally_rest_t rest = ALL
    with nogil:
        while rest.odd:
            rest = level.loads(offsets_of(queue_offsets), offsets_of(client_offsets), of(owners), n_units, rest.behind,
                               into(out)) if level else next_units(rest.behind, n_units)
            for unit in range(rest.first, rest.behind):
                if is_odd(rest, unit):
                    count(owners, owners, queue_offsets[unit], queue_offsets[unit + 1], out, client_offsets[unit],
                          client_offsets[unit + 1] - client_offsets[unit])


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
    cdef int64_t unit, client, n_units = n_clients.shape[0]
    cdef owner_t n_idle, lowest, highest
    cdef const rmq_tally_t *level = rmq_tally(n_units)
    cdef rmq_tally_rest_t rest = ALL
    cdef rmq_tally_balance_t out
    with nogil:
        out = rmq_tally_balance_t(into(unowned), into(idle), into(least), into(most))
        while rest.odd:
            rest = level.balance(offsets_of(queue_offsets), of(n_clients), of(owners), n_units, rest.behind,
                                 &out) if level else next_units(rest.behind, n_units)
            for unit in range(rest.first, rest.behind):
                if is_odd(rest, unit):
                    unowned[unit] = count(owners, owners, queue_offsets[unit], queue_offsets[unit + 1], load_scratch, 0,
                                          n_clients[unit])
                    n_idle, lowest, highest = 0, load_scratch[0] if n_clients[unit] else 0, 0
                    for client in range(n_clients[unit]):
                        n_idle += load_scratch[client] == 0
                        lowest = min(lowest, load_scratch[client])
                        highest = max(highest, load_scratch[client])
                    idle[unit], least[unit], most[unit] = n_idle, lowest, highest


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
    cdef int64_t unit, first, end, n_units = slot_starts.shape[0]
    cdef const rmq_tally_t *level = rmq_tally(n_units)
    cdef rmq_tally_rest_t rest = ALL
    cdef rmq_tally_change_t change
    cdef rmq_tally_movement_t out
    with nogil:
        change = rmq_tally_change_t(offsets_of(queue_offsets), of(before), of(after), offsets_of(slot_starts), of(n_before),
                                    of(renamed), of(n_after), n_units, renamed.shape[0])
        out = rmq_tally_movement_t(into(moved), into(least_moves), into(affected))
        while rest.odd:
            rest = level.movement(&change, rest.behind, &out) if level else next_units(rest.behind, n_units)
            for unit in range(rest.first, rest.behind):
                if is_odd(rest, unit):
                    first, end = queue_offsets[unit], queue_offsets[unit + 1]
                    affected[unit] = count_affected(before, after, first, end, renamed, slot_starts[unit], n_before[unit],
                                                    n_after[unit], scratch, &moved[unit])
                    least_moves[unit] = fewest_moves(before, after, first, end, renamed, slot_starts[unit], n_before[unit],
                                                     n_after[unit], scratch)


def moved(
    const offset_t[::1] queue_offsets not None,
    const owner_t[::1] before not None,
    const owner_t[::1] after not None,
    const offset_t[::1] slot_starts not None,
    const owner_t[::1] renamed not None,
    owner_t[::1] out not None,
):
    """Queues of every unit that another client owns than before, or nobody any more, or somebody at last."""
    cdef int64_t unit, n_units = slot_starts.shape[0]
    cdef const rmq_tally_t *level = rmq_tally(n_units)
    cdef rmq_tally_rest_t rest = ALL
    cdef rmq_tally_change_t change
    cdef rmq_tally_movement_t figures
    with nogil:
        change = rmq_tally_change_t(offsets_of(queue_offsets), of(before), of(after), offsets_of(slot_starts), NULL,
                                    of(renamed), NULL, n_units, renamed.shape[0])
        figures = rmq_tally_movement_t(into(out), NULL, NULL)
        while rest.odd:
            rest = level.moved(&change, rest.behind, &figures) if level else next_units(rest.behind, n_units)
            for unit in range(rest.first, rest.behind):
                if is_odd(rest, unit):
                    out[unit] = count_moved(before, after, queue_offsets[unit], queue_offsets[unit + 1], renamed,
                                            slot_starts[unit])


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
    cdef int64_t unit, n_units = slot_starts.shape[0]
    cdef const rmq_tally_t *level = rmq_tally(n_units)
    cdef rmq_tally_rest_t rest = ALL
    cdef rmq_tally_change_t change
    cdef rmq_tally_movement_t figures
    with nogil:
        change = rmq_tally_change_t(offsets_of(queue_offsets), of(before), of(before), offsets_of(slot_starts), of(n_before),
                                    of(renamed), of(n_after), n_units, renamed.shape[0])
        figures = rmq_tally_movement_t(NULL, into(out), NULL)
        while rest.odd:
            rest = level.least_moves(&change, rest.behind, &figures) if level else next_units(rest.behind, n_units)
            for unit in range(rest.first, rest.behind):
                if is_odd(rest, unit):
                    out[unit] = fewest_moves(before, before, queue_offsets[unit], queue_offsets[unit + 1], renamed,
                                             slot_starts[unit], n_before[unit], n_after[unit], load_scratch)


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
