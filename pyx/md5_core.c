/* First 32 bits of MD5 for very many short keys; see md5.h.
 *
 * All keys are a prefix, a decimal number and an ending: an id, '-' and a count; or the text of a queue around its id.
 * The keys of one prefix (a client's points, a route's queues) are a family. Families gather on a tray; a full tray is
 * hashed in lanes (md5_lanes.h), which is where the time goes. Keys that need a second block gather on a tray of their
 * own, lest the others wait for them; what a key needs is decided when its tray is hashed, so a wrong guess only costs time.
 * A string as it is counts as a family of one key without a number.
 *
 * The code for lanes is written once and compiled for every instruction set that the compiler knows; the widest one
 * that the machine has is chosen when the library is loaded. */
#include "isa.h"
#include "md5.h"

#include <string.h>

#if defined(__GNUC__) || defined(__clang__)
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#define NEVER_INLINE __attribute__((noinline))
#define ALIGNED(n) __attribute__((aligned(n)))
#define HIDE(pointer) __asm__("" : "+r"(pointer)) /* else its constants come as immediate moves */
#else
#define ALWAYS_INLINE static inline
#define NEVER_INLINE
#define ALIGNED(n)
#define HIDE(pointer)
#endif
#define NAME_OF(name, isa) name##_##isa
#define TEXT(name) TEXT_OF(name)
#define TEXT_OF(name) #name

enum {
    GROUP = 48,       /* lanes hashed together: a multiple of LANES * STREAMS everywhere */
    FAMILIES = 96,    /* at most on a tray: whole groups also when each has one key */
    CAPACITY = 384,   /* lanes of a tray, if they have more keys */
    ROW = 128,        /* bytes of a prefix on the tray; longer ones leave only their last block there */
    STRIDE = FAMILIES + 16, /* a vector may begin at the last family */
    MAX_DIGITS = 11,  /* -2147483648 */
    SHORT_ROWS = 10,  /* words before the length in which most keys end: four additions less for each of five */
    SPILL_ROWS = 4,   /* words of number and ending that a second block may get */
};

typedef struct {
    const uint8_t *text;
    int64_t length;
} piece_t;

/* What all keys of one call share. */
typedef struct {
    const int32_t *numbers; /* by place; NULL: each family counts up from a number of its own */
    uint32_t *out;
    uint32_t ending, n_ending; /* text after the number, with MD5's end mark 0x80; bytes of it without the mark */
    int numbered;
    int longest; /* bytes of prefix in its last block that, by guess, leave a key within that block */
} task_t;

/* Families that wait to be hashed. */
typedef struct {
    int n_families, n_lanes;
    int shortest, longest; /* bytes of prefix in the last block */
    int has_heads;         /* some prefix fills a block */
    int64_t place[FAMILIES]; /* where its first hash goes */
    uint64_t length[FAMILIES]; /* bytes of prefix */
    uint32_t number[FAMILIES], count[FAMILIES];
    uint32_t state[FAMILIES][4]; /* before the last block, for prefixes of ROW bytes or more */
    ALIGNED(64) uint8_t rows[FAMILIES * ROW + 2 * 64];
} tray_t;

/* Room to hash a tray in. All words are by family or by lane, vector after vector. */
typedef struct {
    ALIGNED(64) uint32_t words[16][STRIDE], start[4][STRIDE], opened[4][STRIDE];
    uint32_t length[STRIDE], length_over[STRIDE];
    ALIGNED(64) uint32_t family[CAPACITY + 2 * GROUP], number[CAPACITY + 2 * GROUP], hash[CAPACITY + GROUP];
    ALIGNED(64) uint32_t rows[32 * GROUP], two[GROUP];
    ALIGNED(64) uint32_t text[4][CAPACITY + GROUP], n_digits[CAPACITY + GROUP];
    int digits;            /* at most: 0, 1, 4 or MAX_DIGITS */
    int shared;            /* steps that the keys of a family share */
    int first_row, n_rows; /* where numbers may stand; rows in use */
    int has_giants;        /* the length in bits of some key needs word 15 */
} work_t;

typedef struct {
    const char *name;
    void (*points)(const uint8_t *, const int64_t *, int64_t, int64_t, const int32_t *, int32_t, uint32_t *);
    void (*queues)(const uint8_t *, const int64_t *, const uint8_t *, const int64_t *, const int32_t *, const int32_t *,
                   const int64_t *, int64_t, int64_t, const int32_t *, uint32_t *);
    void (*strings)(const uint8_t *, const int64_t *, int64_t, int64_t, uint32_t *);
    void (*bare)(const uint32_t *, int64_t, uint32_t *);
} isa_t;

static const uint32_t BEGINNING[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
static const uint32_t SINE[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};
static const ALIGNED(64) uint32_t COUNTING[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

static void clear_tray(tray_t *tray)
{
    tray->n_families = tray->n_lanes = tray->longest = tray->has_heads = 0;
    tray->shortest = 63;
}

static inline int is_full(const tray_t *tray)
{
    return tray->n_families == FAMILIES || tray->n_lanes == CAPACITY;
}

/* Let the family whose prefix stands in the next row onto the tray, with as many of its keys as there is room for.
 * Return how many; the others come again as another family. */
static inline int32_t join(tray_t *tray, int64_t length, int64_t place, uint32_t number, int64_t count)
{
    int f = tray->n_families++, room = CAPACITY - tray->n_lanes, taken = count < room ? (int)count : room;
    int rest = length & 63;
    tray->place[f] = place;
    tray->length[f] = (uint64_t)length;
    tray->number[f] = number;
    tray->count[f] = (uint32_t)taken;
    tray->n_lanes += taken;
    tray->has_heads |= length >= 64;
    tray->shortest = rest < tray->shortest ? rest : tray->shortest;
    tray->longest = rest > tray->longest ? rest : tray->longest;
    return taken;
}

/* The block in which a prefix ends. A vector of families may reach beyond the last one. */
static inline const uint8_t *last_block(const tray_t *tray, int f)
{
    int has_head = f < tray->n_families && tray->length[f] >= 64 && tray->length[f] < ROW;
    return tray->rows + ROW * f + 64 * has_head;
}

/* Whether the tray's places follow each other without a gap, as they do until the other tray takes some. */
static inline int is_contiguous(const tray_t *tray)
{
    int last = tray->n_families - 1;
    return tray->place[last] + tray->count[last] - tray->place[0] == tray->n_lanes;
}

static void gather_numbers(const task_t *task, const tray_t *tray, work_t *work)
{
    uint32_t *to = work->number;
    if (is_contiguous(tray))
        memcpy(to, task->numbers + tray->place[0], (size_t)tray->n_lanes * 4);
    else
        for (int f = 0; f < tray->n_families; to += tray->count[f++])
            memcpy(to, task->numbers + tray->place[f], tray->count[f] * 4);
}

static void deliver(const task_t *task, const tray_t *tray, const work_t *work)
{
    const uint32_t *from = work->hash;
    if (is_contiguous(tray))
        memcpy(task->out + tray->place[0], from, (size_t)tray->n_lanes * 4);
    else
        for (int f = 0; f < tray->n_families; from += tray->count[f++])
            memcpy(task->out + tray->place[f], from, tray->count[f] * 4);
}

/* Bytes of a number in decimal. */
static int decimal_width(int32_t number)
{
    uint32_t rest = number < 0 ? 0u - (uint32_t)number : (uint32_t)number;
    int width = 1 + (number < 0);
    while (rest /= 10)
        width++;
    return width;
}

/* Numbers and endings of all lanes as text, for numbers too wide or negative for the quick way. */
static void write_text(const task_t *task, const tray_t *tray, work_t *work)
{
    for (int lane = 0; lane < tray->n_lanes; lane++) {
        int32_t number = (int32_t)work->number[lane];
        uint32_t rest = number < 0 ? 0u - (uint32_t)number : (uint32_t)number, width = (uint32_t)decimal_width(number);
        uint8_t text[16] = {[0] = '-'};
        text[width] = (uint8_t)task->ending, text[width + 1] = (uint8_t)(task->ending >> 8);
        for (uint32_t i = width; i > (number < 0); rest /= 10)
            text[--i] = (uint8_t)('0' + rest % 10);
        for (int i = 0; i < 4; i++)
            work->text[i][lane] = text[4 * i] | (uint32_t)text[4 * i + 1] << 8 | (uint32_t)text[4 * i + 2] << 16
                                  | (uint32_t)text[4 * i + 3] << 24;
        work->n_digits[lane] = width;
    }
}

/* Decide what the keys of a tray need: how many rows, one block or two. */
static void plan(const task_t *task, const tray_t *tray, work_t *work)
{
    int end = tray->longest + work->digits + (int)task->n_ending; /* at most: where MD5's end mark goes */
    work->first_row = tray->shortest / 4;
    work->has_giants = 0;
    for (int f = 0; f < tray->n_families && tray->has_heads; f++)
        if (tray->length[f] >= (1u << 29) - 64)
            work->has_giants = 1;
    if (work->has_giants)
        for (int f = 0; f < tray->n_families; f++)
            work->length_over[f] = (uint32_t)(tray->length[f] >> 29);
    work->n_rows = end > 55 ? (work->has_giants ? 32 : 16 + SPILL_ROWS) : end < 4 * SHORT_ROWS && !work->has_giants ? SHORT_ROWS : 16;
    if (work->digits == MAX_DIGITS)
        write_text(task, tray, work);
}

/* Copy n <= 128 bytes where there are no masked loads: pieces of fixed size, the last one overlapping. */
static inline void put_pieces(uint8_t *to, const uint8_t *from, int64_t n)
{
    if (n >= 16) {
        for (int64_t i = 0; i < n - 16; i += 16)
            memcpy(to + i, from + i, 16);
        memcpy(to + n - 16, from + n - 16, 16);
    } else if (n >= 8) {
        memcpy(to, from, 8);
        memcpy(to + n - 8, from + n - 8, 8);
    } else if (n >= 4) {
        memcpy(to, from, 4);
        memcpy(to + n - 4, from + n - 4, 4);
    } else
        for (int64_t i = 0; i < n; i++)
            to[i] = from[i];
}

static void absorb(tray_t *tray, const piece_t *pieces, int n_pieces);

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#include "md5_avx512.h"

#include "md5_avx2.h"
#elif defined(__aarch64__) && defined(__GNUC__) && defined(__ARM_NEON) && !defined(__AARCH64EB__)
#include <arm_neon.h>

#include "md5_neon.h"
#endif
#include "md5_scalar.h"

/* Hash the whole blocks of a long prefix one after the other and leave the rest in the tray's next row. */
static void absorb(tray_t *tray, const piece_t *pieces, int n_pieces)
{
    uint8_t *row = tray->rows + ROW * tray->n_families;
    uint32_t *state = tray->state[tray->n_families];
    uint32_t words[17] = {0}, x[4][2]; /* the second stream runs along for nothing, one word ahead */
    int filled = 0;
    memcpy(state, BEGINNING, sizeof BEGINNING);
    for (; n_pieces--; pieces++) {
        const uint8_t *text = pieces->text;
        for (int64_t left = pieces->length; left > 0;) {
            int64_t taken = left < 64 - filled ? left : 64 - filled;
            memcpy(row + filled, text, (size_t)taken);
            filled += (int)taken, text += taken, left -= taken;
            if (filled < 64)
                continue;
            filled = 0;
            transpose_scalar((const uint8_t *const[]){row}, words, 1);
            for (int i = 0; i < 4; i++)
                x[i][0] = x[i][1] = state[i];
            rounds_scalar(words, 1, x[0], x[1], x[2], x[3], 0, 16, 1);
            for (int i = 0; i < 4; i++)
                state[i] += x[i][0];
        }
    }
    memset(row + filled, 0, 64);
}

/* By level; a level that this architecture has not is never chosen. */
static const isa_t *const ISAS[RMQ_ISA_LEVELS] = {
    [RMQ_SCALAR] = &isa_scalar,
#if defined(__x86_64__) && defined(__GNUC__)
    [RMQ_AVX2] = &isa_avx2,
    [RMQ_AVX512] = &isa_avx512,
#elif defined(__aarch64__) && defined(__GNUC__) && defined(__ARM_NEON) && !defined(__AARCH64EB__)
    [RMQ_NEON] = &isa_neon,
#endif
};

static const isa_t *chosen(void)
{
    const isa_t *isa = ISAS[rmq_isa_level()];
    return isa ? isa : &isa_scalar;
}

void rmq_md5_points(const uint8_t *values, const int64_t *offsets, int64_t first, int64_t last,
                    const int32_t *starts, int32_t v, uint32_t *out)
{
    chosen()->points(values, offsets, first, last, starts, v, out);
}

void rmq_md5_queues(const uint8_t *topic_values, const int64_t *topic_offsets,
                    const uint8_t *broker_values, const int64_t *broker_offsets,
                    const int32_t *route_topic, const int32_t *route_broker, const int64_t *route_offsets,
                    int64_t first_route, int64_t last_route, const int32_t *queue_ids, uint32_t *out)
{
    chosen()->queues(topic_values, topic_offsets, broker_values, broker_offsets, route_topic, route_broker, route_offsets,
                   first_route, last_route, queue_ids, out);
}

void rmq_md5_strings(const uint8_t *values, const int64_t *offsets, int64_t first, int64_t last, uint32_t *out)
{
    chosen()->strings(values, offsets, first, last, out);
}

void rmq_md5_bare(const uint32_t *blocks, int64_t n_groups, uint32_t *out) { chosen()->bare(blocks, n_groups, out); }
