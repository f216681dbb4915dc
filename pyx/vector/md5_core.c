/* First 32 bits of MD5 for very many short keys; see md5.h.
 *
 * All keys are a prefix, a decimal number and an ending: an id, '-' and a count; or the text of a queue around its id.
 * The keys of one prefix (a client's points, a route's queues) are a family. Families gather on a tray; a full tray is
 * hashed in lanes (md5_lanes.h), which is where the time goes. Keys that need a second block gather on a tray of their
 * own, lest the others wait for them; which tray is a guess, and what its keys need is found out when it is hashed.
 * A string as it is counts as a family of one key without a number.
 *
 * All of that is written once (md5_keys.h, md5_lanes.h, md5_rounds.h) and compiled for every instruction set, each with
 * a vocabulary of its own (md5_avx512.h and its like); isa.h says which one is used. */
#include "md5.h"

#include "isa.h"

#include <stddef.h>
#include <string.h>

#if RMQ_VECTORS
#define HIDE(pointer) OPAQUE("r", pointer) /* else its constants come as immediate moves */
#define NAME(name) NAME_IN(name, ISA)
#define NAME_IN(name, isa) NAME_OF(name, isa)
#define NAME_OF(name, isa) name##_##isa

enum {
    FAMILIES = 128,    /* at most on a tray */
    CAPACITY = 512,    /* keys at most on a tray; each instruction set rounds it down to whole groups of lanes */
    WIDTH_MAX = 64,    /* lanes hashed together */
    STRIDE = 128 + 16, /* words of a row by family: whole groups, and a vector may begin at the last family */
    ROW = 128,         /* bytes of a prefix on the tray; a longer one leaves only its last block there */
    SHORT_ROWS = 6,    /* words of most keys whose first block is shared */
    SPILL_ROWS = 4,    /* words of number and ending that a second block may get */
    MAX_DIGITS = 11,   /* -2147483648 */
    FEW = 32,          /* keys for which fewer lanes are quicker */
    BARE_WIDTH = 192,  /* messages in a ready-made group: a multiple of what any instruction set hashes together */
};

typedef struct {
    const uint8_t *text;
    int64_t length;
} piece_t;

/* What all keys of one call share. */
typedef struct {
    const int32_t *numbers; /* by place; NULL: each family counts up from a number of its own */
    uint32_t *out;
    uint32_t ending, n_ending; /* text after the number, MD5's end mark 0x80 last; bytes of it before the mark */
    int numbered;
} task_t;

/* Families that wait to be hashed. */
typedef struct {
    int n_families, n_lanes, n_giants;
    int64_t place[FAMILIES];                          /* where the first hash goes */
    uint32_t number[FAMILIES], count[FAMILIES];       /* the first number; keys */
    ALIGNED(64) uint32_t block[FAMILIES + WIDTH_MAX]; /* where in rows the last block of the prefix begins */
    ALIGNED(64) uint32_t length[STRIDE];              /* bytes of the prefix, modulo 2**32 */
    ALIGNED(64) uint8_t rows[STRIDE * ROW];           /* the prefixes */
    struct {
        int family;
        uint32_t over, state[4]; /* bits of the length beyond 32; MD5's state before the last block */
    } giants[FAMILIES]; /* families with prefixes of a row or more */
} tray_t;

/* A tray that is being filled. Its counts stay in registers that way, as long as the same tray is filled. */
typedef struct {
    tray_t *tray;
    int n_families, n_lanes, which;
} filling_t;

/* Room to hash a tray in: words by family, then by lane, then by lane of one group. */
typedef struct {
    ALIGNED(64) uint32_t words[20][STRIDE];                   /* of the last block of the prefix, and four zeros */
    ALIGNED(64) uint32_t start[4][STRIDE], opened[4][STRIDE]; /* states before that block, and some steps into it */
    ALIGNED(64) uint32_t base[STRIDE], over[STRIDE];          /* number minus lane; bits of the length beyond 32 */
    ALIGNED(64) uint32_t own_number[CAPACITY + WIDTH_MAX], own_hash[CAPACITY];
    ALIGNED(64) uint8_t family[CAPACITY + WIDTH_MAX];
    ALIGNED(64) uint32_t rows[32 * WIDTH_MAX], two[WIDTH_MAX]; /* words of the messages; ~0: of two blocks */
    ALIGNED(64) uint32_t text[4][WIDTH_MAX], n_digits[WIDTH_MAX]; /* wide numbers with their endings */
    const uint32_t *number;  /* of each lane: own, or the caller's where they lie as the lanes do */
    uint32_t *hash;          /* likewise */
    int digits;              /* at most: 0, 1, 4 or MAX_DIGITS */
    int shared;              /* steps that all keys of a family share, as far as use is made of them */
    int has_heads, has_over; /* some prefix fills a block; some length in bits exceeds 32 */
    int first_row, last_row; /* number and ending may stand in rows first_row to last_row - 1 */
    int two_blocks;          /* some key may need a second block */
    int is_closed;           /* the prefixes have been given the text after them */
} work_t;

/* Hash one group of lanes, from this one on. */
typedef void hash_group_t(work_t *work, int lane);

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
/* What follows the name of a broker, and zeros to the end of its block. */
static const uint8_t ID_TEXT[80] = ", queueId=";
static const ALIGNED(64) uint32_t COUNTING[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

static inline filling_t begin(tray_t *trays, int which)
{
    trays[which].n_giants = 0;
    return (filling_t){&trays[which], 0, 0, which};
}

/* Let the family whose prefix stands in the next row onto the tray, with as many of its keys as there is room for.
 * Return how many; the others come again as another family. */
static inline int32_t join(filling_t *now, int capacity, int64_t length, int64_t place, uint32_t number, int64_t count)
{
    tray_t *tray = now->tray;
    int f = now->n_families++, room = capacity - now->n_lanes, taken = count < room ? (int)count : room;
    tray->place[f] = place;
    tray->number[f] = number;
    tray->count[f] = (uint32_t)taken;
    tray->block[f] = (uint32_t)(ROW * f + (length >= 64 && length < ROW ? 64 : 0));
    tray->length[f] = (uint32_t)length;
    now->n_lanes += taken;
    return taken;
}

/* Fill this one of the two trays from now on. */
static inline void choose(filling_t *now, filling_t *other, int which)
{
    if (now->which != which) {
        filling_t before = *now;
        *now = *other;
        *other = before;
    }
}

/* The tray as filled so far; a new filling of it begins. */
static inline tray_t *empty(filling_t *now)
{
    now->tray->n_families = now->n_families;
    now->tray->n_lanes = now->n_lanes;
    now->n_families = now->n_lanes = 0;
    return now->tray;
}

/* Whether the tray's places follow each other without a gap, as they do until the other tray takes some. */
static inline int is_contiguous(const tray_t *tray)
{
    int last = tray->n_families - 1;
    return tray->place[last] + tray->count[last] - tray->place[0] == tray->n_lanes;
}

/* Have the numbers read and the hashes written where the caller has them, if the lanes fill whole groups, or else in own room. */
static void place_lanes(const task_t *task, const tray_t *tray, work_t *work, int width)
{
    const int as_they_lie = is_contiguous(tray) && tray->n_lanes % width == 0;
    work->hash = as_they_lie ? task->out + tray->place[0] : work->own_hash;
    work->number = as_they_lie && task->numbers ? (const uint32_t *)task->numbers + tray->place[0] : work->own_number;
    if (task->numbers && !as_they_lie)
        {
        uint32_t *to = work->own_number;
        for (int f = 0; f < tray->n_families; to += tray->count[f++])
            memcpy(to, task->numbers + tray->place[f], tray->count[f] * 4);
    }
}

static void deliver(const task_t *task, const tray_t *tray, const work_t *work)
{
    const uint32_t *from = work->own_hash;
    if (work->hash == from)
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

/* Numbers and endings of some lanes as text, for numbers too wide or negative for the quick way. */
static void write_text(const task_t *task, work_t *work, int first_lane, int n_lanes)
{
    for (int lane = 0; lane < n_lanes; lane++) {
        int32_t number = (int32_t)work->number[first_lane + lane];
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

/* Let each prefix be followed by the digit 0, if keys have a number, and the ending: most keys differ in one digit. */
static void close_prefixes(const task_t *task, tray_t *tray)
{
    uint8_t text[5] = {'0', (uint8_t)task->ending, (uint8_t)(task->ending >> 8)};
    const uint8_t *from = task->numbered ? text : text + 1;
    for (int f = 0; f < tray->n_families; f++)
        memcpy(tray->rows + tray->block[f] + (tray->length[f] & 63), from, 4);
}

/* Correct what the lanes cannot know of prefixes longer than a row. */
static void start_giants(const tray_t *tray, work_t *work)
{
    memset(work->over, 0, sizeof work->over);
    for (int g = 0; g < tray->n_giants; g++) {
        int f = tray->giants[g].family;
        for (int i = 0; i < 4; i++)
            work->start[i][f] = tray->giants[g].state[i];
        work->over[f] = tray->giants[g].over;
    }
}

/* Copy n bytes where there are no masked loads: in pieces of fixed size, the last one overlapping. */
static inline void copy_pieces(uint8_t *to, const uint8_t *from, int64_t n)
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

/* Hash the whole blocks of a prefix of a row or more, and leave the rest in the row of family f. */
static void absorb(tray_t *tray, int f, const piece_t *pieces, int n_pieces);

static NEVER_INLINE void absorb_string(tray_t *tray, int f, const uint8_t *text, int64_t n)
{
    absorb(tray, f, &(piece_t){text, n}, 1);
}

static NEVER_INLINE void absorb_id(tray_t *tray, int f, const uint8_t *id, int64_t n)
{
    absorb(tray, f, (piece_t[]){{id, n}, {(const uint8_t *)"-", 1}}, 2);
}

static NEVER_INLINE void absorb_route(tray_t *tray, int f, const uint8_t *topic, int64_t n_topic, const uint8_t *broker,
                                      int64_t n_broker)
{
    const piece_t pieces[] = {{(const uint8_t *)"MessageQueue [topic=", 20},
                              {topic, n_topic},
                              {(const uint8_t *)", brokerName=", 13},
                              {broker, n_broker},
                              {(const uint8_t *)", queueId=", 10}};
    absorb(tray, f, pieces, 5);
}

/* One inclusion for each instruction set, with the number of streams that measured best. */
#ifdef RMQ_X86
#include <immintrin.h>

#define ISA avx512
#define STREAMS 4
#include "md5_avx512.h"

#define ISA avx512_few
#define STREAMS 1
#include "md5_avx512.h"

#define ISA avx2
#define STREAMS 3
#include "md5_avx2.h"
#endif
#ifdef RMQ_ARM
#include <arm_neon.h>

#define ISA neon
#define STREAMS 3
#include "md5_neon.h"
#endif
#define ISA scalar
#define STREAMS 2
#include "md5_scalar.h"

/* Continue MD5's state by one block. The second stream runs along for nothing, one word ahead. */
static void compress(uint32_t *state, const uint8_t *block)
{
    uint32_t words[17] = {0}, x[4][2];
    transpose_scalar(&block, words, 1);
    for (int i = 0; i < 4; i++)
        x[i][0] = x[i][1] = state[i];
    rounds_scalar(words, 1, x[0], x[1], x[2], x[3], 0, 16, 1);
    for (int i = 0; i < 4; i++)
        state[i] += x[i][0];
}

static void absorb(tray_t *tray, int f, const piece_t *pieces, int n_pieces)
{
    uint8_t *row = tray->rows + ROW * f;
    uint32_t *state = tray->giants[tray->n_giants].state;
    uint64_t length = 0;
    int64_t filled = 0;
    memcpy(state, BEGINNING, sizeof BEGINNING);
    for (; n_pieces--; pieces++) {
        length += (uint64_t)pieces->length;
        for (int64_t at = 0, taken; at < pieces->length; at += taken) {
            taken = pieces->length - at < 64 - filled ? pieces->length - at : 64 - filled;
            memcpy(row + filled, pieces->text + at, (size_t)taken);
            filled = (filled + taken) % 64;
            if (filled == 0)
                compress(state, row);
        }
    }
    memset(row + filled, 0, (size_t)(64 - filled));
    tray->giants[tray->n_giants].family = f;
    tray->giants[tray->n_giants++].over = (uint32_t)(length >> 29);
}

/* 64 lanes of AVX-512 take more than twice the time of 16. */
const rmq_md5_t *rmq_md5(int64_t n_keys)
{
    switch (rmq_isa_level()) {
#ifdef RMQ_X86
    case RMQ_AVX512: return n_keys <= FEW ? &entries_avx512_few : &entries_avx512;
    case RMQ_AVX2: return &entries_avx2;
#endif
#ifdef RMQ_ARM
    case RMQ_NEON: return &entries_neon;
#endif
    case RMQ_SCALAR: return &entries_scalar;
    default: (void)n_keys; return NULL;
    }
}
#else
const rmq_md5_t *rmq_md5(int64_t n_keys) { return (void)n_keys, NULL; }
#endif
