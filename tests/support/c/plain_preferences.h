/* STABLE as its page words it, over the numbers of queues and clients, for whoever compares with it. */
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

typedef struct {
    uint32_t score;
    int32_t queue, client;
} pair_t;

static int in_order(const void *one, const void *other)
{
    const pair_t *a = one, *b = other;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return a->queue != b->queue ? a->queue - b->queue : a->client - b->client;
}

/* All pairs in order; a pair is taken if the queue is free and the client has room. */
static void match(const uint32_t *queues, int32_t m, const uint32_t *clients, int32_t n, int32_t *out)
{
    const int64_t n_pairs = (int64_t)m * n;
    pair_t *pairs = malloc((size_t)n_pairs * sizeof *pairs);
    int32_t *load = calloc((size_t)n, sizeof *load), pool = m % n;
    for (int32_t q = 0; q < m; q++, out[q - 1] = -1)
        for (int32_t c = 0; c < n; c++)
            pairs[(int64_t)q * n + c] = (pair_t){fmix32(queues[q] ^ clients[c]), q, c};
    qsort(pairs, (size_t)n_pairs, sizeof *pairs, in_order);
    for (int64_t i = 0; i < n_pairs; i++) {
        const pair_t one = pairs[i];
        const int extra = load[one.client] == m / n && pool > 0;
        if (out[one.queue] < 0 && (load[one.client] < m / n || extra)) {
            pool -= extra;
            load[one.client]++;
            out[one.queue] = one.client;
        }
    }
    free(pairs);
    free(load);
}

/* In round k each client asks for the k-th of its favourites; those of one round are looked at by a second score. */
static void draft(const uint32_t *queues, int32_t m, const uint32_t *clients, int32_t n, int32_t *out)
{
    const int32_t middle = (2 * m + n) / (2 * n), low = middle > 0 ? middle - 1 : 0;
    pair_t *favourites = malloc((size_t)m * (size_t)n * sizeof *favourites), *asked = malloc((size_t)n * sizeof *asked);
    int32_t *load = calloc((size_t)n, sizeof *load), pool = m - n * low;
    for (int32_t c = 0; c < n; c++) {
        pair_t *own = favourites + (int64_t)c * m;
        for (int32_t q = 0; q < m; q++)
            own[q] = (pair_t){fmix32(queues[q] ^ clients[c]), q, c}, out[q] = -1;
        qsort(own, (size_t)m, sizeof *own, in_order);
    }
    for (int32_t k = 0; k < m; k++) {
        int32_t n_asked = 0;
        for (int32_t c = 0; c < n; c++) {
            const int32_t q = favourites[(int64_t)c * m + k].queue;
            if (out[q] < 0) /* the queue that is asked for is not part of the order */
                asked[n_asked++] = (pair_t){fmix32(clients[c] + 0x1234567u * queues[q]), 0, c};
        }
        qsort(asked, (size_t)n_asked, sizeof *asked, in_order);
        for (int32_t i = 0; i < n_asked; i++) {
            const int32_t c = asked[i].client, q = favourites[(int64_t)c * m + k].queue;
            if (out[q] < 0 && (load[c] < low || (load[c] < middle + 1 && pool > 0))) {
                pool -= load[c]++ >= low;
                out[q] = c;
            }
        }
    }
    free(favourites), free(asked), free(load);
}

#endif
