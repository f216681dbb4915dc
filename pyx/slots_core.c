/* Owners of queues by slot numbers; see slots.h, and docs/strategies/ordinal.md, which defines every step.

   Goals, in this order: the same answer everywhere (integers only, everything decided by names), balance to one, few moves. A size
   is a number of slots. Owners of some sizes, the anchors, are drawn; those between come from the two anchors around them. */
#include "slots.h"

#include "compiler.h"
#include "mix.h"

#include <string.h>

#define RATIO 12       /* of neighbouring anchors */
#define DRAWS 4        /* of a queue, before it takes the next slot with room */
#define KINDS 4        /* of queues between two sizes */

typedef struct {
    const uint64_t *numbers; /* of the queues */
    uint64_t seed;
    int32_t n_queues;
    int32_t *load;           /* of every slot */
    int32_t *kind[KINDS];    /* queues of each kind, in order */
    int32_t *waiting;        /* queues without a slot, in order */
} job_t;

/* Room for extra queues, one for each slot: slots from first_new on may have a pool of their own. */
typedef struct {
    int32_t full, pool[2];
    int64_t first_new;
} room_t;

/* One of n slots for a random number: all alike, and the same for n and n + 1 but for one number in n + 1. */
INLINE int32_t slot_of(uint64_t u, int64_t n)
{
    if (n < 2)
        return 0;
    uint32_t rest = (uint32_t)u & (UINT32_MAX >> rmq_leading_zeros((uint32_t)(n - 1)));
    while (rest) {
        const uint32_t top = UINT32_C(1) << (31 - rmq_leading_zeros(rest));
        uint64_t v = rmq_mix(u + top);
        uint32_t w = top + ((uint32_t)(v >> 32) & (top - 1));
        for (;;) {
            if (w < n)
                return (int32_t)w;
            v = rmq_mix(v);
            w = (uint32_t)(v >> 32) & (2 * top - 1);
            if (w < top)
                break;
        }
        rest -= top;
    }
    return 0;
}

INLINE int32_t draw(const job_t *job, int32_t queue, int t, int64_t n)
{
    return slot_of(rmq_mix(job->numbers[queue] + (uint64_t)t * RMQ_GOLDEN), n);
}

/* Whether a slot takes one more, without branches: which it is cannot be foreseen. */
INLINE int take(int32_t *load, int32_t full)
{
    const int taken = *load < full;
    *load += taken;
    return taken;
}

INLINE int take_extra(int32_t *load, int32_t full, int32_t *pool)
{
    const int extra = (*load == full) & (*pool > 0), taken = (*load < full) | extra;
    *pool -= extra;
    *load += taken;
    return taken;
}

INLINE int32_t *pool_of(room_t *room, int32_t slot)
{
    return &room->pool[slot >= room->first_new];
}

/* Give the waiting queues to slots of n by their draws. A slot is absent if its place in `client` is below 0. */
INLINE void rounds(job_t *job, int32_t n_waiting, int64_t n, room_t *room, const int32_t *client, int32_t *owners)
{
    for (int t = 1; t < DRAWS && n_waiting; t++) {
        int32_t still = 0;
        for (int32_t i = 0; i < n_waiting; i++) {
            const int32_t queue = job->waiting[i], slot = draw(job, queue, t, n);
            const int taken =
                (client == NULL || client[slot] >= 0) && take_extra(&job->load[slot], room->full, pool_of(room, slot));
            owners[queue] = slot;
            job->waiting[still] = queue;
            still += !taken;
        }
        n_waiting = still;
    }
    for (int32_t i = 0; i < n_waiting; i++) {
        int32_t slot = draw(job, job->waiting[i], DRAWS, n);
        while ((client != NULL && client[slot] < 0) || !take_extra(&job->load[slot], room->full, pool_of(room, slot)))
            slot = slot + 1 < n ? slot + 1 : 0;
        owners[job->waiting[i]] = slot;
    }
}

/* Owners at an anchor: by draws alone. */
static void anchor(job_t *job, int64_t n, int32_t *owners)
{
    room_t room = {(int32_t)(job->n_queues / n), {(int32_t)(job->n_queues % n), 0}, INT64_MAX};
    memset(job->load, 0, (size_t)n * sizeof *job->load);
    for (int32_t queue = 0; queue < job->n_queues; queue++)
        job->waiting[queue] = queue;
    rounds(job, job->n_queues, n, &room, NULL, owners);
}

static room_t room_between(const job_t *job, int64_t a, int64_t c)
{
    const int32_t m = job->n_queues;
    room_t room = {(int32_t)(m / c), {(int32_t)(m % c), 0}, INT64_MAX};
    if (room.full == 0) { /* new slots get their share of the few */
        const uint64_t r = (rmq_mix(job->seed + (uint64_t)c * RMQ_GOLDEN) >> 32) * (uint64_t)c >> 32;
        const int32_t share = (int32_t)(((uint64_t)m * (uint64_t)(c - a) + r) / (uint64_t)c);
        room = (room_t){0, {m - share, share}, a};
    }
    return room;
}

enum { SAME, GOES_BEYOND, GOES_BACK, GOES_ON };

INLINE void sort_out(job_t *job, int64_t a, int64_t c, const int32_t *low, const int32_t *high, int32_t *counts,
                     int32_t *owners)
{
    for (int32_t queue = 0; queue < job->n_queues; queue++) {
        const int32_t to = high[queue];
        const int kind = low[queue] == to ? SAME : to >= c ? GOES_BEYOND : to < a ? GOES_BACK : GOES_ON;
        job->kind[kind][counts[kind]++] = queue;
        owners[queue] = -1;
    }
}

/* Give the queues of one kind to their slots, as far as there is room; the others stay in the list. */
INLINE void pass(job_t *job, int kind, int32_t *count, const int32_t *to, room_t *room, int with_pool, int32_t *owners)
{
    int32_t *queues = job->kind[kind], still = 0;
    for (int32_t i = 0; i < *count; i++) {
        const int32_t queue = queues[i], slot = to[queue];
        const int taken = with_pool ? take_extra(&job->load[slot], room->full, pool_of(room, slot))
                                    : take(&job->load[slot], room->full);
        owners[queue] = taken ? slot : -1;
        queues[still] = queue;
        still += !taken;
    }
    *count = still;
}

/* Owners of size c, between size a with owners `low` and a greater size with owners `high`. */
static void between(job_t *job, int64_t a, int64_t c, const int32_t *low, const int32_t *high, int32_t *owners)
{
    room_t room = room_between(job, a, c);
    int32_t counts[KINDS] = {0};
    memset(job->load, 0, (size_t)c * sizeof *job->load);
    sort_out(job, a, c, low, high, counts, owners);
    pass(job, SAME, &counts[SAME], low, &room, 1, owners);
    pass(job, GOES_BEYOND, &counts[GOES_BEYOND], low, &room, 1, owners);
    pass(job, GOES_BACK, &counts[GOES_BACK], low, &room, 0, owners);
    pass(job, GOES_BACK, &counts[GOES_BACK], high, &room, 0, owners);
    pass(job, GOES_ON, &counts[GOES_ON], low, &room, 0, owners);
    pass(job, GOES_BACK, &counts[GOES_BACK], low, &room, 1, owners);
    pass(job, GOES_ON, &counts[GOES_ON], high, &room, 1, owners);
    pass(job, GOES_BACK, &counts[GOES_BACK], high, &room, 1, owners);
    int32_t n_waiting = 0;
    for (int32_t queue = 0; queue < job->n_queues; queue++) {
        job->waiting[n_waiting] = queue;
        n_waiting += owners[queue] < 0;
    }
    rounds(job, n_waiting, c, &room, NULL, owners);
}

/* Owners if all n slots are present, in one of the three vectors. */
static int32_t *base(job_t *job, int64_t n, int32_t *low, int32_t *high, int32_t *middle)
{
    int64_t a = 1, b = 2 + (int64_t)((rmq_mix(job->seed) >> 32) * (2 * RATIO - 2) >> 32);
    while (b <= n)
        a = b, b *= RATIO;
    if (a == 1)
        memset(low, 0, (size_t)job->n_queues * sizeof *low);
    else
        anchor(job, a, low);
    if (a < n)
        anchor(job, b, high);
    while (a < n) {
        const int64_t part = 5 * (b - a) / 16, c = a + (part > 1 ? part : 1);
        between(job, a, c, low, high, middle);
        int32_t *const made = middle;
        if (c <= n)
            middle = low, low = made, a = c;
        else
            middle = high, high = made, b = c;
    }
    return low;
}

/* Give the queues of absent slots to present ones; `client` has the client of each slot, -1 where it is absent. */
static void fill_holes(job_t *job, int64_t n_slots, int32_t n_present, const int32_t *client, int32_t *owners)
{
    room_t room = {job->n_queues / n_present, {job->n_queues % n_present, 0}, INT64_MAX};
    int32_t n_waiting = 0;
    memset(job->load, 0, (size_t)n_slots * sizeof *job->load);
    for (int32_t queue = 0; queue < job->n_queues; queue++) {
        job->load[owners[queue]]++;
        job->waiting[n_waiting] = queue;
        n_waiting += client[owners[queue]] < 0;
    }
    for (int64_t slot = 0; slot < n_slots; slot++)
        room.pool[0] -= client[slot] >= 0 && job->load[slot] > room.full;
    rounds(job, n_waiting, n_slots, &room, client, owners);
}

/* The slots up to which a slot counts, for so many clients. */
INLINE int64_t slot_limit(int64_t n_clients)
{
    return 4 * n_clients + 64;
}

/* Which client has each number, -1 for none. Returns how many numbers there are; `present` gets the number of clients. */
static int64_t number_clients(const int32_t *slots, int32_t n_clients, int32_t *repeats, int32_t *client, int32_t *present)
{
    int32_t n = 0, odd = 0;
    int64_t next = 0;
    for (int32_t i = 0; i < n_clients; i++)
        n += slots[i] != -2;
    *present = n;
    const int64_t limit = slot_limit(n);
    memset(client, -1, (size_t)(limit + n) * sizeof *client);
    for (int32_t i = 0; i < n_clients; i++) {
        const int64_t slot = slots[i];
        if (slot >= 0 && slot < limit && client[slot] < 0) {
            client[slot] = i;
            next = slot >= next ? slot + 1 : next;
        } else {
            odd += slot != -2;
        }
    }
    if (!odd)
        return next;
    /* Those that repeat a slot go on by slot and position, then those without a usable one by position. */
    memset(repeats, 0, (size_t)limit * sizeof *repeats);
    for (int32_t i = 0; i < n_clients; i++)
        if (slots[i] >= 0 && slots[i] < limit && client[slots[i]] != i)
            repeats[slots[i]]++;
    int64_t after = next;
    for (int64_t slot = 0; slot < limit; slot++) {
        const int32_t count = repeats[slot];
        repeats[slot] = (int32_t)after;
        after += count;
    }
    for (int32_t i = 0; i < n_clients; i++) {
        const int64_t slot = slots[i];
        if (slot == -2 || (slot >= 0 && slot < limit && client[slot] == i))
            continue;
        client[slot >= 0 && slot < limit ? repeats[slot]++ : after++] = i;
    }
    return after;
}

/* The greatest size that is looked at is an anchor above the highest number. */
static int64_t most_slots(int64_t n_clients)
{
    return RATIO * (slot_limit(n_clients) + n_clients);
}

int64_t rmq_slots_scratch_size(int64_t n_queues, int64_t n_clients)
{
    return (3 + KINDS + 1) * n_queues + most_slots(n_clients) + 2 * slot_limit(n_clients) + n_clients;
}

void rmq_slots_own(uint64_t seed, const uint64_t *numbers, int32_t n_queues, const int32_t *slots, int32_t n_clients,
                   int32_t *scratch, int32_t *out)
{
    int32_t *const low = scratch, *const high = low + n_queues, *const middle = high + n_queues;
    job_t job = {.numbers = numbers, .seed = seed, .n_queues = n_queues, .waiting = middle + n_queues};
    int32_t *rest = job.waiting + n_queues;
    for (int kind = 0; kind < KINDS; kind++, rest += n_queues)
        job.kind[kind] = rest;
    job.load = rest;
    int32_t *const repeats = job.load + most_slots(n_clients), *const client = repeats + slot_limit(n_clients);
    int32_t n_present;
    const int64_t n_slots = number_clients(slots, n_clients, repeats, client, &n_present);
    if (n_present == 0) {
        memset(out, -1, (size_t)n_queues * sizeof *out);
        return;
    }
    int32_t *owners = base(&job, n_slots, low, high, middle);
    if (n_present < n_slots)
        fill_holes(&job, n_slots, n_present, client, owners);
    for (int32_t queue = 0; queue < n_queues; queue++)
        out[queue] = client[owners[queue]];
}

int64_t rmq_slots_number(const int32_t *slots, int32_t n_clients, int32_t *scratch, int32_t *numbers)
{
    int32_t *const client = scratch + slot_limit(n_clients), n_present;
    const int64_t n_slots = number_clients(slots, n_clients, scratch, client, &n_present);
    memset(numbers, -1, (size_t)n_clients * sizeof *numbers);
    for (int64_t number = 0; number < n_slots; number++)
        if (client[number] >= 0)
            numbers[client[number]] = (int32_t)number;
    return n_slots;
}

/* The digits of orders stand for slots that the seed decides, so that not the same slots take more in every topic. */
static void relabel(uint64_t seed, int32_t k, int32_t *label)
{
    for (int32_t digit = 0; digit < k; digit++)
        label[digit] = digit;
    for (int32_t i = k - 1; i > 0; i--) {
        const int32_t j = (int32_t)((rmq_mix(seed + (uint64_t)i * RMQ_GOLDEN) >> 32) * (uint64_t)(i + 1) >> 32);
        const int32_t kept = label[i];
        label[i] = label[j];
        label[j] = kept;
    }
}

void rmq_slots_by_orders(uint64_t seed, const rmq_orders_t *orders, int32_t n_queues, const int32_t *slots, int32_t n_clients,
                         int32_t *scratch, int32_t *out)
{
    int32_t *const client = scratch + slot_limit(n_clients), n_present, label[RMQ_DIGITS];
    const int32_t rest = n_queues % RMQ_EVEN, k = orders->n_slots[rest ? rest : RMQ_EVEN];
    number_clients(slots, n_clients, scratch, client, &n_present);
    relabel(seed, k, label);
    for (int32_t queue = 0; queue < n_queues; queue++) {
        const int even = queue < n_queues - rest;
        const int64_t row = even ? orders->starts[RMQ_EVEN] + queue % RMQ_EVEN : orders->starts[rest] + queue % RMQ_EVEN;
        out[queue] = -1;
        for (int i = 0; i < RMQ_DIGITS && out[queue] < 0; i++) {
            const int32_t digit = orders->digits[row * RMQ_DIGITS + i];
            if (digit < k)
                out[queue] = client[label[digit]];
        }
    }
}
