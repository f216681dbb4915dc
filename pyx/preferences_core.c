/* Owners of queues by mutual preference; see preferences.h, and docs/strategies/stable.md, which defines the order of pairs.

   A pair is a number of 64 bits, its score counted down and then the queue, so that a lesser pair comes first. Going through all
   pairs would take a sort of n_queues * n_clients. It is enough to go through one of each queue, that with its best client. When
   its turn comes and this client is full, the queue gets another turn, with its best client of those that are not: all pairs
   between are of full clients, which stay full. */
#include "preferences.h"

#include "isa.h"

#include <string.h>

/* The finalizer of Murmur3. */
INLINE uint32_t mixed(uint32_t h)
{
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
}

INLINE uint64_t pair_of(uint32_t score, int32_t queue)
{
    return (uint64_t)~score << 32 | (uint32_t)queue;
}

INLINE int32_t queue_of(uint64_t pair)
{
    return (int32_t)(uint32_t)pair;
}

/* Queues that are looked at together: they stay in the nearest cache. A whole number of pairs of vectors. */
#define AT_ONCE 256

/* Pairs that are sorted by comparing each with each. */
#define FEW 64

/* The pairs of a client that are at least a bound, and greater by no more than a width; how many they are. */
INLINE int32_t find_band(const uint32_t *queues, int32_t n_queues, uint32_t client, uint64_t bound, uint64_t width, uint64_t *out)
{
    uint32_t score[AT_ONCE];
    int32_t found = 0;
    for (int32_t first = 0; first < n_queues; first += AT_ONCE) {
        const int32_t n = n_queues - first < AT_ONCE ? n_queues - first : AT_ONCE;
        for (int32_t i = 0; i < n; i++)
            score[i] = mixed(queues[first + i] ^ client);
        for (int32_t i = 0; i < n; i++) { /* without branches: which it is cannot be foreseen */
            const uint64_t pair = pair_of(score[i], first + i);
            out[found] = pair;
            found += pair - bound <= width;
        }
    }
    return found;
}

#if RMQ_VECTORS
#define ISA(name) scalar_##name
#define TARGET
#define LANES 4
#include "preferences_body.h"
#else
#include "preferences_plain.h"
#endif

#ifdef RMQ_X86
#include <immintrin.h>

#define ISA(name) avx2_##name
#define TARGET BUILT_FOR("avx2")
#define LANES 8
#define GREATER(a, b) ((lanes_t)_mm256_max_epu32((__m256i)(a), (__m256i)(b)))
#include "preferences_body.h"

#define ISA(name) avx512_##name
#define TARGET BUILT_FOR("avx512f,avx512bw,avx512vl")
#define LANES 16
#include "preferences_body.h"
#endif

typedef void first_choices_t(const uint32_t *, int32_t, const uint32_t *, int32_t, uint32_t *, uint32_t *);
typedef int32_t best_open_t(uint32_t, const uint32_t *, const uint32_t *, int32_t, uint32_t *);
typedef int32_t find_band_t(const uint32_t *, int32_t, uint32_t, uint64_t, uint64_t, uint64_t *);
typedef void sort_few_t(const uint64_t *, int32_t, uint64_t *);

/* Lists are read as far as the widest vector goes. */
#define WIDEST 16

INLINE int64_t padded(int64_t n)
{
    return (n + WIDEST - 1) / WIDEST * WIDEST;
}

typedef struct {
    first_choices_t *first_choices;
    best_open_t *best_open;
    find_band_t *find_band;
    sort_few_t *sort_few;
} for_isa_t;

static for_isa_t for_isa(void)
{
    switch (rmq_isa_level()) {
#ifdef RMQ_X86
    case RMQ_AVX512:
        return (for_isa_t){avx512_first_choices, avx512_best_open, avx512_find_band, avx512_sort_few};
    case RMQ_AVX2:
        return (for_isa_t){avx2_first_choices, avx2_best_open, avx2_find_band, avx2_sort_few};
#endif
    default: /* four lanes are SSE2 or NEON */
        return (for_isa_t){scalar_first_choices, scalar_best_open, scalar_find_band, scalar_sort_few};
    }
}

/* --- In order --- */

#define DIGIT 8
#define N_DIGITS 4 /* of a score; even, so that the last pass ends where the first began */

/* Sort by scores alone, which keeps the order of queues where these are equal. */
static void sort_many(uint64_t *pairs, int32_t n, uint64_t *room)
{
    uint32_t starts[N_DIGITS][1 << DIGIT] = {{0}};
    for (int32_t i = 0; i < n; i++)
        for (int digit = 0; digit < N_DIGITS; digit++)
            starts[digit][pairs[i] >> (32 + digit * DIGIT) & ((1 << DIGIT) - 1)]++;
    for (int digit = 0; digit < N_DIGITS; digit++) {
        uint32_t start = 0;
        for (int value = 0; value < 1 << DIGIT; value++) {
            const uint32_t count = starts[digit][value];
            starts[digit][value] = start;
            start += count;
        }
        for (int32_t i = 0; i < n; i++)
            room[starts[digit][pairs[i] >> (32 + digit * DIGIT) & ((1 << DIGIT) - 1)]++] = pairs[i];
        uint64_t *const swapped = pairs;
        pairs = room, room = swapped;
    }
}

/* Pairs in order: they are where they were, or in the room. */
INLINE uint64_t *sorted(const for_isa_t *isa, uint64_t *pairs, int32_t n, uint64_t *room)
{
    if (n > FEW) {
        sort_many(pairs, n, room);
        return pairs;
    }
    isa->sort_few(pairs, n, room);
    return room;
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

static void rise(uint64_t *heap, int32_t at, uint64_t pair)
{
    for (; at > 0 && pair < heap[(at - 1) / 2]; at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = pair;
}

/* --- The match --- */

typedef struct {
    const uint32_t *queues;
    uint32_t *clients; /* padded, as `open` is */
    uint32_t *open;    /* all bits of a client that has room, else none */
    int32_t *load;
    int32_t n_clients, low, pool; /* queues that every client gets, and extra ones that are left */
    uint64_t *sorted;  /* pairs of queues with their first choices, the best first */
    uint64_t *waiting; /* pairs of queues with later choices, as a heap */
    int32_t n_waiting;
    best_open_t *best_open;
} match_t;

static void lay_out(match_t *match, const uint32_t *clients, int32_t n_queues, uint64_t *scratch)
{
    const int64_t n = match->n_clients, wide = padded(n);
    match->sorted = scratch;
    match->waiting = scratch + n_queues + 1;
    match->clients = (uint32_t *)(match->waiting + n_queues + 1);
    match->open = match->clients + wide;
    match->load = (int32_t *)(match->open + wide);
    memcpy(match->clients, clients, (size_t)n * sizeof *clients);
    memset(match->open, -1, (size_t)n * sizeof *match->open);
    memset(match->open + n, 0, (size_t)(2 * wide - n) * sizeof *match->open); /* and the loads, which follow */
}

/* Pairs of all queues with their first choices, in order. The choices themselves are left in `out`. */
static void sort_first_choices(match_t *match, const for_isa_t *isa, int32_t n_queues, int32_t *out)
{
    uint64_t *pairs = match->waiting;
    uint32_t some[AT_ONCE], best[AT_ONCE], choice[AT_ONCE];
    for (int32_t first = 0; first < n_queues; first += AT_ONCE) {
        const int32_t n = n_queues - first < AT_ONCE ? n_queues - first : AT_ONCE;
        memcpy(some, match->queues + first, (size_t)n * sizeof *some);
        for (int32_t i = n; i % (2 * WIDEST); i++)
            some[i] = 0;
        isa->first_choices(some, n, match->clients, match->n_clients, best, choice);
        memcpy(out + first, choice, (size_t)n * sizeof *out);
        for (int32_t i = 0; i < n; i++)
            pairs[first + i] = pair_of(best[i], first + i);
    }
    if (sorted(isa, pairs, n_queues, match->sorted) == pairs)
        match->waiting = match->sorted, match->sorted = pairs;
    match->sorted[n_queues] = UINT64_MAX;
}

/* Give a client one more. As the last extra queue goes, all that have no more than theirs are closed. */
INLINE void take(match_t *match, int32_t client)
{
    const int is_extra = match->load[client]++ >= match->low;
    match->pool -= is_extra;
    match->open[client] = 0u - (match->load[client] < match->low + (match->pool > 0));
    if (is_extra && match->pool == 0)
        for (int32_t other = 0; other < match->n_clients; other++)
            match->open[other] = 0u - (match->load[other] < match->low);
}

/* A queue whose choice is closed waits with its best client among those that are open. */
static int32_t choose_again(match_t *match, int32_t queue)
{
    uint32_t score;
    int32_t client = match->best_open(match->queues[queue], match->clients, match->open, match->n_clients, &score);
    if (score == 0) /* which is that of closed ones, too */
        for (client = 0; !match->open[client];)
            client++;
    rise(match->waiting, match->n_waiting++, pair_of(score, queue));
    return client;
}

INLINE uint64_t next_pair(match_t *match, int32_t *place)
{
    if (match->n_waiting == 0 || match->sorted[*place] < match->waiting[0])
        return match->sorted[(*place)++];
    const uint64_t pair = match->waiting[0];
    match->n_waiting--;
    sink(match->waiting, match->n_waiting, 0, match->waiting[match->n_waiting]);
    return pair;
}

void rmq_preferences_match(const uint32_t *queues, int32_t n_queues, const uint32_t *clients, int32_t n_clients,
                           uint64_t *scratch, int32_t *out)
{
    const for_isa_t isa = for_isa();
    match_t match = {.queues = queues, .n_clients = n_clients, .low = n_queues / n_clients, .pool = n_queues % n_clients,
                     .best_open = isa.best_open};
    lay_out(&match, clients, n_queues, scratch);
    sort_first_choices(&match, &isa, n_queues, out);
    int32_t place = 0;
    for (int32_t left = n_queues; left;) {
        const int32_t queue = queue_of(next_pair(&match, &place)), client = out[queue];
        if (match.open[client]) {
            take(&match, client);
            left--;
        } else {
            out[queue] = choose_again(&match, queue);
        }
    }
}

/* --- The draft --- */

typedef struct {
    const uint32_t *queues, *clients;
    int32_t n_queues, low, most, pool; /* the extra queues that are left */
    int32_t *load;
    int32_t *active;     /* clients that had room as favourites were looked up */
    uint64_t *bound;     /* of each of them: what comes before it was looked up */
    int32_t *favourite;  /* `size` queues for each */
    int64_t n_kept;      /* favourites that there is memory for */
    int32_t n_active, size;
    uint64_t *found, *room; /* pairs, of queues that one client likes or of clients that ask, and room to sort them */
} draft_t;

INLINE int has_room(const draft_t *draft, int32_t client)
{
    return draft->load[client] < draft->low || (draft->load[client] < draft->most && draft->pool > 0);
}

/* A client's next favourites, in order. Scores are even, so that a band of them has about as many as it should. */
static void look_up_of(draft_t *draft, const for_isa_t *isa, int32_t at)
{
    const uint64_t each = UINT64_MAX / (uint64_t)draft->n_queues, wanted = (uint64_t)draft->size * 5 / 4 + 8;
    const uint32_t client = draft->clients[draft->active[at]];
    uint64_t *bound = &draft->bound[draft->active[at]];
    int32_t n = 0;
    for (uint64_t times = wanted; n < draft->size; times *= 2) {
        const uint64_t rest = UINT64_MAX - *bound, width = times > rest / each ? rest : times * each;
        n = isa->find_band(draft->queues, draft->n_queues, client, *bound, width, draft->found);
    }
    const uint64_t *pairs = sorted(isa, draft->found, n, draft->room);
    for (int32_t i = 0; i < draft->size; i++)
        draft->favourite[(int64_t)at * draft->size + i] = queue_of(pairs[i]);
    *bound = pairs[draft->size - 1] + 1;
}

/* Look up the next favourites of clients that still have room, the more the fewer these are. */
static void look_up(draft_t *draft, const for_isa_t *isa, int32_t round)
{
    int32_t n = 0;
    for (int32_t at = 0; at < draft->n_active; at++) {
        draft->active[n] = draft->active[at];
        n += has_room(draft, draft->active[n]);
    }
    draft->n_active = n;
    const int64_t size = draft->n_kept / n, rest = draft->n_queues - round;
    draft->size = (int32_t)(size < rest ? size : rest);
    for (int32_t at = 0; at < n; at++)
        look_up_of(draft, isa, at);
}

/* Each client asks for its favourite at this place in its list; conflicts go by the second score. Returns how many queues go. */
static int32_t hold_round(draft_t *draft, const for_isa_t *isa, int32_t place, int32_t *out)
{
    int32_t n_asked = 0, gone = 0;
    for (int32_t at = 0; at < draft->n_active; at++) {
        const int32_t client = draft->active[at], queue = draft->favourite[(int64_t)at * draft->size + place];
        if (out[queue] < 0 && has_room(draft, client))
            draft->found[n_asked++] = pair_of(mixed(draft->clients[client] + 0x1234567u * draft->queues[queue]), at);
    }
    const uint64_t *asked = sorted(isa, draft->found, n_asked, draft->room);
    for (int32_t i = 0; i < n_asked; i++) {
        const int32_t at = queue_of(asked[i]), client = draft->active[at];
        const int32_t queue = draft->favourite[(int64_t)at * draft->size + place];
        if (out[queue] >= 0 || !has_room(draft, client))
            continue;
        draft->pool -= draft->load[client]++ >= draft->low;
        out[queue] = client;
        gone++;
    }
    return gone;
}

/* Favourites that are kept at a time. */
static int64_t n_kept(int64_t n_queues, int64_t n_clients)
{
    return 2 * n_queues + 16 * n_clients;
}

void rmq_preferences_draft(const uint32_t *queues, int32_t n_queues, const uint32_t *clients, int32_t n_clients,
                           uint64_t *scratch, int32_t *out)
{
    const for_isa_t isa = for_isa();
    const int64_t n = n_clients, nearest = (2 * (int64_t)n_queues + n) / (2 * n), most = n_queues + n;
    draft_t draft = {.queues = queues, .clients = clients, .n_queues = n_queues, .n_active = n_clients,
                     .low = (int32_t)(nearest > 0 ? nearest - 1 : 0), .most = (int32_t)nearest + 1,
                     .n_kept = n_kept(n_queues, n), .found = scratch, .room = scratch + most, .bound = scratch + 2 * most};
    draft.pool = (int32_t)(n_queues - n * draft.low);
    draft.load = (int32_t *)(draft.bound + n);
    draft.active = draft.load + n;
    draft.favourite = draft.active + n;
    memset(draft.bound, 0, (size_t)n * sizeof *draft.bound);
    memset(draft.load, 0, (size_t)n * sizeof *draft.load);
    for (int32_t client = 0; client < n_clients; client++)
        draft.active[client] = client;
    memset(out, -1, (size_t)n_queues * sizeof *out);
    int32_t left = n_queues;
    for (int32_t round = 0, place = 0; left; round++, place++) {
        if (place == draft.size) {
            look_up(&draft, &isa, round);
            place = 0;
        }
        left -= hold_round(&draft, &isa, place, out);
    }
}

/* Enough for every unit of no more queues and no more clients: neither sum may have a quotient in it, which falls as clients
   grow in number. */
int64_t rmq_preferences_scratch_size(int64_t n_queues, int64_t n_clients)
{
    const int64_t match = 2 * (n_queues + 1) + 3 * padded(n_clients) / 2 + 1;
    const int64_t draft = 2 * (n_queues + n_clients) + 2 * n_clients + n_kept(n_queues, n_clients) / 2;
    return match > draft ? match : draft;
}
