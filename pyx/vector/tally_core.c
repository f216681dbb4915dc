/* Counts over owners, one version for each instruction set; see tally.h. */
#include "tally.h"

#include "isa.h"

#include <stddef.h>

#ifdef RMQ_X86
#include <immintrin.h>
#include <string.h>

/* A counter of eight bits holds up to this many queues. */
#define FEW_QUEUES 255
/* Bytes that owners are asked for ahead of their use: units are counted faster than they come by themselves. */
#define AHEAD 2048
/* Up to eight times this many clients it is quicker to read the owners again than to count in memory. */
#define MOST_EIGHTS 4
/* Numbers of clients before that are gone, by their places: behind those of the at most sixteen after. */
static const int32_t GONE[16] = {16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

/* What n / m is for n up to FEW_QUEUES, when n times this is shifted right by 16. */
#define SHARE(m) (65536 + (m) - 1) / (m)
static const uint32_t SHARES[17] = {0, SHARE(1), SHARE(2), SHARE(3), SHARE(4), SHARE(5), SHARE(6), SHARE(7), SHARE(8), SHARE(9),
                                    SHARE(10), SHARE(11), SHARE(12), SHARE(13), SHARE(14), SHARE(15), SHARE(16)};

/* What a loop over changes is wanted for, and whether queues may be absent on a side. */
enum { MOVED = 1, LEAST_MOVES = 2, AFFECTED = 4, SOME_ABSENT = 8 };

#include "tally_avx2.h"
#include "tally_body.h"

#include "tally_avx512.h"
#include "tally_body.h"
#endif

const rmq_tally_t *rmq_tally(int64_t n_units)
{
#ifdef RMQ_X86
    const enum rmq_isa_level level = n_units < RMQ_TALLY_UNITS ? RMQ_PLAIN : rmq_isa_level();
    if (level == RMQ_AVX512)
        return &avx512_tally;
    if (level == RMQ_AVX2)
        return &avx2_tally;
#endif
    (void)n_units;
    return NULL;
}
