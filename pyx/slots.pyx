# Owners by slot numbers, unit by unit; docs/reference/ordinal.md defines every step,
# slot_bases.pxd holds most.
#
# All room to work in is one stretch of numbers, of which each list has its part.
#
# One unit: five queues, and two clients whose ids carry the slots 0 and 1.
#
# >>> seeds, numbers, client_slots = np.zeros(1, np.uint64), np.arange(5, dtype=np.uint64), np.array([0, 1], np.int32)
# >>> start, n_queues, n_clients = np.array([0]), np.array([5], np.int32), np.array([2], np.int32)
# >>> scratch, owners = np.empty(slots.scratch_size(5, 2), np.int32), np.empty(5, np.int32)
# >>> slots.own(start, n_queues, start, start, n_clients, seeds, numbers, client_slots, scratch, owners)
# >>> owners
# array([1, 1, 0, 1, 0], dtype=int32)

from libc.stdint cimport uint64_t
from libc.stdlib cimport free, malloc

from plain_group cimport answer, find_slots, number_queues, plain_text
from slot_bases cimport LISTS, RATIO, RMQ_GOLDEN, base, chained_base, fill, fill_holes, job_t, number_t, rmq_mix
from typedefs cimport byte_t, index_t, offset_t, owner_t

cdef enum:
    EVEN = 60       # orders that are even on every subset of slots
    DIGITS = 6      # of an order; one of fewer slots ends in digits that are none


# ---- numbers of clients ----

# The slots up to which a slot counts, for so many clients.
cdef inline offset_t slot_limit(offset_t n_clients) noexcept nogil:
    return 4 * n_clients + 64


# The slots of a list: -1 without one, -2 for who takes no part. Those that repeat one go on behind
# all by slot and position, then those without a usable one by position: `repeats` gets the next
# number for each slot.
cdef inline offset_t number_rest(const index_t *slots, offset_t n_clients, offset_t limit, offset_t after, index_t *repeats,
                                 index_t *client) noexcept nogil:
    cdef offset_t i, slot, place
    fill(repeats, limit, 0)
    for i in range(n_clients):
        slot = slots[i]
        if 0 <= slot < limit and client[slot] != i:
            repeats[slot] += 1
    for slot in range(limit):
        place = after
        after += repeats[slot]
        repeats[slot] = <index_t> place
    for i in range(n_clients):
        slot = slots[i]
        if 0 <= slot < limit and client[slot] != i:
            client[repeats[slot]] = <index_t> i
            repeats[slot] += 1
        elif slot != -2 and not 0 <= slot < limit:
            client[after] = <index_t> i
            after += 1
    return after


# Which client has each number, -1 for none. Returns how many numbers there are; `n_present` gets
# the number of clients.
cdef inline offset_t number_clients(const index_t *slots, offset_t n_clients, index_t *repeats, index_t *client,
                                    offset_t *n_present) noexcept nogil:
    cdef offset_t i, slot, limit, after = 0, n = 0, n_odd = 0
    for i in range(n_clients):
        n += slots[i] != -2
    limit = slot_limit(n)
    fill(client, limit + n, -1)
    for i in range(n_clients):
        slot = slots[i]
        if 0 <= slot < limit and client[slot] < 0:
            client[slot] = <index_t> i
            after = max(after, slot + 1)
        else:
            n_odd += slot != -2
    n_present[0] = n
    return number_rest(slots, n_clients, limit, after, repeats, client) if n_odd else after


# ---- units ----

# The greatest size that is looked at is an anchor above the highest number.
cdef inline offset_t most_slots(offset_t n_clients) noexcept nogil:
    return RATIO * (slot_limit(n_clients) + n_clients)


cdef inline offset_t room_for(offset_t n_queues, offset_t n_clients) noexcept nogil:
    return LISTS * n_queues + most_slots(n_clients) + 2 * slot_limit(n_clients) + n_clients


def scratch_size(offset_t n_queues_max, offset_t n_clients_max):
    return room_for(n_queues_max, n_clients_max)


cdef void own_unit(number_t seed, const number_t *numbers, offset_t n_queues, const index_t *slots, offset_t n_clients,
                   bint chained, index_t *scratch, owner_t *out) noexcept nogil:
    cdef offset_t queue, n_slots, n_present
    cdef index_t *owners
    cdef index_t *repeats
    cdef index_t *client
    cdef job_t job
    job.seed, job.numbers, job.n_queues = seed, numbers, n_queues
    job.waiting, job.load = scratch + 3 * n_queues, scratch + LISTS * n_queues
    repeats = job.load + most_slots(n_clients)
    client = repeats + slot_limit(n_clients)
    n_slots = number_clients(slots, n_clients, repeats, client, &n_present)
    if n_present == 0:
        fill(out, n_queues, -1)
        return
    if chained:
        owners = chained_base(&job, n_slots, scratch, scratch + n_queues)
    else:
        owners = base(&job, n_slots, scratch, scratch + n_queues, scratch + 2 * n_queues)
    if n_present < n_slots:
        fill_holes(&job, n_slots, n_present, client, owners)
    for queue in range(n_queues):
        out[queue] = client[owners[queue]]


def own(
    const offset_t[::1] out_starts not None,
    const index_t[::1] n_queues not None,
    const offset_t[::1] queue_starts not None,
    const offset_t[::1] slot_starts not None,
    const index_t[::1] n_clients not None,
    const number_t[::1] seeds not None,
    const number_t[::1] numbers not None,
    const index_t[::1] slots not None,
    index_t[::1] scratch not None,
    owner_t[::1] out not None,
    bint chained=False,
):
    cdef Py_ssize_t unit
    with nogil:
        for unit in range(n_queues.shape[0]):
            if n_queues[unit] and n_clients[unit]:
                own_unit(seeds[unit], &numbers[queue_starts[unit]], n_queues[unit], &slots[slot_starts[unit]], n_clients[unit],
                         chained, &scratch[0], &out[out_starts[unit]])


def own_group(tuple queues not None, tuple client_ids not None, bytes before not None, bytes after not None, bint chained,
              owner_t position, owner_t[::1] out):
    """One group of objects: what `answer` gives of its owners, None where they are not plain."""
    cdef offset_t n = len(queues), m = len(client_ids), n_room = room_for(n, m)
    cdef uint64_t *numbers
    cdef uint64_t seed
    cdef index_t *slots
    if plain_text(queues, client_ids) < 0:
        return None
    numbers = <uint64_t *> malloc(sizeof(uint64_t) * n + sizeof(index_t) * (m + n + n_room))
    if numbers == NULL:
        raise MemoryError(f"no memory to divide {n} queues among {m} clients")
    slots = <index_t *> (numbers + n)
    seed = number_queues(queues, numbers)
    find_slots(client_ids, before, after, slots)
    with nogil:
        own_unit(seed, <number_t *> numbers, n, slots, m, chained, slots + m + n, <owner_t *> (slots + m))
    try:
        return answer(queues, <owner_t *> (slots + m), position, out)
    finally:
        free(numbers)


def number(const offset_t[::1] slot_offsets not None, const index_t[::1] slots not None, index_t[::1] scratch not None,
           index_t[::1] n_numbers not None, index_t[::1] numbers not None):
    cdef Py_ssize_t row
    cdef offset_t lo, n, one, n_present
    cdef index_t *client
    with nogil:
        for row in range(n_numbers.shape[0]):
            lo, n = slot_offsets[row], slot_offsets[row + 1] - slot_offsets[row]
            n_numbers[row] = 0
            if n == 0:
                continue
            client = &scratch[0] + slot_limit(n)
            n_numbers[row] = <index_t> number_clients(&slots[lo], n, &scratch[0], client, &n_present)
            fill(&numbers[lo], n, -1)
            for one in range(n_numbers[row]):
                if client[one] >= 0:
                    numbers[lo + client[one]] = <index_t> one


# The digits of orders stand for slots that the seed decides, so that not the same slots take more
# in every topic.
cdef inline void relabel(number_t seed, index_t k, index_t *label) noexcept nogil:
    cdef index_t digit, i, j
    for digit in range(k):
        label[digit] = digit
    for i in range(k - 1, 0, -1):
        j = <index_t> ((rmq_mix(seed + i * RMQ_GOLDEN) >> 32) * <number_t> (i + 1) >> 32)
        label[i], label[j] = label[j], label[i]


def by_orders(
    const offset_t[::1] out_starts not None,
    const index_t[::1] n_queues not None,
    const offset_t[::1] slot_starts not None,
    const index_t[::1] n_clients not None,
    const number_t[::1] seeds not None,
    const index_t[::1] slots not None,
    const byte_t[::1] digits not None,
    const offset_t[::1] order_starts not None,
    const index_t[::1] n_slots not None,
    index_t[::1] scratch not None,
    owner_t[::1] out not None,
):
    cdef Py_ssize_t unit
    cdef offset_t queue, even, at, order, i, n_present
    cdef index_t *client
    cdef index_t k
    cdef index_t label[DIGITS]
    with nogil:
        for unit in range(n_queues.shape[0]):
            if n_queues[unit] == 0 or n_clients[unit] == 0:
                continue
            client = &scratch[0] + slot_limit(n_clients[unit])
            number_clients(&slots[slot_starts[unit]], n_clients[unit], &scratch[0], client, &n_present)
            even = n_queues[unit] - n_queues[unit] % EVEN
            k = n_slots[n_queues[unit] - even if even < n_queues[unit] else EVEN]
            relabel(seeds[unit], k, label)
            for queue in range(n_queues[unit]):
                at = out_starts[unit] + queue
                order = order_starts[EVEN if queue < even else n_queues[unit] - even] + queue % EVEN
                out[at] = -1
                for i in range(order * DIGITS, (order + 1) * DIGITS):
                    if out[at] < 0 and digits[i] < k:
                        out[at] = client[label[digits[i]]]
