/* Run every split on buffers of exactly the right size, and compare with the plain meaning.
   Compiled with address and undefined-behaviour sanitizers by tests/engine/test_sanitizers.py. */
#include "isa.h"
#include "plain_split.h"
#include "split.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t state = 0x9e3779b97f4a7c15u;

static int64_t next(int64_t below)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (int64_t)(state >> 16) % below;
}

/* How many of the owners are wrong. */
static int64_t count_wrong(split_t *split, const int64_t *offsets, const int32_t *n_clients, int64_t n_units, const int32_t *out)
{
    int64_t failures = 0;
    for (int64_t u = 0; u < n_units; u++) {
        const int64_t n = offsets[u + 1] - offsets[u];
        for (int64_t q = 0; q < n; q++)
            failures += out[offsets[u] + q] != owner(split, q, n, n_clients[u]);
    }
    return failures;
}

/* Say which instruction set and split came to a failure. */
static int told(split_t *split, int64_t failures, const char *of)
{
    if (failures)
        printf("%s, %s: %lld owners wrong of %s\n", rmq_isa(), split == rmq_splits()->circular ? "circular" : "contiguous",
               (long long)failures, of);
    return failures != 0;
}

/* Every unit of 0 to 40 queues and 0 to 18 clients at most, from any of the first twelve on, in a buffer that ends with the last
   of them. The table of patterns has those of 32 queues and 15 clients: beyond that a chunk must do without it. */
static int wrong_small(split_t *split, int64_t most_queues, int64_t least_clients, int64_t most_clients)
{
    enum { MOST = 41 * 19 };
    int64_t offsets[MOST + 1] = {0}, failures = 0;
    int32_t n_clients[MOST];
    const int64_t pairs = (most_queues + 1) * (most_clients - least_clients + 1), n_units = pairs < 150 ? 150 : pairs;
    for (int64_t u = 0; u < n_units; u++) {
        const int64_t pair = u * 337 % pairs; /* a prime: in no order */
        offsets[u + 1] = offsets[u] + pair % (most_queues + 1);
        n_clients[u] = (int32_t)(least_clients + pair / (most_queues + 1));
    }
    for (int64_t first = 0; first < 12; first++)
        for (int64_t last = n_units; last > n_units - 40; last--) {
            const int64_t begin = offsets[first], size = offsets[last] - begin;
            int32_t *out = malloc((size_t)size * sizeof *out);
            split(offsets + first, n_clients + first, last - first, out - begin);
            failures += count_wrong(split, offsets + first, n_clients + first, last - first, out - begin);
            free(out);
        }
    return told(split, failures, "small units");
}

/* Split units of up to most_queues and most_clients, all alike or not, each half in its own call, as threads do. */
static int wrong(split_t *split, int64_t n_units, int64_t most_queues, int64_t most_clients, int alike)
{
    int64_t *offsets = malloc((size_t)(n_units + 1) * sizeof *offsets), failures;
    int32_t *n_clients = malloc((size_t)n_units * sizeof *n_clients + 1);
    offsets[0] = 0;
    for (int64_t u = 0; u < n_units; u++) {
        offsets[u + 1] = offsets[u] + (alike && u ? offsets[1] : next(most_queues + 1));
        n_clients[u] = alike && u ? n_clients[0] : (int32_t)next(most_clients + 1);
    }
    int32_t *out = malloc((size_t)offsets[n_units] * sizeof *out + !offsets[n_units]);
    const int64_t half = n_units / 2;
    split(offsets + half, n_clients + half, n_units - half, out);
    for (int64_t i = 0; i < offsets[half]; i++)
        out[i] = -7;
    split(offsets, n_clients, half, out);
    failures = count_wrong(split, offsets, n_clients, n_units, out);
    free(out), free(n_clients), free(offsets);
    char of[120];
    snprintf(of, sizeof of, "%lld units of up to %lld queues and %lld clients", (long long)n_units, (long long)most_queues,
             (long long)most_clients);
    return told(split, failures, of);
}

int main(void)
{
    static const int64_t shapes[][3] = {{0, 1, 1},      {1, 0, 3},      {300, 5, 3},      {300, 40, 9},     {200, 130, 40},
                                        {50, 9000, 20}, {20, 9000, 9000}, {3, 70000, 500}, {2, 2100000, 7}, {2, 3000000, 400000}};
    static const int64_t limits[][3] = {{8, 0, 10},  {16, 0, 10}, {32, 0, 10}, {32, 0, 15}, {32, 0, 16},
                                        {33, 0, 10}, {40, 0, 10}, {40, 0, 18}, {32, 0, 0},  {32, 16, 16}};
    int failures = 0;
    for (int i = 0; rmq_isa_available(i); i++) {
        rmq_isa_force(rmq_isa_available(i));
        const rmq_splits_t *level = rmq_splits();
        for (int s = 0; level && s < 2; s++) {
            split_t *const splits[] = {level->contiguous, level->circular};
            for (size_t limit = 0; limit < sizeof limits / sizeof *limits; limit++)
                failures += wrong_small(splits[s], limits[limit][0], limits[limit][1], limits[limit][2]);
            for (size_t shape = 0; shape < sizeof shapes / sizeof *shapes; shape++)
                for (int round = 0; round < (shapes[shape][1] < 10000 ? 20 : 3); round++)
                    failures += wrong(splits[s], shapes[shape][0], shapes[shape][1], shapes[shape][2], round % 2);
        }
    }
    return failures != 0;
}
