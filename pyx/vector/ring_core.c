/* Which client owns the first point at or after a hash; see ring.h.

   There are three ways, and the counts alone say which is cheapest:
     scan     all points against all queues, in vectors: nothing to build, so best while points or queues are few;
     search   sort the points, then rank each queue among them;
     sift     sort the queues, rank each point among them, and keep the least point of each gap: for many more points
              than queues, where sorting the points would be most of the work.
   To sort and to rank, the circle is cut into cells, about one for each key. No branch depends on the data: hashes are
   random, and a mispredicted branch costs more than the rest of a step. Keys that crowd into few cells (made-up
   hashes, never MD5) are left to the plain loop. */
#include "ring.h"

#include "isa.h"

#include <stddef.h>
#include <string.h>

#if RMQ_VECTORS

/* A key is a point, its sign bit flipped so that signed comparison serves, above SLOT_MASK - slot: of equal points the
   last inserted comes first. */
#define SLOT_MASK 0x7fffffffu
#define KEY(point, low) ((int64_t)((uint64_t)((point) ^ 0x80000000u) << 32 | (low)))
#define POINT(key) ((uint32_t)((uint64_t)(key) >> 32) ^ 0x80000000u)
#define SLOT(key) ((int32_t)(SLOT_MASK - (uint32_t)(key)))

/* Keys compared at once, from the beginning of a cell on. */
#define WINDOW 4
/* With more keys than this in one cell they are not random. */
#define CROWD 16

struct rmq_ring_engine {
    double scan_cost; /* picoseconds for one point against one vector of queues */
    int lane_bits;    /* that vector has 2^lane_bits of them */
    void (*scan)(const rmq_ring_t *ring, const uint32_t *hashes, int64_t n_queues, int32_t *owners);
    void (*settle)(const int64_t *cast, const rmq_table_t *table);
    void (*search)(const rmq_table_t *ring, const uint32_t *hashes, int64_t n_queues, int32_t *owners);
    void (*sift)(const rmq_ring_t *ring, const rmq_table_t *queues, int64_t *least);
};

/* Sort cast[begin:end] into keys[begin:end] by insertion. */
static void insert(const int64_t *cast, int64_t begin, int64_t end, int64_t *keys)
{
    for (int64_t i = begin; i < end; i++) {
        const int64_t key = cast[i];
        int64_t place = i;
        for (; place > begin && keys[place - 1] > key; place--)
            keys[place] = keys[place - 1];
        keys[place] = key;
    }
}

/* Sort keys that already lie in their cells. */
static void scalar_settle(const int64_t *cast, const rmq_table_t *table) { insert(cast, 0, table->n, table->keys); }

/* ---- four lanes: SSE2, NEON, or whatever there is ---- */

#define BELOW_KEY(w, key) (((w)[0] < (key)) + ((w)[1] < (key)) + ((w)[2] < (key)) + ((w)[3] < (key)))

VECTOR(int32_t, four_t, 16);
VECTOR(uint32_t, unsigned_four_t, 16);

static inline four_t four_load(const void *from, int n)
{
    four_t four = {0};
    if (n == 4)
        memcpy(&four, from, sizeof four);
    else
        for (int i = 0; i < n; i++)
            four[i] = ((const int32_t *)from)[i];
    return four;
}

static inline void four_store(int32_t *to, int n, four_t four)
{
    if (n == 4)
        memcpy(to, &four, sizeof four);
    else
        for (int i = 0; i < n; i++)
            to[i] = four[i];
}

static inline four_t four_choose(four_t mask, four_t a, four_t b) { return (a & mask) | (b & ~mask); }

#define ISA(name) scalar_##name
#define TARGET
#define LANES 4
#define lanes_t four_t
#define LOAD(from, n) four_load(from, n)
#define STORE(to, n, lanes) four_store(to, n, lanes)
#define SPREAD(value) ((four_t){value, value, value, value})
#define LEAST(a, b) four_choose((a) < (b), a, b)
#define MINUS(a, b) ((four_t)((unsigned_four_t)(a) - (unsigned_four_t)(b)))
#define CLAIM(owner, best, near, slot) four_choose((near) <= (best), slot, owner)
#define BELOW(window, key) BELOW_KEY(window, key)
#include "ring_body.h"

#define FOUR {390, 2, scalar_scan, scalar_settle, scalar_search, scalar_sift}

#ifdef RMQ_X86
#include <immintrin.h>

#define AVX2 BUILT_FOR("avx2,bmi2,popcnt")
#define AVX512 BUILT_FOR("avx2,bmi2,popcnt,avx512f,avx512bw,avx512vl")

AVX2 static inline int avx2_count(__m256i mask)
{
    return rmq_count_bits((uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(mask)));
}

AVX2 static inline int avx2_below(const int64_t *window, int64_t key)
{
    return avx2_count(_mm256_cmpgt_epi64(_mm256_set1_epi64x(key), _mm256_loadu_si256((const __m256i *)window)));
}

/* Sort keys that already lie in their cells: a key's place is the beginning of its cell plus the keys of a window from
   there on that are smaller, or equal and earlier (so that equal keys get different places). */
AVX2 static void avx2_settle(const int64_t *cast, const rmq_table_t *table)
{
    static const int64_t EARLIER[2 * WINDOW] = {1, 1, 1, 1, 0, 0, 0, 0};
    const rmq_table_t t = *table; /* a copy cannot change by what is written, so it stays in registers */
    for (int64_t i = 0; i < t.n; i++) {
        const uint32_t cell = POINT(cast[i]) >> t.shift;
        const int64_t begin = t.cells[cell];
        if (UNLIKELY(i - begin == WINDOW)) { /* too many: what the window said of this cell is wrong */
            while (i + 1 < t.n && POINT(cast[i + 1]) >> t.shift == cell)
                i++;
            insert(cast, begin, i + 1, t.keys);
            continue;
        }
        const __m256i window = _mm256_loadu_si256((const __m256i *)(cast + begin));
        const __m256i earlier = _mm256_loadu_si256((const __m256i *)(EARLIER + WINDOW - (i - begin)));
        const __m256i bound = _mm256_add_epi64(_mm256_set1_epi64x(cast[i]), earlier);
        t.keys[begin + avx2_count(_mm256_cmpgt_epi64(bound, window))] = cast[i];
    }
}

AVX2 static inline __m256i avx2_first(int n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

#define ISA(name) avx2_##name
#define TARGET AVX2
#define LANES 8
#define lanes_t __m256i
#define LOAD(from, n) _mm256_maskload_epi32((const int *)(from), avx2_first(n))
#define STORE(to, n, lanes) _mm256_maskstore_epi32(to, avx2_first(n), lanes)
#define SPREAD(value) _mm256_set1_epi32(value)
#define LEAST(a, b) _mm256_min_epi32(a, b)
#define MINUS(a, b) _mm256_sub_epi32(a, b)
#define CLAIM(owner, best, near, slot) _mm256_blendv_epi8(slot, owner, _mm256_cmpgt_epi32(near, best))
#define BELOW(window, key) avx2_below(window, key)
#include "ring_body.h"

#define ISA(name) avx512_##name
#define TARGET AVX512
#define LANES 16
#define lanes_t __m512i
#define LOAD(from, n) _mm512_maskz_loadu_epi32((__mmask16)((1u << (n)) - 1), from)
#define STORE(to, n, lanes) _mm512_mask_storeu_epi32(to, (__mmask16)((1u << (n)) - 1), lanes)
#define SPREAD(value) _mm512_set1_epi32(value)
#define LEAST(a, b) _mm512_min_epi32(a, b)
#define MINUS(a, b) _mm512_sub_epi32(a, b)
#define CLAIM(owner, best, near, slot) _mm512_mask_mov_epi32(owner, _mm512_cmple_epi32_mask(near, best), slot)
#define BELOW(window, key) avx2_below(window, key)
#include "ring_body.h"
#endif

static const struct rmq_ring_engine ENGINES[RMQ_ISA_LEVELS] = {
    [RMQ_PLAIN] = FOUR, /* of rings that were begun at another level */
    [RMQ_SCALAR] = FOUR,
    [RMQ_NEON] = FOUR,
#ifdef RMQ_X86
    [RMQ_AVX2] = {140, 3, avx2_scan, avx2_settle, avx2_search, avx2_sift},
    [RMQ_AVX512] = {280, 4, avx512_scan, avx2_settle, avx512_search, avx512_sift},
#endif
};

/* ---- what is the same for every instruction set ---- */

/* Words for n keys and a window beyond them. */
static int64_t room(int64_t n) { return n + WINDOW; }

/* Put keys beyond the last that are below no key asked for; `low` is their lower half. */
static void fence(int64_t *keys, int64_t n, uint32_t low)
{
    for (int i = 0; i < WINDOW; i++)
        keys[n + i] = KEY(UINT32_MAX, low);
}

/* Lay a table for n keys into the scratch, behind the room in which they are cast. */
static rmq_table_t lay(int64_t *scratch, int64_t n)
{
    int bits = 1;
    while (bits < 31 && (int64_t)1 << bits < n)
        bits++;
    return (rmq_table_t){scratch + room(n), (uint32_t *)(scratch + 2 * room(n)), n, 32 - bits};
}

/* Count the points of each cell and let each cell name its end; 0 if one is crowded. */
static int count(const rmq_table_t *table, const uint32_t *points)
{
    const int64_t n_cells = (int64_t)1 << (32 - table->shift);
    uint32_t *cells = table->cells, end = 0, fullest = 0;
    memset(cells, 0, (size_t)n_cells * sizeof *cells);
    for (int64_t i = 0; i < table->n; i++)
        cells[points[i] >> table->shift]++;
    for (int64_t c = 0; c < n_cells; c++) {
        fullest = cells[c] > fullest ? cells[c] : fullest;
        cells[c] = end += cells[c];
    }
    return fullest <= CROWD;
}

/* Sort points, or hashes, of which `each` consecutive ones share a slot; 0 if they are too crowded for cells. */
static int sort(const rmq_ring_t *ring, const rmq_table_t *table, const uint32_t *points, int32_t n_slots, int32_t each)
{
    int64_t *cast = ring->scratch;
    const rmq_table_t t = *table;
    if (!count(table, points))
        return 0;
    /* Filled from their ends, cells are left naming their beginnings. */
    for (int32_t slot = 0; slot < n_slots; slot++)
        for (const uint32_t *end = points + each; points < end; points++)
            cast[--t.cells[*points >> t.shift]] = KEY(*points, SLOT_MASK - (uint32_t)slot);
    fence(cast, t.n, UINT32_MAX);
    ring->engine->settle(cast, table);
    fence(t.keys, t.n, UINT32_MAX);
    return 1;
}

enum way { CROWDED, NO_POINTS, SCAN, SEARCH, SIFT };

/* The cheapest way, by costs in picoseconds as measured (a scan also compares once a client). What is sifted is fewer
   than half the points, so scratch that serves the points serves the queues. */
static enum way choose(const rmq_ring_t *ring, int64_t n_queues, int64_t n_spans)
{
    const int bits = ring->engine->lane_bits;
    const double points = (double)ring->n_points, clients = ring->n_clients, queues = (double)n_queues;
    const double vectors = (double)((n_queues + n_spans * ((1 << bits) - 1)) >> bits);
    const double scan = vectors * (points * ring->engine->scan_cost + clients * 650);
    const double search = 50e3 + 3200 * points + 1600 * queues;
    const double sift = n_spans == 1 ? 50e3 + 1600 * points + 5500 * queues : search;
    if (ring->n_points == 0)
        return NO_POINTS;
    if (scan <= search && scan <= sift)
        return SCAN;
    return sift < search ? SIFT : SEARCH;
}

static enum way build(rmq_ring_t *ring)
{
    ring->table = lay(ring->scratch, ring->n_points);
    if (!sort(ring, &ring->table, ring->points, ring->n_clients, ring->virtual_nodes))
        return CROWDED;
    /* Beyond the last point comes the first one's client again. */
    fence(ring->table.keys, ring->n_points, (uint32_t)ring->table.keys[0]);
    return SEARCH;
}

static void start(rmq_ring_t *ring, int32_t virtual_nodes, uint64_t *scratch)
{
    *ring = (rmq_ring_t){.engine = &ENGINES[rmq_isa_level()], .scratch = (int64_t *)scratch};
    ring->virtual_nodes = virtual_nodes;
}

static int take(rmq_ring_t *ring, const uint32_t *points, int32_t n_clients, int64_t n_queues, int64_t n_spans)
{
    ring->points = points;
    ring->n_clients = n_clients;
    ring->n_points = (int64_t)n_clients * ring->virtual_nodes;
    ring->way = (int)choose(ring, n_queues, n_spans);
    if (ring->way == SEARCH)
        ring->way = (int)build(ring);
    return ring->way != CROWDED;
}

static int sift_begin(rmq_ring_t *ring, const uint32_t *hashes, int64_t n_queues)
{
    const rmq_table_t queues = lay(ring->scratch, n_queues);
    int64_t *least = ring->scratch; /* once sorted, the keys no longer need this room */
    if (!sort(ring, &queues, hashes, (int32_t)n_queues, 1))
        return 0;
    for (int64_t gap = 0; gap <= n_queues; gap++)
        least[gap] = INT64_MAX;
    return 1;
}

static void sift_some(rmq_ring_t *ring, const uint32_t *points, int32_t first_slot, int32_t n_clients, int64_t n_queues)
{
    const rmq_table_t queues = lay(ring->scratch, n_queues);
    ring->points = points;
    ring->first_slot = first_slot;
    ring->n_clients = n_clients;
    ring->engine->sift(ring, &queues, ring->scratch);
}

/* Let each queue take the least point of the first gap, from its own up, that has one. */
static void sift_end(rmq_ring_t *ring, int64_t n_queues, int32_t *owners)
{
    const rmq_table_t queues = lay(ring->scratch, n_queues);
    const int64_t *least = ring->scratch;
    int64_t nearest = INT64_MAX;
    for (int64_t gap = 0; gap <= n_queues; gap++) /* beyond the last queue comes the least point of all */
        nearest = least[gap] < nearest ? least[gap] : nearest;
    for (int64_t gap = n_queues; gap > 0; gap--) {
        const int64_t empty = -(int64_t)(least[gap] == INT64_MAX);
        nearest = (nearest & empty) | (least[gap] & ~empty);
        owners[SLOT(queues.keys[gap - 1])] = SLOT(nearest);
    }
}

/* All points at once; 0 if the queues are crowded. */
static int sift(rmq_ring_t *ring, const uint32_t *hashes, int64_t n_queues, int32_t *owners)
{
    if (!sift_begin(ring, hashes, n_queues))
        return 0;
    sift_some(ring, ring->points, 0, ring->n_clients, n_queues);
    sift_end(ring, n_queues, owners);
    return 1;
}

static int locate(rmq_ring_t *ring, const uint32_t *hashes, int64_t n_queues, int32_t *owners)
{
    if (ring->way == SIFT && !sift(ring, hashes, n_queues, owners))
        ring->way = (int)build(ring);
    switch (ring->way) {
    case NO_POINTS: memset(owners, 0xff, (size_t)n_queues * sizeof *owners); return 1; /* -1 */
    case SCAN: ring->engine->scan(ring, hashes, n_queues, owners); return 1;
    case SEARCH: ring->engine->search(&ring->table, hashes, n_queues, owners); return 1;
    default: return ring->way == SIFT; /* done above */
    }
}

static const rmq_rings_t RINGS = {start, take, locate, sift_begin, sift_some, sift_end};

const rmq_rings_t *rmq_rings(int is_begun) { return rmq_isa_level() == RMQ_PLAIN && !is_begun ? NULL : &RINGS; }
#else
const rmq_rings_t *rmq_rings(int is_begun)
{
    (void)is_begun;
    return NULL;
}
#endif
