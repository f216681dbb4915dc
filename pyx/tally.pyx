"""Counting kernels: who owns how much and what moves, read from owners vectors in one pass.

A unit is one consumer group on one topic. Unit ``u`` has the queues ``queue_offsets[u]:queue_offsets[u + 1]`` of ``owners``
and ``n_clients[u]`` clients; ``owners[q]`` is a position in that client list, any negative number means nobody.
The faces in rmqalloc.whatif.metrics have checked that every owner is below its unit's n_clients.
"""

from typedefs cimport offset_t, owner_t

ctypedef unsigned long long counts_t     # eight counters of eight bits: for nobody, then for the first seven clients

cdef counts_t[8] ONE                     # one in each counter: reading it is faster than shifting
ONE[:] = [1 << 8 * counter for counter in range(8)]


# The first element's place, also for an empty view (which has none to point at).
cdef inline owner_t *scratch_of(owner_t[::1] view) noexcept nogil:
    return &view[0] if view.shape[0] else NULL


cdef inline bint is_few(offset_t n_queues, owner_t n_clients) noexcept nogil:
    return n_clients <= 7 and n_queues <= 255


cdef inline counts_t count_few(const owner_t[::1] owners, offset_t lo, offset_t hi) noexcept nogil:
    """Loads of few clients in one register: counters in memory would wait for one another."""
    cdef counts_t counts = 0
    cdef offset_t queue
    for queue in range(lo, hi):
        counts += ONE[max(owners[queue], -1) + 1]
    return counts


cdef inline owner_t count_loads(const owner_t[::1] owners, offset_t lo, offset_t hi, owner_t n_clients,
                                owner_t *loads) noexcept nogil:
    """Queues of every client of one unit; returns how many nobody has."""
    cdef owner_t client, unowned = 0
    cdef offset_t queue
    cdef counts_t counts
    if is_few(hi - lo, n_clients):
        counts = count_few(owners, lo, hi)
        unowned = counts & 255
        for client in range(n_clients):
            counts >>= 8
            loads[client] = counts & 255
        return unowned
    for client in range(n_clients):
        loads[client] = 0
    for queue in range(lo, hi):
        if owners[queue] < 0:
            unowned += 1
        else:
            loads[owners[queue]] += 1
    return unowned


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
    cdef Py_ssize_t unit
    cdef offset_t lo, hi
    cdef counts_t counts
    cdef owner_t *loads = scratch_of(load_scratch)
    with nogil:
        for unit in range(n_clients.shape[0]):
            lo, hi = queue_offsets[unit], queue_offsets[unit + 1]
            if is_few(hi - lo, n_clients[unit]):
                counts = count_few(owners, lo, hi)
                unowned[unit] = counts & 255
                weigh_few(counts, n_clients[unit], &idle[unit], &least[unit], &most[unit])
            else:
                unowned[unit] = count_loads(owners, lo, hi, n_clients[unit], loads)
                weigh(loads, n_clients[unit], &idle[unit], &least[unit], &most[unit])


cdef inline void weigh(const owner_t *loads, owner_t n_clients, owner_t *idle, owner_t *least, owner_t *most) noexcept nogil:
    """How many loads are 0, the least and the greatest of them."""
    cdef owner_t client, n_idle = 0, fewest = loads[0] if n_clients else 0, greatest = 0
    for client in range(n_clients):
        n_idle += loads[client] == 0
        fewest = min(fewest, loads[client])
        greatest = max(greatest, loads[client])
    idle[0], least[0], most[0] = n_idle, fewest, greatest


cdef inline void weigh_few(counts_t counts, owner_t n_clients, owner_t *idle, owner_t *least, owner_t *most) noexcept nogil:
    """`weigh` without a detour over memory."""
    cdef owner_t client, load, n_idle = 0, fewest = 255 if n_clients else 0, greatest = 0
    for client in range(n_clients):
        counts >>= 8
        load = counts & 255
        n_idle += load == 0
        fewest = min(fewest, load)
        greatest = max(greatest, load)
    idle[0], least[0], most[0] = n_idle, fewest, greatest


def loads(
    const offset_t[::1] queue_offsets not None,
    const offset_t[::1] client_offsets not None,
    const owner_t[::1] owners not None,
    owner_t[::1] out not None,
):
    """Queues per client: ``out[client_offsets[u] + c]`` is the load of client ``c`` of unit ``u``."""
    cdef Py_ssize_t unit
    cdef offset_t slot
    cdef owner_t *all_loads = scratch_of(out)
    with nogil:
        for unit in range(client_offsets.shape[0] - 1):
            slot = client_offsets[unit]
            count_loads(owners, queue_offsets[unit], queue_offsets[unit + 1], <owner_t> (client_offsets[unit + 1] - slot),
                        all_loads + slot)


def moved(
    const offset_t[::1] queue_offsets not None,
    const owner_t[::1] before not None,
    const owner_t[::1] after not None,
    const offset_t[::1] slot_starts not None,
    const owner_t[::1] renamed not None,
    owner_t[::1] out not None,
):
    """Queues of every unit that another client owns than before, or nobody any more, or somebody at last."""
    cdef Py_ssize_t unit
    cdef offset_t queue, slot
    cdef owner_t owner, stays, count
    with nogil:
        for unit in range(slot_starts.shape[0]):
            slot = slot_starts[unit]
            count = 0
            for queue in range(queue_offsets[unit], queue_offsets[unit + 1]):
                owner = before[queue]
                if owner >= 0:
                    # What a client that is gone had does not stay, not even with nobody.
                    stays = renamed[slot + owner]
                    count += (stays != after[queue]) | (stays < 0)
                else:
                    count += after[queue] >= 0
            out[unit] = count


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
    cdef Py_ssize_t unit
    cdef owner_t client, n_queues, share, extra, stay
    cdef owner_t *loads = scratch_of(load_scratch)
    with nogil:
        for unit in range(n_after.shape[0]):
            n_queues = <owner_t> (queue_offsets[unit + 1] - queue_offsets[unit])
            # Where no client is left, what nobody had stays with nobody.
            stay = count_loads(before, queue_offsets[unit], queue_offsets[unit + 1], n_before[unit], loads)
            if n_after[unit] > 0:
                share = n_queues // n_after[unit]
                extra = n_queues - share * n_after[unit]
                stay = kept(loads, renamed, slot_starts[unit], n_before[unit], share, extra)
            out[unit] = n_queues - stay


cdef inline owner_t kept(const owner_t *loads, const owner_t[::1] renamed, offset_t slot, owner_t n_before, owner_t share,
                         owner_t extra) noexcept nogil:
    """Most queues that clients who stay can keep, if each may have ``share`` and ``extra`` of them one more."""
    cdef owner_t client, stay = 0, above = 0
    for client in range(n_before):
        if renamed[slot + client] >= 0:
            stay += min(loads[client], share)
            above += loads[client] > share
    return stay + min(above, extra)
