/* The ring, in every way of looking up and in portions in any order, against the plain meaning. */
#include "fuzz_input.h"
#include "plain_ring.h"
#include "ring.h"

enum { MOST_POINTS = 6000, MOST_QUEUES = 2500, MOST_COMPARED = 300000, MOST_PORTIONS = 8 };

/* Values of a kind: any; of few; at the very top; most of them crowded together. */
static uint32_t *values(input_t *in, int64_t n, int kind)
{
    uint32_t *made = room(n, sizeof *made);
    for (int64_t i = 0; i < n; i++) {
        const uint32_t any = (uint32_t)number(in, kind == 0 || kind == 4 ? 4 : 1);
        made[i] = kind == 1 ? any * 8589934u : kind == 2 ? UINT32_MAX - any % 3 : kind == 3 ? 7000 + any : any;
    }
    return made;
}

static void compare(const int32_t *owners, const int32_t *expected, int64_t n, const char *what)
{
    for (int64_t i = 0; i < n; i++)
        CHECK(owners[i] == expected[i], "%s: queue %d of %d: %d, not %d", what, (int)i, (int)n, owners[i], expected[i]);
}

/* In the way that the counts decide; the queues are asked for in n_spans calls. Those that crowd are left to the plain loop. */
static void whole(const uint32_t *points, int32_t n_clients, int32_t v, const uint32_t *hashes, int64_t n, int64_t n_spans,
                  const int32_t *expected)
{
    uint64_t *scratch = room(rmq_ring_scratch_size((int64_t)n_clients * v), sizeof *scratch);
    rmq_ring_t ring;
    rmq_rings(0)->start(&ring, v, scratch);
    int taken = rmq_rings(0)->take(&ring, points, n_clients, n, n_spans);
    for (int64_t span = 0; span < n_spans; span++) {
        const int64_t first = n * span / n_spans, size = n * (span + 1) / n_spans - first;
        int32_t *owners = room(size, sizeof *owners);
        uint32_t *asked = room(size, sizeof *asked);
        memcpy(asked, hashes + first, (size_t)size * sizeof *asked);
        taken = taken && rmq_rings(0)->locate(&ring, asked, size, owners);
        if (taken)
            compare(owners, expected + first, size, "whole");
        free(owners), free(asked);
    }
    free(scratch);
}

/* Clients come in portions; bit by bit a word says from which end the next one is. */
static void in_portions(const uint32_t *points, int32_t n_clients, int32_t v, const uint32_t *hashes, int64_t n, uint32_t order,
                        int n_portions, const int32_t *expected)
{
    const int64_t n_points = (int64_t)n_clients * v;
    uint64_t *scratch = room(rmq_ring_scratch_size(n_points > n ? n_points : n), sizeof *scratch);
    int32_t *owners = room(n, sizeof *owners);
    rmq_ring_t ring;
    rmq_rings(0)->start(&ring, 0, scratch);
    if (rmq_rings(0)->sift_begin(&ring, hashes, n)) {
        for (int low = 0, high = n_portions; low < high; order >>= 1) {
            const int part = order & 1 ? --high : low++;
            const int32_t first = (int32_t)((int64_t)n_clients * part / n_portions);
            const int32_t size = (int32_t)((int64_t)n_clients * (part + 1) / n_portions) - first;
            uint32_t *some = room((int64_t)size * v, sizeof *some);
            memcpy(some, points + (int64_t)first * v, (size_t)size * (size_t)v * sizeof *some);
            rmq_rings(0)->start(&ring, v, scratch);
            rmq_rings(1)->sift_some(&ring, some, first, size, n);
            free(some);
        }
        rmq_rings(0)->start(&ring, 0, scratch);
        rmq_rings(1)->sift_end(&ring, n, owners);
        compare(owners, expected, n, "in portions");
    }
    free(scratch), free(owners);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input_t in = {data, size, 0};
    const int kind = (int)take(&in, 1) % 5, n_portions = 1 + (int)below(&in, MOST_PORTIONS);
    const uint32_t order = (uint32_t)take(&in, 1);
    const int64_t n_spans = take(&in, 1) & 1 ? 1 + below(&in, 5) : 1;
    const int32_t v = (int32_t)size_of(&in, 700), n_clients = v ? (int32_t)size_of(&in, MOST_POINTS / v) : 3;
    const int64_t n_points = (int64_t)n_clients * v;
    int64_t n = size_of(&in, MOST_QUEUES);
    n = n_points * n > MOST_COMPARED ? MOST_COMPARED / n_points : n;
    maybe_draw(&in);
    uint32_t *points = values(&in, n_points, kind), *hashes = values(&in, n, kind == 4 ? 0 : kind);
    int32_t *expected = room(n, sizeof *expected);
    for (int64_t i = 0; i < n; i++) {
        if (n_points && take(&in, 1) & 1) /* right on a point, or beside it */
            hashes[i] = points[below(&in, n_points)] + (uint32_t)below(&in, 3) - 1;
        expected[i] = owner(points, n_points, v, hashes[i]);
    }
    EVERY_ISA {
        whole(points, n_clients, v, hashes, n, n_spans, expected);
        if (n && n_points)
            in_portions(points, n_clients, v, hashes, n, order, n_portions, expected);
    }
    free(points), free(hashes), free(expected);
    return 0;
}
