"""Counting kernels: who owns how much, read from an owners vector in one pass.

A unit is one consumer group on one topic. Unit ``u`` has the queues ``queue_offsets[u]:queue_offsets[u + 1]`` of ``owners``
and ``n_clients[u]`` clients; ``owners[q]`` is a position in that client list, any negative number means nobody.
The faces in rmqalloc.whatif.metrics have checked that every owner is below its unit's n_clients.
"""

from typedefs cimport offset_t, owner_t


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
    cdef offset_t queue
    cdef owner_t client
    with nogil:
        for unit in range(n_clients.shape[0]):
            unowned[unit] = idle[unit] = least[unit] = most[unit] = 0
            for client in range(n_clients[unit]):
                load_scratch[client] = 0
            for queue in range(queue_offsets[unit], queue_offsets[unit + 1]):
                if owners[queue] < 0:
                    unowned[unit] += 1
                else:
                    load_scratch[owners[queue]] += 1
            for client in range(n_clients[unit]):
                idle[unit] += load_scratch[client] == 0
                most[unit] = max(most[unit], load_scratch[client])
                least[unit] = load_scratch[client] if client == 0 else min(least[unit], load_scratch[client])


def loads(
    const offset_t[::1] queue_offsets not None,
    const offset_t[::1] client_offsets not None,
    const owner_t[::1] owners not None,
    owner_t[::1] out not None,
):
    """Queues per client: ``out[client_offsets[u] + c]`` is the load of client ``c`` of unit ``u``."""
    cdef Py_ssize_t unit
    cdef offset_t slot, queue
    with nogil:
        for unit in range(client_offsets.shape[0] - 1):
            for slot in range(client_offsets[unit], client_offsets[unit + 1]):
                out[slot] = 0
            for queue in range(queue_offsets[unit], queue_offsets[unit + 1]):
                if owners[queue] >= 0:
                    out[client_offsets[unit] + owners[queue]] += 1
