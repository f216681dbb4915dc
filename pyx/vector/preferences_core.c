/* The innermost loops of preferences.pyx; see preferences.h. */
#include "preferences.h"

#include "isa.h"

#include <stddef.h>

#if RMQ_VECTORS
/* Pairs that are sorted by comparing each with each. */
#define FEW 64

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

const rmq_preferences_t *rmq_preferences(void)
{
    static const rmq_preferences_t LEVELS[RMQ_ISA_LEVELS] = {
        [RMQ_SCALAR] = {scalar_first_choices, scalar_best_open, NULL}, /* four lanes are SSE2 or NEON */
        [RMQ_NEON] = {scalar_first_choices, scalar_best_open, NULL},
#ifdef RMQ_X86
        [RMQ_AVX2] = {avx2_first_choices, avx2_best_open, avx2_sort_few},
        [RMQ_AVX512] = {avx512_first_choices, avx512_best_open, avx512_sort_few},
#endif
    };
    const enum rmq_isa_level level = rmq_isa_level();
    return level == RMQ_PLAIN ? NULL : &LEVELS[level];
}
#else
const rmq_preferences_t *rmq_preferences(void) { return NULL; }
#endif
