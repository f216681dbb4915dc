/* The plain meaning of a split, for whoever compares with it. */
#ifndef PLAIN_SPLIT_H
#define PLAIN_SPLIT_H

#include "split.h"

typedef rmq_split_t split_t;

/* Owner of queue q of n among m clients: by blocks, the first n mod m of which are one longer, or round and round. */
static int64_t owner(split_t *split, int64_t q, int64_t n, int64_t m)
{
    if (m == 0)
        return -1;
    if (split == rmq_splits()->circular)
        return q % m;
    const int64_t size = n / m, longer = n % m * (size + 1);
    return q < longer ? q / (size + 1) : n % m + (q - longer) / size;
}

#endif
