# Owners by slot numbers, unit by unit. The loops are in slots_core.c.

from libc.stdint cimport int64_t, uint64_t

from typedefs cimport byte_t, index_t, offset_t, owner_t


cdef extern from "slots.h" nogil:
    int64_t rmq_slots_scratch_size(int64_t n_queues, int64_t n_clients)
    void rmq_slots_own(uint64_t seed, const uint64_t *numbers, index_t n_queues, const index_t *slots, index_t n_clients,
                       index_t *scratch, owner_t *out)
    int64_t rmq_slots_number(const index_t *slots, index_t n_clients, index_t *scratch, index_t *numbers)
    ctypedef struct rmq_orders_t:
        const byte_t *digits
        const int64_t *starts
        const index_t *n_slots
    void rmq_slots_by_orders(uint64_t seed, const rmq_orders_t *orders, index_t n_queues, const index_t *slots,
                             index_t n_clients, index_t *scratch, owner_t *out)


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


def number(const offset_t[::1] slot_offsets not None, const index_t[::1] slots not None, index_t[::1] scratch not None,
           index_t[::1] n_numbers not None, index_t[::1] numbers not None):
    cdef Py_ssize_t row
    with nogil:
        for row in range(n_numbers.shape[0]):
            n_numbers[row] = 0
            if slot_offsets[row] < slot_offsets[row + 1]:
                n_numbers[row] = <index_t> rmq_slots_number(
                    &slots[slot_offsets[row]], <index_t> (slot_offsets[row + 1] - slot_offsets[row]), &scratch[0],
                    &numbers[slot_offsets[row]])


def by_orders(
    const offset_t[::1] out_starts not None,
    const index_t[::1] n_queues not None,
    const offset_t[::1] slot_starts not None,
    const index_t[::1] n_clients not None,
    const unsigned long long[::1] seeds not None,
    const index_t[::1] slots not None,
    const byte_t[::1] digits not None,
    const offset_t[::1] order_starts not None,
    const index_t[::1] n_slots not None,
    index_t[::1] scratch not None,
    owner_t[::1] out not None,
):
    cdef Py_ssize_t unit
    cdef rmq_orders_t orders
    with nogil:
        orders.digits, orders.starts, orders.n_slots = &digits[0], <const int64_t *>&order_starts[0], &n_slots[0]
        for unit in range(n_queues.shape[0]):
            if n_queues[unit] and n_clients[unit]:
                rmq_slots_by_orders(seeds[unit], &orders, n_queues[unit], &slots[slot_starts[unit]], n_clients[unit],
                                    &scratch[0], &out[out_starts[unit]])
