/* The innermost loops of preferences.pyx; see preferences.h. */
#include "preferences.h"

#include "isa.h"

#include <stddef.h>

#if RMQ_VECTORS
/* The finalizer of Murmur3. */
INLINE uint32_t mixed(uint32_t h)
{
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
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
            const uint64_t pair = (uint64_t)~score[i] << 32 | (uint32_t)(first + i);
            out[found] = pair;
            found += pair - bound <= width;
        }
    }
    return found;
}

#define ISA(name) scalar_##name
#define TARGET
#define LANES 4
#include "preferences_body.h"

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

#define LOOPS(isa) {isa##_first_choices, isa##_best_open, isa##_find_band, isa##_sort_few}

const rmq_preferences_t *rmq_preferences(void)
{
    static const rmq_preferences_t LEVELS[RMQ_ISA_LEVELS] = {
        [RMQ_SCALAR] = LOOPS(scalar), /* four lanes are SSE2 or NEON */
        [RMQ_NEON] = LOOPS(scalar),
#ifdef RMQ_X86
        [RMQ_AVX2] = LOOPS(avx2),
        [RMQ_AVX512] = LOOPS(avx512),
#endif
    };
    const enum rmq_isa_level level = rmq_isa_level();
    return level == RMQ_PLAIN ? NULL : &LEVELS[level];
}
#else
const rmq_preferences_t *rmq_preferences(void) { return NULL; }
#endif
