/* Run every way of the ring lookup on buffers of exactly the right size, and compare with the plain meaning.
   Compiled with address and undefined-behaviour sanitizers by tests/engine/test_ring.py. */
#include "isa.h"
#include "plain_ring.h"
#include "ring.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 0x9e3779b97f4a7c15u;

static uint32_t next(void)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (uint32_t)(state >> 16);
}

/* A random value of a kind: any; one of few; at the very top; most of them crowded together. */
static uint32_t value(int kind)
{
    switch (kind) {
    case 0: return next();
    case 1: return next() % 500 * 8589934u;
    case 2: return UINT32_MAX - next() % 3;
    default: return next() % 8 ? 7000 + next() % 900 : next();
    }
}

/* Values on the heap, with nothing after the last for a vector to touch. */
static uint32_t *values(int64_t n, int kind)
{
    uint32_t *column = malloc((size_t)n * sizeof *column);
    for (int64_t i = 0; i < n; i++)
        column[i] = value(kind);
    return column;
}

static int wrong(int32_t n_clients, int32_t virtual_nodes, int32_t n_queues, int n_units, int kind)
{
    const int64_t n_points = (int64_t)n_clients * virtual_nodes;
    uint32_t *points = values(n_points, kind);
    uint64_t *scratch = malloc((size_t)rmq_ring_scratch_size(n_points) * sizeof *scratch);
    rmq_ring_t ring;
    int failures = 0;
    rmq_rings(0)->start(&ring, virtual_nodes, scratch);
    int taken = rmq_rings(0)->take(&ring, points, n_clients, (int64_t)n_queues * n_units, n_units);
    for (int unit = 0; unit < n_units; unit++) {
        uint32_t *hashes = values(n_queues, kind);
        int32_t *owners = malloc((size_t)n_queues * sizeof *owners);
        taken = taken && rmq_rings(0)->locate(&ring, hashes, n_queues, owners);
        failures += !taken && !kind; /* what crowds is left to others, and random values do not */
        for (int32_t i = 0; i < n_queues && taken; i++)
            failures += owners[i] != owner(points, n_points, virtual_nodes, hashes[i]);
        free(hashes);
        free(owners);
    }
    free(points);
    free(scratch);
    if (failures)
        printf("%s: %d clients, %d virtual nodes, %d queues, kind %d: %d wrong\n", rmq_isa(), n_clients, virtual_nodes,
               n_queues, kind, failures);
    return failures != 0;
}

int main(void)
{
    static const int32_t shapes[][4] = {{0, 10, 5, 1},  {3, 0, 5, 1},    {1, 1, 1, 1},      {2, 3, 0, 1},
                                        {4, 10, 127, 1}, {16, 10, 79, 2}, {40, 10, 500, 1},  {100, 10, 90, 1},
                                        {30, 7, 35, 9}, {5, 300, 200, 1}, {300, 10, 250, 1}, {100, 1, 900, 2}};
    int failures = 0;
    for (int i = 0; rmq_isa_available(i); i++) {
        rmq_isa_force(rmq_isa_available(i));
        if (rmq_isa_level() == RMQ_PLAIN)
            continue;
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            for (int kind = 0; kind < 4; kind++)
                for (int round = 0; round < 5; round++)
                    failures += wrong(shapes[s][0], shapes[s][1], shapes[s][2], shapes[s][3], kind);
    }
    return failures != 0;
}
