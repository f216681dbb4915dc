# Owners by slot numbers where all slots are present, and where some are not;
# docs/reference/ordinal.md defines every step.
#
# Goals, in this order: the same answer everywhere (integers only, everything decided by names),
# balance to one, few moves. A size is a number of slots. Owners of some sizes, the anchors, are
# drawn; those between come from the two anchors around them.
#
# Inline functions, for slots.pyx.

from typedefs cimport hash_t, index_t, offset_t

ctypedef unsigned long long number_t

cdef extern from "mix.h" nogil:
    const number_t RMQ_GOLDEN
    number_t rmq_mix(number_t z)

cdef extern from "compiler.h" nogil:
    int rmq_leading_zeros(hash_t x)

cdef enum:
    RATIO = 12      # of neighbouring anchors
    DRAWS = 4       # of a queue, before it takes the next slot with room
    LISTS = 7       # of queues: owners of three sizes, those that wait, and three kinds of them

# A unit at work.
cdef struct job_t:
    number_t seed
    const number_t *numbers     # of its queues
    offset_t n_queues
    index_t *waiting            # queues without a slot, in order; behind them are three more lists
    index_t *load               # of every slot

# Room for extra queues, one for each slot: slots from first_new on may have a pool of their own.
cdef struct room_t:
    index_t full
    index_t pool[2]
    offset_t first_new

# The bases of version 2: every slot has a stack of its queues.
cdef struct chain_t:
    index_t *owners
    index_t *top                # of the stack of every slot, -1 for none
    index_t *under              # each queue on its stack

# Queues of one kind between two sizes, in order.
cdef struct kind_t:
    index_t *queues
    offset_t n


# ---- draws ----

# One of n slots for a random number: all alike, and the same for n and n + 1 but for one number in
# n + 1.
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


cdef inline offset_t draw(const job_t *job, index_t queue, int t, offset_t n) noexcept nogil:
    return slot_of(rmq_mix(job.numbers[queue] + t * RMQ_GOLDEN), n)


# ---- slots with room ----

# Whether a slot takes one more, without branches: which it is cannot be foreseen.
cdef inline bint take(index_t *load, index_t full, index_t *pool) noexcept nogil:
    cdef index_t before = load[0]
    cdef bint taken = before < full + (pool[0] > 0)
    pool[0] -= taken & (before == full)
    load[0] = before + taken
    return taken


cdef inline bint take_any(index_t *load, room_t *room, offset_t slot) noexcept nogil:
    return take(load + slot, room.full, &room.pool[slot >= room.first_new])


# Give the waiting queues to slots of n by their draws. A slot is absent if its client is below 0;
# without clients none is.
cdef inline void rounds(const job_t *job, offset_t n_waiting, offset_t n, room_t room, const index_t *client,
                        index_t *owners) noexcept nogil:
    cdef index_t *waiting = job.waiting
    cdef offset_t i, slot, still
    cdef index_t queue
    cdef int t
    for t in range(1, DRAWS):
        still = 0
        for i in range(n_waiting):
            queue = waiting[i]
            slot = draw(job, queue, t, n)
            owners[queue] = <index_t> slot
            waiting[still] = queue
            still += not ((client == NULL or client[slot] >= 0) and take_any(job.load, &room, slot))
        n_waiting = still
    for i in range(n_waiting):
        queue = waiting[i]
        slot = draw(job, queue, DRAWS, n)
        while not ((client == NULL or client[slot] >= 0) and take_any(job.load, &room, slot)):
            slot = slot + 1 if slot + 1 < n else 0
        owners[queue] = <index_t> slot


# ---- sizes ----

cdef inline void fill(index_t *first, offset_t n, index_t value) noexcept nogil:
    cdef offset_t i
    for i in range(n):
        first[i] = value


# Owners at an anchor: by draws alone.
cdef inline void anchor(const job_t *job, offset_t n, index_t *owners) noexcept nogil:
    cdef room_t room
    cdef offset_t queue
    room.full, room.pool[0], room.pool[1] = <index_t> (job.n_queues // n), <index_t> (job.n_queues % n), 0
    room.first_new = n
    fill(job.load, n, 0)
    for queue in range(job.n_queues):
        job.waiting[queue] = <index_t> queue
    rounds(job, job.n_queues, n, room, NULL, owners)


# Room at size c, which has more slots than size a; where there are more slots than queues new ones
# get their share of these.
cdef inline room_t room_between(const job_t *job, offset_t a, offset_t c) noexcept nogil:
    cdef room_t room
    cdef number_t by_lot
    room.full, room.pool[0], room.pool[1] = <index_t> (job.n_queues // c), <index_t> (job.n_queues % c), 0
    room.first_new = c
    if room.full == 0:
        by_lot = (rmq_mix(job.seed + c * RMQ_GOLDEN) >> 32) * <number_t> c >> 32
        room.pool[1] = <index_t> ((<number_t> job.n_queues * <number_t> (c - a) + by_lot) // <number_t> c)
        room.pool[0] -= room.pool[1]
        room.first_new = a
    return room


# Give the queues of one kind to their slots, as far as there is room; the others stay in the list.
# Returns what is left of a pool.
cdef inline index_t settle(const job_t *job, kind_t *kind, const index_t *to, index_t full, index_t pool,
                           index_t *owners) noexcept nogil:
    cdef index_t *queues = kind.queues
    cdef offset_t i, still = 0
    cdef index_t queue
    cdef bint taken
    for i in range(kind.n):
        queue = queues[i]
        taken = take(job.load + to[queue], full, &pool)
        owners[queue] = to[queue] if taken else -1
        queues[still] = queue
        still += not taken
    kind.n = still
    return pool


# Queues that have one owner in both sizes are given to it, the others are listed. Returns what is
# left of the pool.
cdef inline index_t keep(const job_t *job, const index_t *low, const index_t *high, index_t full, index_t pool, kind_t *moving,
                         index_t *owners) noexcept nogil:
    cdef offset_t queue, n_moving = 0
    cdef index_t slot, before
    cdef bint moves, taken
    for queue in range(job.n_queues):
        slot = low[queue]
        before = job.load[slot]
        moves = slot != high[queue]
        taken = (before < full + (pool > 0)) & (not moves)
        pool -= taken & (before == full)
        job.load[slot] = before + taken
        owners[queue] = slot | (taken - 1)
        moving.queues[n_moving] = <index_t> queue
        n_moving += moves
    moving.n = n_moving
    return pool


# Queues that move by their ways: beyond size c, back to a slot below a, or on to one between.
cdef inline void sort_out(const kind_t *moving, const index_t *high, index_t a, index_t c, kind_t *beyond, kind_t *back,
                          kind_t *on) noexcept nogil:
    cdef offset_t n_beyond = 0, n_back = 0, i
    cdef index_t queue, to
    for i in range(moving.n):
        queue = moving.queues[i]
        to = high[queue]
        beyond.queues[n_beyond] = back.queues[n_back] = on.queues[i - n_beyond - n_back] = queue
        n_beyond += to >= c
        n_back += to < a
    beyond.n, back.n, on.n = n_beyond, n_back, moving.n - n_beyond - n_back


# Owners of size c, between size a with owners `low` and a greater size with owners `high`.
cdef inline void between(const job_t *job, offset_t a, offset_t c, const index_t *low, const index_t *high,
                         index_t *owners) noexcept nogil:
    cdef room_t room = room_between(job, a, c)
    cdef index_t full = room.full, pool = room.pool[0]
    cdef kind_t moving, beyond, back, on
    cdef offset_t queue, n_waiting = 0
    moving.queues, beyond.queues = job.waiting, job.waiting + job.n_queues
    back.queues = beyond.queues + job.n_queues
    on.queues = back.queues + job.n_queues
    fill(job.load, c, 0)
    pool = keep(job, low, high, full, pool, &moving, owners)
    sort_out(&moving, high, <index_t> a, <index_t> c, &beyond, &back, &on)
    pool = settle(job, &beyond, low, full, pool, owners)
    if full:
        settle(job, &back, low, full, 0, owners)
        settle(job, &back, high, full, 0, owners)
        settle(job, &on, low, full, 0, owners)
    pool = settle(job, &back, low, full, pool, owners)
    if full:
        pool = settle(job, &on, high, full, pool, owners)
    else:
        room.pool[1] = settle(job, &on, high, full, room.pool[1], owners)
    room.pool[0] = settle(job, &back, high, full, pool, owners)
    for queue in range(job.n_queues):
        job.waiting[n_waiting] = <index_t> queue
        n_waiting += owners[queue] < 0
    rounds(job, n_waiting, c, room, NULL, owners)


# Owners if all n slots are present, in one of three lists, which is returned.
cdef inline index_t *base(const job_t *job, offset_t n, index_t *low, index_t *high, index_t *middle) noexcept nogil:
    cdef offset_t a = 1, b, c
    b = 2 + <offset_t> ((rmq_mix(job.seed) >> 32) * (2 * RATIO - 2) >> 32)
    while b <= n:
        a, b = b, b * RATIO
    if a == 1:
        fill(low, job.n_queues, 0)
    else:
        anchor(job, a, low)
    if a < n:
        anchor(job, b, high)
    while a < n:
        c = a + max(5 * (b - a) // 16, 1)
        between(job, a, c, low, high, middle)
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


cdef inline void push(const chain_t *chain, offset_t slot, index_t queue) noexcept nogil:
    chain.under[queue] = chain.top[slot]
    chain.top[slot] = queue


# The highest of n + 1 slots leaves. Loads are even at every size, so that the sizes say how many
# are above the new least one.
cdef inline void leave(const job_t *job, const chain_t *chain, offset_t n) noexcept nogil:
    cdef room_t room
    cdef offset_t n_waiting = 0
    cdef index_t under, queue = chain.top[n]
    room.full, room.pool[0], room.pool[1] = <index_t> (job.n_queues // n), <index_t> (job.n_queues % n), 0
    room.first_new = n
    if job.n_queues // (n + 1) == room.full:
        room.pool[0] -= <index_t> (job.n_queues % (n + 1)) - (job.load[n] > room.full)
    while queue >= 0:
        job.waiting[n_waiting] = queue
        n_waiting += 1
        queue = chain.under[queue]
    rounds(job, n_waiting, n, room, NULL, chain.owners)
    queue = chain.top[n]
    while queue >= 0:
        under = chain.under[queue]
        push(chain, chain.owners[queue], queue)
        queue = under


# Slot c joins and takes queues of the fullest.
cdef inline void join(const job_t *job, const chain_t *chain, offset_t c) noexcept nogil:
    cdef number_t v = rmq_mix(job.seed + (c + 1) * RMQ_GOLDEN)
    cdef offset_t slot, most = (job.n_queues + c - 1) // c, n_most = job.n_queues - c * (most - 1)
    cdef offset_t i, taken = (job.n_queues + <offset_t> ((v >> 32) * <number_t> (c + 1) >> 32)) // (c + 1)
    cdef index_t queue
    chain.top[c], job.load[c] = -1, <index_t> taken
    for i in range(taken):
        if n_most == 0:
            most, n_most = most - 1, c
        v = rmq_mix(v + RMQ_GOLDEN)
        slot = <offset_t> ((v >> 32) * <number_t> c >> 32)
        while job.load[slot] < most:
            slot = slot + 1 if slot + 1 < c else 0
        queue = chain.top[slot]
        chain.top[slot] = chain.under[queue]
        job.load[slot] -= 1
        n_most -= 1
        push(chain, c, queue)
        chain.owners[queue] = <index_t> c


# Owners if all n slots are present, in the first of two lists. The start has at most two slots for
# each queue, so that loads and tops fit where the other bases have kinds and loads.
cdef inline index_t *chained_base(job_t *job, offset_t n, index_t *first, index_t *second) noexcept nogil:
    cdef offset_t queue, size, start = start_of(job)
    cdef chain_t chain
    job.load = job.waiting + job.n_queues
    chain.owners, chain.under, chain.top = first, second, job.load + max(start, n)
    anchor(job, start, first)
    fill(chain.top, start, -1)
    for queue in range(job.n_queues):
        push(&chain, first[queue], <index_t> queue)
    for size in range(start - 1, n - 1, -1):
        leave(job, &chain, size)
    for size in range(start, n):
        join(job, &chain, size)
    return first


# ---- holes ----

# Give the queues of absent slots to present ones; `client` has the client of each slot, -1 where it
# is absent.
cdef inline void fill_holes(const job_t *job, offset_t n_slots, offset_t n_present, const index_t *client,
                            index_t *owners) noexcept nogil:
    cdef room_t room
    cdef offset_t queue, slot, n_waiting = 0
    room.full, room.pool[0], room.pool[1] = <index_t> (job.n_queues // n_present), <index_t> (job.n_queues % n_present), 0
    room.first_new = n_slots
    fill(job.load, n_slots, 0)
    for queue in range(job.n_queues):
        job.load[owners[queue]] += 1
        job.waiting[n_waiting] = <index_t> queue
        n_waiting += client[owners[queue]] < 0
    for slot in range(n_slots):
        room.pool[0] -= client[slot] >= 0 and job.load[slot] > room.full
    rounds(job, n_waiting, n_slots, room, client, owners)
