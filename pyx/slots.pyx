# Owners by slot numbers, unit by unit. The loops are in slots_core.c.

from libc.stdint cimport int64_t, uint64_t

from typedefs cimport index_t, offset_t, owner_t


cdef extern from "slots.h" nogil:
    int64_t rmq_slots_scratch_size(int64_t n_queues, int64_t n_clients)
    void rmq_slots_own(uint64_t seed, const uint64_t *numbers, index_t n_queues, const index_t *slots, index_t n_clients,
                       index_t *scratch, owner_t *out)


def scratch_size(offset_t n_queues_max, offset_t n_clients_max):
    return rmq_slots_scratch_size(n_queues_max, n_clients_max)


def own(
    const offset_t[::1] out_starts not None,
    const index_t[::1] n_queues not None,
    const offset_t[::1] queue_starts not None,
    const offset_t[::1] slot_starts not None,
    const index_t[::1] n_clients not None,
    const unsigned long long[::1] seeds not None,
    const unsigned long long[::1] numbers not None,
    const index_t[::1] slots not None,
    index_t[::1] scratch not None,
    owner_t[::1] out not None,
):
    cdef Py_ssize_t unit
    with nogil:
        for unit in range(n_queues.shape[0]):
            if n_queues[unit] and n_clients[unit]:
                rmq_slots_own(seeds[unit], <const uint64_t *>&numbers[queue_starts[unit]], n_queues[unit],
                              &slots[slot_starts[unit]], n_clients[unit], &scratch[0], &out[out_starts[unit]])
