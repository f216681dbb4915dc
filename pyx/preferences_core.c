/* Owners of queues by mutual preference; see preferences.h, and docs/strategies/stable.md, which defines the order of pairs.

   A pair is a number of 64 bits, its score and then the queue, so that a greater pair comes first. Going through all pairs would
   take n_queues * n_clients steps and a sort. The same owners come of proposals: every queue asks its best client, a client keeps
   the best that it was ever offered, and whom it refuses asks the next. What a client refused once it refuses ever after, for
   what it holds only gets better; that is the invariant behind `bar`. */
#include "preferences.h"

#include "isa.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))

/* The finalizer of Murmur3. */
INLINE uint32_t mixed(uint32_t h)
{
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
}

INLINE uint32_t score_of(uint32_t queue, uint32_t client)
{
    return mixed(queue ^ client);
}

INLINE uint64_t pair_of(uint32_t score, int32_t queue)
{
    return (uint64_t)score << 32 | (UINT32_MAX - (uint32_t)queue);
}

INLINE int32_t queue_of(uint64_t pair)
{
    return (int32_t)(UINT32_MAX - (uint32_t)pair);
}

#define ISA(name) scalar_##name
#define TARGET
#define LANES 4
#include "preferences_body.h"

#ifdef RMQ_X86
#define ISA(name) avx2_##name
#define TARGET __attribute__((target("avx2")))
#define LANES 8
#include "preferences_body.h"

#define ISA(name) avx512_##name
#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl")))
#define LANES 16
#include "preferences_body.h"
#endif

typedef void first_choices_t(const uint32_t *, int32_t, const uint32_t *, int32_t, uint32_t *, uint32_t *);
typedef int32_t best_of_row_t(uint32_t, const uint32_t *, const uint32_t *, int32_t, uint32_t *);

/* Queues whose first choices are found together: they stay in the nearest cache. A whole number of pairs of vectors. */
#define AT_ONCE 256

/* Lists are read as far as the widest vector goes. */
#define WIDEST 16

INLINE int64_t padded(int64_t n)
{
    return (n + WIDEST - 1) / WIDEST * WIDEST;
}

typedef struct {
    const uint32_t *queues;
    uint32_t *clients; /* padded, as `least` is */
    int32_t n_clients, low, pool, n_extra; /* queues that every client gets; extra ones there are, and are given away */
    best_of_row_t *best_of_row;
    uint64_t *held;    /* low + 1 pairs for each client, the worst first once there are `low` */
    uint64_t *bar;     /* a client takes better pairs than this; it only rises */
    uint32_t *least;   /* its score */
    int32_t *load;
    int32_t *extras;   /* clients that hold one extra, as a heap, the worst extra first */
    int32_t *place;    /* of each client in it */
    int32_t *hidden;   /* clients that are passed over for a moment */
} match_t;

INLINE uint64_t *held_by(const match_t *match, int32_t client)
{
    return match->held + (int64_t)client * (match->low + 1);
}

/* --- Heaps, the least first --- */

static void sink(uint64_t *heap, int32_t n, int32_t at, uint64_t pair)
{
    for (int64_t child = 2 * (int64_t)at + 1; child < n; child = 2 * child + 1) {
        child += child + 1 < n && heap[child + 1] < heap[child];
        if (pair <= heap[child])
            break;
        heap[at] = heap[child];
        at = (int32_t)child;
    }
    heap[at] = pair;
}

static void make_heap(uint64_t *heap, int32_t n)
{
    for (int32_t at = n / 2 - 1; at >= 0; at--)
        sink(heap, n, at, heap[at]);
}

static void rise(uint64_t *heap, int32_t at, uint64_t pair)
{
    for (; at > 0 && pair < heap[(at - 1) / 2]; at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = pair;
}

/* The extra of a client is the worst that it holds. */
INLINE uint64_t extra_of(const match_t *match, int32_t client)
{
    return held_by(match, client)[0];
}

INLINE void put_extra(match_t *match, int32_t at, int32_t client)
{
    match->extras[at] = client;
    match->place[client] = at;
}

static void sink_extra(match_t *match, int32_t at, int32_t client)
{
    const uint64_t extra = extra_of(match, client);
    for (int64_t child = 2 * (int64_t)at + 1; child < match->n_extra; child = 2 * child + 1) {
        child += child + 1 < match->n_extra && extra_of(match, match->extras[child + 1]) < extra_of(match, match->extras[child]);
        if (extra <= extra_of(match, match->extras[child]))
            break;
        put_extra(match, at, match->extras[child]);
        at = (int32_t)child;
    }
    put_extra(match, at, client);
}

static void add_extra(match_t *match, int32_t client)
{
    const uint64_t extra = extra_of(match, client);
    int32_t at = match->n_extra++;
    for (; at > 0 && extra < extra_of(match, match->extras[(at - 1) / 2]); at = (at - 1) / 2)
        put_extra(match, at, match->extras[(at - 1) / 2]);
    put_extra(match, at, client);
}

/* --- Proposals --- */

INLINE void raise_bar(match_t *match, int32_t client, uint64_t pair)
{
    if (pair > match->bar[client]) {
        match->bar[client] = pair;
        match->least[client] = (uint32_t)(pair >> 32);
    }
}

/* Offer a pair to a client. Returns the pair that is left without one, 0 for none, and who refuses it. */
static uint64_t offer(match_t *match, int32_t client, uint64_t pair, int32_t *refuser)
{
    uint64_t *held = held_by(match, client);
    int32_t *load = &match->load[client];
    const int32_t low = match->low;
    *refuser = client;
    if (*load < low) {
        held[(*load)++] = pair;
        if (*load == low)
            make_heap(held, low);
        return 0;
    }
    if (*load > low) { /* its own extra is the one to go */
        const uint64_t worst = held[0];
        if (pair < worst)
            return pair;
        sink(held, low + 1, 0, pair);
        sink_extra(match, match->place[client], client);
        raise_bar(match, client, held[0]);
        return worst;
    }
    const uint64_t extra = low && held[0] < pair ? held[0] : pair;
    if (match->n_extra < match->pool) {
        rise(held, (*load)++, pair);
        add_extra(match, client);
        raise_bar(match, client, held[0]);
        return 0;
    }
    if (match->pool && extra > extra_of(match, match->extras[0])) { /* the worst extra of all goes */
        const int32_t other = *refuser = match->extras[0];
        uint64_t *theirs = held_by(match, other);
        const uint64_t worst = theirs[0];
        match->load[other]--;
        if (low)
            sink(theirs, low, 0, theirs[low]);
        rise(held, (*load)++, pair);
        sink_extra(match, 0, client);
        raise_bar(match, client, held[0]);
        return worst;
    }
    if (extra != pair)
        sink(held, low, 0, pair);
    return extra;
}

/* The best client for a queue among those that take it, pair by pair. */
static int32_t exact_choice(const match_t *match, int32_t queue, uint64_t *pair)
{
    int32_t choice = -1;
    *pair = 0;
    for (int32_t client = 0; client < match->n_clients; client++) {
        const uint64_t one = pair_of(score_of(match->queues[queue], match->clients[client]), queue);
        if (one > match->bar[client] && one > *pair)
            *pair = one, choice = client;
    }
    return choice;
}

/* The same by vectors of scores alone. Who reaches the score of a bar and not the bar is passed over and the next is looked
   for; mostly that is the client alone that has just refused this very queue. */
static int32_t next_choice(match_t *match, int32_t queue, int32_t refuser, uint64_t *pair)
{
    int32_t n_hidden = 0, choice = refuser;
    int is_found = 0;
    while (!is_found && choice < match->n_clients && match->least[choice] < UINT32_MAX) {
        uint32_t best;
        match->least[choice]++;
        match->hidden[n_hidden++] = choice;
        choice = match->best_of_row(match->queues[queue], match->clients, match->least, match->n_clients, &best);
        if (best == 0) /* a score, or nobody */
            break;
        *pair = pair_of(best, queue);
        is_found = choice < match->n_clients && *pair > match->bar[choice];
    }
    while (n_hidden)
        match->least[match->hidden[--n_hidden]]--;
    return is_found ? choice : exact_choice(match, queue, pair);
}

/* Have a queue ask a client, and whichever queue is left without one ask on. */
static void settle(match_t *match, int32_t client, uint64_t pair)
{
    int32_t refuser;
    for (uint64_t left; (left = offer(match, client, pair, &refuser)) != 0;) {
        raise_bar(match, refuser, left);
        client = next_choice(match, queue_of(left), refuser, &pair);
    }
}

typedef struct {
    first_choices_t *first_choices;
    best_of_row_t *best_of_row;
} for_isa_t;

static for_isa_t for_isa(void)
{
    switch (rmq_isa_level()) {
#ifdef RMQ_X86
    case RMQ_AVX512:
        return (for_isa_t){avx512_first_choices, avx512_best_of_row};
    case RMQ_AVX2:
        return (for_isa_t){avx2_first_choices, avx2_best_of_row};
#endif
    default: /* four lanes are SSE2 or NEON */
        return (for_isa_t){scalar_first_choices, scalar_best_of_row};
    }
}

static void lay_out(match_t *match, const uint32_t *clients, uint64_t *scratch)
{
    const int64_t n = match->n_clients, wide = padded(n);
    match->bar = scratch;
    match->held = scratch + n;
    match->clients = (uint32_t *)(match->held + n * (match->low + 1));
    match->least = match->clients + wide;
    match->load = (int32_t *)(match->least + wide);
    match->extras = match->load + n;
    match->place = match->extras + n;
    match->hidden = match->place + n;
    memset(match->bar, 0, (size_t)n * sizeof *match->bar);
    memset(match->load, 0, (size_t)n * sizeof *match->load);
    for (int64_t client = 0; client < wide; client++) {
        match->clients[client] = client < n ? clients[client] : 0;
        match->least[client] = client < n ? 0 : UINT32_MAX;
    }
}

void rmq_preferences_match(const uint32_t *queues, int32_t n_queues, const uint32_t *clients, int32_t n_clients,
                           uint64_t *scratch, int32_t *out)
{
    const for_isa_t isa = for_isa();
    match_t match = {.queues = queues, .n_clients = n_clients, .low = n_queues / n_clients, .pool = n_queues % n_clients,
                     .best_of_row = isa.best_of_row};
    lay_out(&match, clients, scratch);
    uint32_t some[AT_ONCE], best[AT_ONCE], choice[AT_ONCE];
    for (int32_t first = 0; first < n_queues; first += AT_ONCE) {
        const int32_t n = n_queues - first < AT_ONCE ? n_queues - first : AT_ONCE;
        memcpy(some, queues + first, (size_t)n * sizeof *some);
        for (int32_t i = n; i % (2 * WIDEST); i++)
            some[i] = 0;
        isa.first_choices(some, n, clients, n_clients, best, choice);
        for (int32_t i = 0; i < n; i++)
            settle(&match, (int32_t)choice[i], pair_of(best[i], first + i));
    }
    for (int32_t client = 0; client < n_clients; client++)
        for (int32_t i = 0; i < match.load[client]; i++)
            out[queue_of(held_by(&match, client)[i])] = client;
}

/* --- The draft --- */

/* The greatest first. */
static void sort_falling(uint64_t *numbers, int32_t n)
{
    make_heap(numbers, n);
    for (int32_t left = n - 1; left > 0; left--) {
        const uint64_t least = numbers[0];
        sink(numbers, left, 0, numbers[left]);
        numbers[left] = least;
    }
}

/* A client's next favourites: its best pairs below one, in order, as many as asked for or as there are. */
static int32_t favourites(const uint32_t *queues, int32_t n_queues, uint32_t client, uint64_t below, int32_t n, uint64_t *out)
{
    int32_t found = 0;
    for (int32_t queue = 0; queue < n_queues; queue++) {
        const uint64_t pair = pair_of(score_of(queues[queue], client), queue);
        if (pair >= below || (found == n && pair < out[0]))
            continue;
        if (found < n)
            rise(out, found++, pair);
        else
            sink(out, n, 0, pair);
    }
    sort_falling(out, found);
    return found;
}

/* Favourites that are looked up together. */
static int32_t draft_size(int64_t n_queues, int64_t n_clients)
{
    const int64_t size = 2 * (n_queues / n_clients) + 16;
    return (int32_t)(size < n_queues ? size : n_queues);
}

typedef struct {
    const uint32_t *queues, *clients;
    int32_t n_queues, n_clients, low, most, pool, size, free;
    uint64_t *favourite; /* `size` pairs for each client */
    uint64_t *asked;     /* what clients ask for in a round: a second score, and the client counted down */
    int32_t *load, *n_favourites;
} draft_t;

INLINE int has_room(const draft_t *draft, int32_t client)
{
    return draft->load[client] < draft->low || (draft->load[client] < draft->most && draft->pool > 0);
}

/* Each client asks for its favourite at this place in its list; conflicts go by the second score. */
static void hold_round(draft_t *draft, int32_t place, int32_t *out)
{
    int32_t n_asked = 0;
    for (int32_t client = 0; client < draft->n_clients; client++) {
        if (place >= draft->n_favourites[client] || !has_room(draft, client))
            continue;
        const int32_t queue = queue_of(draft->favourite[(int64_t)client * draft->size + place]);
        if (out[queue] < 0)
            draft->asked[n_asked++] =
                pair_of(mixed(draft->clients[client] + 0x1234567u * draft->queues[queue]), client);
    }
    sort_falling(draft->asked, n_asked);
    for (int32_t i = 0; i < n_asked; i++) {
        const int32_t client = queue_of(draft->asked[i]);
        const int32_t queue = queue_of(draft->favourite[(int64_t)client * draft->size + place]);
        if (out[queue] >= 0 || !has_room(draft, client))
            continue;
        draft->pool -= draft->load[client]++ >= draft->low;
        out[queue] = client;
        draft->free--;
    }
}

/* Look up the next favourites of clients that still have room. */
static void look_up(draft_t *draft, int is_first)
{
    for (int32_t client = 0; client < draft->n_clients; client++) {
        uint64_t *mine = draft->favourite + (int64_t)client * draft->size;
        const uint64_t below = is_first ? UINT64_MAX : draft->n_favourites[client] ? mine[draft->n_favourites[client] - 1] : 0;
        draft->n_favourites[client] =
            has_room(draft, client)
                ? favourites(draft->queues, draft->n_queues, draft->clients[client], below, draft->size, mine)
                : 0;
    }
}

void rmq_preferences_draft(const uint32_t *queues, int32_t n_queues, const uint32_t *clients, int32_t n_clients,
                           uint64_t *scratch, int32_t *out)
{
    const int64_t n = n_clients, nearest = (2 * (int64_t)n_queues + n) / (2 * n);
    draft_t draft = {.queues = queues, .clients = clients, .n_queues = n_queues, .n_clients = n_clients,
                     .low = (int32_t)(nearest > 0 ? nearest - 1 : 0), .most = (int32_t)nearest + 1,
                     .size = draft_size(n_queues, n), .free = n_queues, .favourite = scratch};
    draft.pool = (int32_t)(n_queues - n * draft.low);
    draft.asked = draft.favourite + n * draft.size;
    draft.load = (int32_t *)(draft.asked + n);
    draft.n_favourites = draft.load + n;
    memset(draft.load, 0, (size_t)n * sizeof *draft.load);
    memset(out, -1, (size_t)n_queues * sizeof *out);
    for (int32_t round = 0; draft.free; round++) {
        if (round % draft.size == 0)
            look_up(&draft, round == 0);
        hold_round(&draft, round % draft.size, out);
    }
}

/* Enough for every unit of no more queues and no more clients: neither sum may have a quotient in it, which falls as clients
   grow in number. */
int64_t rmq_preferences_scratch_size(int64_t n_queues, int64_t n_clients)
{
    const int64_t match = n_queues + 5 * n_clients + padded(n_clients), draft = 2 * n_queues + (16 + 3) * n_clients;
    return match > draft ? match : draft;
}
