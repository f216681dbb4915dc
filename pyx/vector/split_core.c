/* Splits of a run of queues among clients; see split.h. The vectors are the compiler's own: it makes of them the widest
   instructions that the target of a function has. What such a loop costs is one store for each vector of queues, and for units
   that are neither long nor small one division each. */
#include "split.h"

#include "isa.h"

#include <stddef.h>
#include <string.h>
#ifdef RMQ_X86
#include <immintrin.h>
#endif

#if RMQ_VECTORS
/* From this many queues on it pays to align the stores. */
#define LONG 4096
/* Blocks shorter than this are not written one by one. */
#define SHORT 32
/* Below this many queues a quotient of floats is exact. */
#define EXACT (1 << 21)

/* The first sixteen queues of a unit of n clients, round and round; n = 16 stands for more, too. */
#define ROUND(n) {0 % n, 1 % n, 2 % n, 3 % n, 4 % n, 5 % n, 6 % n, 7 % n, 8 % n, 9 % n, 10 % n, 11 % n, 12 % n, 13 % n, 14 % n, 15 % n}
static const ALIGNED(64) int32_t ROUNDS[17][16] = {
    {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
    ROUND(1), ROUND(2), ROUND(3), ROUND(4), ROUND(5), ROUND(6), ROUND(7), ROUND(8),
    ROUND(9), ROUND(10), ROUND(11), ROUND(12), ROUND(13), ROUND(14), ROUND(15), ROUND(16),
};

/* Middles of the first sixteen queues, and one over 0 (which stays 0: no client has a share) to SHORT. */
#define EIGHT(y) 1.0f / (y), 1.0f / (y + 1), 1.0f / (y + 2), 1.0f / (y + 3), 1.0f / (y + 4), 1.0f / (y + 5), 1.0f / (y + 6), 1.0f / (y + 7)
static const ALIGNED(64) float PLACES[16] = {0.5f, 1.5f, 2.5f, 3.5f, 4.5f, 5.5f, 6.5f, 7.5f,
                                             8.5f, 9.5f, 10.5f, 11.5f, 12.5f, 13.5f, 14.5f, 15.5f};
static const float SHARES[SHORT + 1] = {0, EIGHT(1), EIGHT(9), EIGHT(17), EIGHT(25)};

#ifdef RMQ_X86
/* Owners of up to 32 queues in blocks of 0 to 15 clients: PATTERNS[n][m % 32] begins with those of m queues. Only they are looked
   at; a unit without queues has none, so row 0 is that of 32. in_blocks of split_body.h has the rule. */
#define SIZE(m, n) ((m) / (n) ? (m) / (n) : 1)
#define BEFORE(q, m, n) ((q) / ((m) / (n) + 1))
#define BEHIND(q, m, n) (((q) - (m) % (n)) / SIZE(m, n))
#define OWNER(q, m, n) (BEFORE(q, m, n) > BEHIND(q, m, n) ? BEFORE(q, m, n) : BEHIND(q, m, n))
#define OWNERS_4(q, m, n) OWNER(q, m, n), OWNER(q + 1, m, n), OWNER(q + 2, m, n), OWNER(q + 3, m, n)
#define OWNERS_16(q, m, n) OWNERS_4(q, m, n), OWNERS_4(q + 4, m, n), OWNERS_4(q + 8, m, n), OWNERS_4(q + 12, m, n)
#define PATTERN(m, n) {OWNERS_16(0, m, n), OWNERS_16(16, m, n)}
#define PATTERNS_4(m, n) PATTERN(m, n), PATTERN(m + 1, n), PATTERN(m + 2, n), PATTERN(m + 3, n)
#define PATTERNS_OF(n)                                                                                                         \
    {PATTERN(32, n),   PATTERN(1, n),     PATTERN(2, n),     PATTERN(3, n),     PATTERNS_4(4, n), PATTERNS_4(8, n),            \
     PATTERNS_4(12, n), PATTERNS_4(16, n), PATTERNS_4(20, n), PATTERNS_4(24, n), PATTERNS_4(28, n)}
#define NOBODY_8 -1, -1, -1, -1, -1, -1, -1, -1
#define NOBODY {NOBODY_8, NOBODY_8, NOBODY_8, NOBODY_8}
#define NOBODY_OF_8 NOBODY, NOBODY, NOBODY, NOBODY, NOBODY, NOBODY, NOBODY, NOBODY
static const ALIGNED(64) int8_t PATTERNS[16][32][32] = {
    {NOBODY_OF_8, NOBODY_OF_8, NOBODY_OF_8, NOBODY_OF_8},
    PATTERNS_OF(1), PATTERNS_OF(2), PATTERNS_OF(3), PATTERNS_OF(4), PATTERNS_OF(5), PATTERNS_OF(6), PATTERNS_OF(7), PATTERNS_OF(8),
    PATTERNS_OF(9), PATTERNS_OF(10), PATTERNS_OF(11), PATTERNS_OF(12), PATTERNS_OF(13), PATTERNS_OF(14), PATTERNS_OF(15),
};

/* Two kilobytes: a line is there before its turn, and has not been driven out again. */
#define LEAD 2048
#endif

/* Units that are looked at together before any of their queues is written. Their sizes and shares are found in vectors, and what
   is read comes in bursts: in turns with the writing it waits for the writing. More of them would wait for what is noted of
   them. */
#define CHUNK 48

/* How the units of a chunk are cut into blocks: see in_blocks of split_body.h. */
typedef struct {
    ALIGNED(64) float extra[CHUNK];
    ALIGNED(64) float bigger[CHUNK];
    ALIGNED(64) float share[CHUNK];
} shares_t;

VECTOR(float, four_t, 16);

INLINE four_t scalar_larger(four_t a, four_t b)
{
    VECTOR(int32_t, mask_t, 16);
    const mask_t second = a < b;
    return (four_t)(((mask_t)b & second) | ((mask_t)a & ~second));
}

VECTOR(int32_t, four_integers_t, 16);

/* One of them is from 0 on; the other may be below 0, which without a sign is much. */
INLINE four_integers_t scalar_lesser(four_integers_t a, four_integers_t b)
{
    return b + ((a - b) & (b >> 31));
}

#define ISA(name) scalar_##name
#define TARGET
#define LANES 4
#define AHEAD 0
#define LARGER(a, b) scalar_larger(a, b)
#define LESSER(a, b) scalar_lesser(a, b)
#define MOST_VECTORS 4
#include "split_body.h"

#ifdef RMQ_X86
#define ISA(name) avx2_##name
#define TARGET BUILT_FOR("avx2,bmi2")
#define LANES 8
#define AHEAD LEAD
#define WIDEN(bytes) (avx2_lanes_t)_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(bytes)))
#define LARGER(a, b) (avx2_floats_t)_mm256_max_ps((__m256)(a), (__m256)(b))
#define LESSER(a, b) (avx2_lanes_t)_mm256_min_epu32((__m256i)(a), (__m256i)(b))
#define MOST_VECTORS 8
#include "split_body.h"

#define ISA(name) avx512_##name
#define TARGET BUILT_FOR("avx512f,avx512bw,avx512vl,bmi2")
#define LANES 16
#define AHEAD LEAD
#define WIDEN(bytes) (avx512_lanes_t)_mm512_cvtepi8_epi32(_mm_load_si128((const __m128i *)(bytes)))
#define LARGER(a, b) (avx512_floats_t)_mm512_max_ps((__m512)(a), (__m512)(b))
#define LESSER(a, b) (avx512_lanes_t)_mm512_min_epu32((__m512i)(a), (__m512i)(b))
#define MOST_VECTORS 4
#include "split_body.h"
#endif

const rmq_splits_t *rmq_splits(void)
{
    static const rmq_splits_t LEVELS[RMQ_ISA_LEVELS] = {
        [RMQ_SCALAR] = {scalar_contiguous, scalar_circular}, /* four lanes are SSE2 or NEON */
        [RMQ_NEON] = {scalar_contiguous, scalar_circular},
#ifdef RMQ_X86
        [RMQ_AVX2] = {avx2_contiguous, avx2_circular},
        [RMQ_AVX512] = {avx512_contiguous, avx512_circular},
#endif
    };
    const enum rmq_isa_level level = rmq_isa_level();
    return level == RMQ_PLAIN ? NULL : &LEVELS[level];
}
#else
const rmq_splits_t *rmq_splits(void) { return NULL; }
#endif
