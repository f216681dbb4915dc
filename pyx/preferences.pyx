# Owners by mutual preference, unit by unit. The loops are in preferences_core.c, because some come in one version for each
# instruction set, chosen when this module is imported.

from libc.stdint cimport int64_t, uint32_t, uint64_t

from typedefs cimport hash_t, index_t, offset_t, owner_t

include "isa.pxi"


cdef extern from "preferences.h" nogil:
    int64_t rmq_preferences_scratch_size(int64_t n_queues, int64_t n_clients)
    void rmq_preferences_match(const hash_t *queues, index_t n_queues, const hash_t *clients, index_t n_clients,
                               uint64_t *scratch, owner_t *out)
    void rmq_preferences_draft(const hash_t *queues, index_t n_queues, const hash_t *clients, index_t n_clients,
                               uint64_t *scratch, owner_t *out)


def scratch_size(offset_t n_queues_max, offset_t n_clients_max):
    return rmq_preferences_scratch_size(n_queues_max, n_clients_max)


def match(
    const offset_t[::1] out_starts not None,
    const index_t[::1] n_queues not None,
    const offset_t[::1] queue_starts not None,
    const offset_t[::1] slot_starts not None,
    const index_t[::1] n_clients not None,
    const hash_t[::1] queues not None,
    const hash_t[::1] clients not None,
    bint in_rounds,
    unsigned long long[::1] scratch not None,
    owner_t[::1] out not None,
):
    cdef Py_ssize_t unit
    with nogil:
        for unit in range(n_queues.shape[0]):
            if n_queues[unit] and n_clients[unit]:
                (rmq_preferences_draft if in_rounds else rmq_preferences_match)(
                    &queues[queue_starts[unit]], n_queues[unit], &clients[slot_starts[unit]], n_clients[unit],
                    <uint64_t *>&scratch[0], &out[out_starts[unit]])
