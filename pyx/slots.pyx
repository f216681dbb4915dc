# Owners by slot numbers, unit by unit; docs/strategies/ordinal.md defines every step.
#
# Goals, in this order: the same answer everywhere (integers only, everything decided by names), balance to one, few moves. A size is
# a number of slots. Owners of some sizes, the anchors, are drawn; those between come from the two anchors around them.
#
# All room to work in is one view: an `offset_t` named after a list says where it begins there.

from typedefs cimport byte_t, hash_t, index_t, offset_t, owner_t

ctypedef unsigned long long number_t

cdef extern from "mix.h" nogil:
    const number_t RMQ_GOLDEN
    number_t rmq_mix(number_t z)

cdef extern from "compiler.h" nogil:
    int rmq_leading_zeros(hash_t x)

cdef enum:
    RATIO = 12      # of neighbouring anchors
    DRAWS = 4       # of a queue, before it takes the next slot with room
    EVEN = 60       # orders that are even on every subset of slots
    DIGITS = 6      # of an order; one of fewer slots ends in digits that are none
    SAME = 0        # kinds of queues between two sizes
    GOES_BEYOND = 1
    GOES_BACK = 2
    GOES_ON = 3
    KINDS = 4

# A unit at work.
cdef struct job_t:
    number_t seed
    offset_t first, n_queues    # of its queues, in `numbers`
    offset_t waiting            # queues without a slot, in order
    offset_t kinds              # queues of each kind, in order: n_queues places for each
    offset_t load               # of every slot
    offset_t top                # of the stack of every slot, -1 for none: of a chain alone
    offset_t under              # each queue on its stack

# Room for extra queues, one for each slot: slots from first_new on may have a pool of their own.
cdef struct room_t:
    index_t full
    index_t pool[2]
    offset_t first_new

cdef offset_t NOT_ABSENT = -1     # for lists of clients by slot: every slot has one


# ---- draws ----

# One of n slots for a random number: all alike, and the same for n and n + 1 but for one number in n + 1.
cdef inline offset_t slot_of(number_t u, offset_t n) noexcept nogil:
    cdef hash_t w, top, rest
    cdef number_t v
    if n < 2:
        return 0
    rest = <hash_t> u & (<hash_t> 0xFFFFFFFF >> rmq_leading_zeros(<hash_t> (n - 1)))
    while rest:
        top = <hash_t> 1 << (31 - rmq_leading_zeros(rest))
        v = rmq_mix(u + top)
        w = top + (<hash_t> (v >> 32) & (top - 1))
        while w >= top:
            if w < n:
                return w
            v = rmq_mix(v)
            w = <hash_t> (v >> 32) & (2 * top - 1)
        rest -= top
    return 0


cdef inline offset_t draw(const number_t[::1] numbers, const job_t *job, index_t queue, int t, offset_t n) noexcept nogil:
    return slot_of(rmq_mix(numbers[job.first + queue] + t * RMQ_GOLDEN), n)


# ---- slots with room ----

# Whether a slot takes one more, without branches: which it is cannot be foreseen.
cdef inline bint take(index_t[::1] scratch, offset_t load, index_t full) noexcept nogil:
    cdef bint taken = scratch[load] < full
    scratch[load] += taken
    return taken


cdef inline bint take_extra(index_t[::1] scratch, offset_t load, room_t *room, offset_t slot) noexcept nogil:
    cdef index_t *pool = &room.pool[slot >= room.first_new]
    cdef bint extra = (scratch[load + slot] == room.full) & (pool[0] > 0)
    cdef bint taken = (scratch[load + slot] < room.full) | extra
    pool[0] -= extra
    scratch[load + slot] += taken
    return taken


cdef inline bint is_there(const index_t[::1] scratch, offset_t client, offset_t slot) noexcept nogil:
    return client == NOT_ABSENT or scratch[client + slot] >= 0


# Give the waiting queues to slots of n by their draws. A slot is absent if its place in `client` is below 0.
cdef inline void rounds(index_t[::1] scratch, const number_t[::1] numbers, const job_t *job, offset_t n_waiting, offset_t n,
                        room_t *room, offset_t client, offset_t owners) noexcept nogil:
    cdef offset_t i, slot, still
    cdef index_t queue
    cdef int t
    for t in range(1, DRAWS):
        still = 0
        for i in range(n_waiting):
            queue = scratch[job.waiting + i]
            slot = draw(numbers, job, queue, t, n)
            scratch[owners + queue] = <index_t> slot
            scratch[job.waiting + still] = queue
            still += not (is_there(scratch, client, slot) and take_extra(scratch, job.load, room, slot))
        n_waiting = still
    for i in range(n_waiting):
        queue = scratch[job.waiting + i]
        slot = draw(numbers, job, queue, DRAWS, n)
        while not (is_there(scratch, client, slot) and take_extra(scratch, job.load, room, slot)):
            slot = slot + 1 if slot + 1 < n else 0
        scratch[owners + queue] = <index_t> slot


# ---- sizes ----

cdef inline void fill(index_t[::1] scratch, offset_t first, offset_t n, index_t value) noexcept nogil:
    cdef offset_t i
    for i in range(first, first + n):
        scratch[i] = value


# Owners at an anchor: by draws alone.
cdef inline void anchor(index_t[::1] scratch, const number_t[::1] numbers, const job_t *job, offset_t n,
                        offset_t owners) noexcept nogil:
    cdef room_t room
    cdef offset_t queue
    room.full, room.pool[0], room.first_new = <index_t> (job.n_queues // n), <index_t> (job.n_queues % n), n
    fill(scratch, job.load, n, 0)
    for queue in range(job.n_queues):
        scratch[job.waiting + queue] = <index_t> queue
    rounds(scratch, numbers, job, job.n_queues, n, &room, NOT_ABSENT, owners)


# Room at size c, which has more slots than size a; where there are more slots than queues new ones get their share of these.
cdef inline room_t room_between(const job_t *job, offset_t a, offset_t c) noexcept nogil:
    cdef room_t room
    cdef number_t by_lot
    room.full, room.pool[0], room.pool[1], room.first_new = <index_t> (job.n_queues // c), <index_t> (job.n_queues % c), 0, c
    if room.full == 0:
        by_lot = (rmq_mix(job.seed + c * RMQ_GOLDEN) >> 32) * <number_t> c >> 32
        room.pool[1] = <index_t> ((<number_t> job.n_queues * <number_t> (c - a) + by_lot) // <number_t> c)
        room.pool[0] -= room.pool[1]
        room.first_new = a
    return room


# Give the queues of one kind to their slots, as far as there is room; the others stay in the list.
cdef inline void settle(index_t[::1] scratch, const job_t *job, int kind, offset_t *counts, offset_t to, room_t *room,
                        bint with_pool, offset_t owners) noexcept nogil:
    cdef offset_t i, slot, queues = job.kinds + kind * job.n_queues, still = 0
    cdef index_t queue
    cdef bint taken
    for i in range(counts[kind]):
        queue = scratch[queues + i]
        slot = scratch[to + queue]
        taken = take_extra(scratch, job.load, room, slot) if with_pool else take(scratch, job.load + slot, room.full)
        scratch[owners + queue] = <index_t> slot if taken else -1
        scratch[queues + still] = queue
        still += not taken
    counts[kind] = still


# Queues by the ways that owners take from one size to the other.
cdef inline void sort_out(index_t[::1] scratch, const job_t *job, offset_t a, offset_t c, offset_t low, offset_t high,
                          offset_t *counts, offset_t owners) noexcept nogil:
    cdef offset_t queue
    cdef index_t to
    cdef int kind
    for queue in range(job.n_queues):
        to = scratch[high + queue]
        kind = SAME if scratch[low + queue] == to else GOES_BEYOND if to >= c else GOES_BACK if to < a else GOES_ON
        scratch[job.kinds + kind * job.n_queues + counts[kind]] = <index_t> queue
        counts[kind] += 1
        scratch[owners + queue] = -1


# Owners of size c, between size a with owners `low` and a greater size with owners `high`.
cdef inline void between(index_t[::1] scratch, const number_t[::1] numbers, const job_t *job, offset_t a, offset_t c,
                         offset_t low, offset_t high, offset_t owners) noexcept nogil:
    cdef room_t room = room_between(job, a, c)
    cdef offset_t queue, n_waiting = 0
    cdef offset_t counts[KINDS]
    counts[SAME] = counts[GOES_BEYOND] = counts[GOES_BACK] = counts[GOES_ON] = 0
    fill(scratch, job.load, c, 0)
    sort_out(scratch, job, a, c, low, high, counts, owners)
    settle(scratch, job, SAME, counts, low, &room, True, owners)
    settle(scratch, job, GOES_BEYOND, counts, low, &room, True, owners)
    settle(scratch, job, GOES_BACK, counts, low, &room, False, owners)
    settle(scratch, job, GOES_BACK, counts, high, &room, False, owners)
    settle(scratch, job, GOES_ON, counts, low, &room, False, owners)
    settle(scratch, job, GOES_BACK, counts, low, &room, True, owners)
    settle(scratch, job, GOES_ON, counts, high, &room, True, owners)
    settle(scratch, job, GOES_BACK, counts, high, &room, True, owners)
    for queue in range(job.n_queues):
        scratch[job.waiting + n_waiting] = <index_t> queue
        n_waiting += scratch[owners + queue] < 0
    rounds(scratch, numbers, job, n_waiting, c, &room, NOT_ABSENT, owners)


# Owners if all n slots are present, in one of the first three lists of the scratch, which is returned.
cdef inline offset_t base(index_t[::1] scratch, const number_t[::1] numbers, const job_t *job, offset_t n) noexcept nogil:
    cdef offset_t low = 0, high = job.n_queues, middle = 2 * job.n_queues, a = 1, c
    cdef offset_t b = 2 + <offset_t> ((rmq_mix(job.seed) >> 32) * (2 * RATIO - 2) >> 32)
    while b <= n:
        a, b = b, b * RATIO
    if a == 1:
        fill(scratch, low, job.n_queues, 0)
    else:
        anchor(scratch, numbers, job, a, low)
    if a < n:
        anchor(scratch, numbers, job, b, high)
    while a < n:
        c = a + max(5 * (b - a) // 16, 1)
        between(scratch, numbers, job, a, c, low, high, middle)
        if c <= n:
            low, middle, a = middle, low, c
        else:
            high, middle, b = middle, high, c
    return low


# ---- chains, the bases of version 2 ----

# The size at which the chain of a topic begins.
cdef inline offset_t start_of(const job_t *job) noexcept nogil:
    cdef number_t size, sixteenths = 16 + ((rmq_mix(job.seed) >> 32) * 16 >> 32)
    while True:
        size = sixteenths >> 4
        if size * size * size >= <number_t> job.n_queues * <number_t> job.n_queues:
            return <offset_t> size
        sixteenths <<= 1


cdef inline void push(index_t[::1] scratch, const job_t *job, offset_t slot, index_t queue) noexcept nogil:
    scratch[job.under + queue] = scratch[job.top + slot]
    scratch[job.top + slot] = queue


# The highest of n + 1 slots leaves. Loads are even at every size, so that the sizes say how many are above the new least one.
cdef inline void leave(index_t[::1] scratch, const number_t[::1] numbers, const job_t *job, offset_t n,
                       offset_t owners) noexcept nogil:
    cdef room_t room
    cdef offset_t n_waiting = 0
    cdef index_t under, queue = scratch[job.top + n]
    room.full, room.pool[0], room.first_new = <index_t> (job.n_queues // n), <index_t> (job.n_queues % n), n
    if job.n_queues // (n + 1) == room.full:
        room.pool[0] -= <index_t> (job.n_queues % (n + 1)) - (scratch[job.load + n] > room.full)
    while queue >= 0:
        scratch[job.waiting + n_waiting] = queue
        n_waiting += 1
        queue = scratch[job.under + queue]
    rounds(scratch, numbers, job, n_waiting, n, &room, NOT_ABSENT, owners)
    queue = scratch[job.top + n]
    while queue >= 0:
        under = scratch[job.under + queue]
        push(scratch, job, scratch[owners + queue], queue)
        queue = under


# Slot c joins and takes queues of the fullest.
cdef inline void join(index_t[::1] scratch, const job_t *job, offset_t c, offset_t owners) noexcept nogil:
    cdef number_t v = rmq_mix(job.seed + (c + 1) * RMQ_GOLDEN)
    cdef offset_t slot, most = (job.n_queues + c - 1) // c, n_most = job.n_queues - c * (most - 1)
    cdef offset_t i, taken = (job.n_queues + <offset_t> ((v >> 32) * <number_t> (c + 1) >> 32)) // (c + 1)
    cdef index_t queue
    scratch[job.top + c], scratch[job.load + c] = -1, <index_t> taken
    for i in range(taken):
        if n_most == 0:
            most, n_most = most - 1, c
        v = rmq_mix(v + RMQ_GOLDEN)
        slot = <offset_t> ((v >> 32) * <number_t> c >> 32)
        while scratch[job.load + slot] < most:
            slot = slot + 1 if slot + 1 < c else 0
        queue = scratch[job.top + slot]
        scratch[job.top + slot] = scratch[job.under + queue]
        scratch[job.load + slot] -= 1
        n_most -= 1
        push(scratch, job, c, queue)
        scratch[owners + queue] = <index_t> c


# Owners if all n slots are present, in the first list of the scratch. The start has at most two slots for each queue, so that loads
# and tops fit where the other bases have kinds and loads.
cdef inline offset_t chained_base(index_t[::1] scratch, const number_t[::1] numbers, job_t *job, offset_t n) noexcept nogil:
    cdef offset_t queue, size, start = start_of(job), owners = 0
    job.load, job.under = job.kinds, job.n_queues
    job.top = job.load + max(start, n)
    anchor(scratch, numbers, job, start, owners)
    fill(scratch, job.top, start, -1)
    for queue in range(job.n_queues):
        push(scratch, job, scratch[owners + queue], <index_t> queue)
    for size in range(start - 1, n - 1, -1):
        leave(scratch, numbers, job, size, owners)
    for size in range(start, n):
        join(scratch, job, size, owners)
    return owners


# ---- holes ----

# Give the queues of absent slots to present ones; `client` has the client of each slot, -1 where it is absent.
cdef inline void fill_holes(index_t[::1] scratch, const number_t[::1] numbers, const job_t *job, offset_t n_slots,
                            offset_t n_present, offset_t client, offset_t owners) noexcept nogil:
    cdef room_t room
    cdef offset_t queue, slot, n_waiting = 0
    room.full, room.pool[0] = <index_t> (job.n_queues // n_present), <index_t> (job.n_queues % n_present)
    room.first_new = n_slots
    fill(scratch, job.load, n_slots, 0)
    for queue in range(job.n_queues):
        scratch[job.load + scratch[owners + queue]] += 1
        scratch[job.waiting + n_waiting] = <index_t> queue
        n_waiting += scratch[client + scratch[owners + queue]] < 0
    for slot in range(n_slots):
        room.pool[0] -= scratch[client + slot] >= 0 and scratch[job.load + slot] > room.full
    rounds(scratch, numbers, job, n_waiting, n_slots, &room, client, owners)


# ---- numbers of clients ----

# The slots up to which a slot counts, for so many clients.
cdef inline offset_t slot_limit(offset_t n_clients) noexcept nogil:
    return 4 * n_clients + 64


# The slots of a list: -1 without one, -2 for who takes no part. Those that repeat one go on behind all by slot and position, then
# those without a usable one by position: `repeats` gets the next number for each slot.
cdef inline offset_t number_rest(index_t[::1] scratch, const index_t[::1] slots, offset_t first, offset_t n_clients, offset_t limit,
                                 offset_t after, offset_t repeats, offset_t client) noexcept nogil:
    cdef offset_t i, slot, place
    fill(scratch, repeats, limit, 0)
    for i in range(n_clients):
        slot = slots[first + i]
        if 0 <= slot < limit and scratch[client + slot] != i:
            scratch[repeats + slot] += 1
    for slot in range(limit):
        place = after
        after += scratch[repeats + slot]
        scratch[repeats + slot] = <index_t> place
    for i in range(n_clients):
        slot = slots[first + i]
        if 0 <= slot < limit and scratch[client + slot] != i:
            scratch[client + scratch[repeats + slot]] = <index_t> i
            scratch[repeats + slot] += 1
        elif slot != -2 and not 0 <= slot < limit:
            scratch[client + after] = <index_t> i
            after += 1
    return after


# Which client has each number, -1 for none. Returns how many numbers there are; `n_present` gets the number of clients.
cdef inline offset_t number_clients(index_t[::1] scratch, const index_t[::1] slots, offset_t first, offset_t n_clients,
                                    offset_t repeats, offset_t client, offset_t *n_present) noexcept nogil:
    cdef offset_t i, slot, limit, after = 0, n = 0, n_odd = 0
    for i in range(first, first + n_clients):
        n += slots[i] != -2
    limit = slot_limit(n)
    fill(scratch, client, limit + n, -1)
    for i in range(n_clients):
        slot = slots[first + i]
        if 0 <= slot < limit and scratch[client + slot] < 0:
            scratch[client + slot] = <index_t> i
            after = max(after, slot + 1)
        else:
            n_odd += slot != -2
    n_present[0] = n
    return number_rest(scratch, slots, first, n_clients, limit, after, repeats, client) if n_odd else after


# ---- units ----

# The greatest size that is looked at is an anchor above the highest number.
cdef inline offset_t most_slots(offset_t n_clients) noexcept nogil:
    return RATIO * (slot_limit(n_clients) + n_clients)


def scratch_size(offset_t n_queues_max, offset_t n_clients_max):
    return (3 + 1 + KINDS) * n_queues_max + most_slots(n_clients_max) + 2 * slot_limit(n_clients_max) + n_clients_max


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
    cdef offset_t n, queue, repeats, client, n_slots, n_present, owners
    cdef job_t job
    with nogil:
        for unit in range(n_queues.shape[0]):
            n = n_queues[unit]
            if n == 0 or n_clients[unit] == 0:
                continue
            # Behind owners of three sizes.
            job.seed, job.first, job.n_queues = seeds[unit], queue_starts[unit], n
            job.waiting, job.kinds, job.load = 3 * n, 4 * n, (4 + KINDS) * n
            repeats = job.load + most_slots(n_clients[unit])
            client = repeats + slot_limit(n_clients[unit])
            n_slots = number_clients(scratch, slots, slot_starts[unit], n_clients[unit], repeats, client, &n_present)
            if n_present == 0:
                for queue in range(n):
                    out[out_starts[unit] + queue] = -1
                continue
            if chained:
                owners = chained_base(scratch, numbers, &job, n_slots)
            else:
                owners = base(scratch, numbers, &job, n_slots)
            if n_present < n_slots:
                fill_holes(scratch, numbers, &job, n_slots, n_present, client, owners)
            for queue in range(n):
                out[out_starts[unit] + queue] = scratch[client + scratch[owners + queue]]


def number(const offset_t[::1] slot_offsets not None, const index_t[::1] slots not None, index_t[::1] scratch not None,
           index_t[::1] n_numbers not None, index_t[::1] numbers not None):
    cdef Py_ssize_t row
    cdef offset_t lo, n, one, client, n_present
    with nogil:
        for row in range(n_numbers.shape[0]):
            lo, n = slot_offsets[row], slot_offsets[row + 1] - slot_offsets[row]
            client = slot_limit(n)
            n_numbers[row] = <index_t> number_clients(scratch, slots, lo, n, 0, client, &n_present) if n else 0
            fill(numbers, lo, n, -1)
            for one in range(n_numbers[row]):
                if scratch[client + one] >= 0:
                    numbers[lo + scratch[client + one]] = <index_t> one


# The digits of orders stand for slots that the seed decides, so that not the same slots take more in every topic.
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
    cdef offset_t queue, even, at, order, i, client, n_present
    cdef index_t k
    cdef index_t label[DIGITS]
    with nogil:
        for unit in range(n_queues.shape[0]):
            if n_queues[unit] == 0 or n_clients[unit] == 0:
                continue
            client = slot_limit(n_clients[unit])
            number_clients(scratch, slots, slot_starts[unit], n_clients[unit], 0, client, &n_present)
            even = n_queues[unit] - n_queues[unit] % EVEN
            k = n_slots[n_queues[unit] - even if even < n_queues[unit] else EVEN]
            relabel(seeds[unit], k, label)
            for queue in range(n_queues[unit]):
                at = out_starts[unit] + queue
                order = order_starts[EVEN if queue < even else n_queues[unit] - even] + queue % EVEN
                out[at] = -1
                for i in range(order * DIGITS, (order + 1) * DIGITS):
                    if out[at] < 0 and digits[i] < k:
                        out[at] = scratch[client + label[digits[i]]]
