/* Digests of rows of all lengths that end where their memory ends, one on a line, for tests/engine/test_digest.py to compute anew. */
#include "rows.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state;
}

int main(void)
{
    uint64_t secret[RMQ_SECRET], state = 1;
    for (int i = 0; i < RMQ_SECRET; i++)
        secret[i] = next(&state) ^ next(&state) >> 32;
    for (int64_t n = 0; n < 3200; n += n < 80 || (n & 1023) > 1000 || (n & 1023) < 40 ? 1 : 37) {
        uint8_t *row = malloc((size_t)n + !n), *copy = malloc((size_t)n + !n);
        for (int64_t i = 0; i < n; i++)
            row[i] = copy[i] = (uint8_t)(next(&state) >> 56);
        if (!rmq_same(row, copy, n))
            return 1;
        printf("%d %llx\n", (int)n, (unsigned long long)rmq_digest(row, n, (uint32_t)n * 2654435769u, secret));
        free(row);
        free(copy);
    }
    return 0;
}
