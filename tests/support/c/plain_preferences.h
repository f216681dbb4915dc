/* The loops of preferences.h one number at a time, for whoever compares with them. */
#ifndef PLAIN_PREFERENCES_H
#define PLAIN_PREFERENCES_H

#include <stdint.h>
#include <stdlib.h>

static uint32_t fmix32(uint32_t h)
{
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
}

/* The best client of a queue among those that are open, the first of several; its score is 0 where none is. */
static int32_t plain_best(uint32_t queue, const uint32_t *clients, const uint32_t *open, int32_t n, uint32_t *score)
{
    int32_t best = 0;
    *score = 0;
    for (int32_t c = 0; c < n; c++)
        if ((open == NULL || open[c]) && fmix32(queue ^ clients[c]) > *score)
            *score = fmix32(queue ^ clients[c]), best = c;
    return best;
}

static int by_value(const void *one, const void *other)
{
    const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return (a > b) - (a < b);
}

#endif
