/* Own queues by slots of many kinds, on buffers of exactly the right size: every queue has a present owner, and loads are even.
   Compiled with address and undefined-behaviour sanitizers by tests/engine/test_sanitizers.py; which owner it is, the tests of
   the strategy say. */
#include "plain_slots.h"
#include "slots.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t state = 0x9e3779b97f4a7c15u;

static uint64_t next(void)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state * UINT64_C(0x2545F4914F6CDD1D);
}

static int32_t below(int32_t n) { return (int32_t)((next() >> 32) % (uint64_t)n); }

/* Slots on the heap: in a row; with holes; far beyond the limit; repeated; none; clients that take no part. */
static int32_t *slots_of(int32_t n, int kind)
{
    int32_t *slots = malloc((size_t)n * sizeof *slots);
    for (int32_t i = 0; i < n; i++) {
        slots[i] = kind == 0 ? i : kind == 1 ? below(2 * n) : kind == 2 ? below(999999999) : kind == 3 ? below(2) : -1;
        if (kind == 5)
            slots[i] = below(3) - 2;
    }
    return slots;
}

static int wrong(int32_t m, int32_t n, int kind)
{
    uint64_t *numbers = malloc((size_t)m * sizeof *numbers);
    int32_t *slots = slots_of(n, kind), *out = malloc((size_t)m * sizeof *out), *found = malloc((size_t)n * sizeof *found);
    int32_t *scratch = malloc((size_t)rmq_slots_scratch_size(m, n) * sizeof *scratch);
    for (int32_t q = 0; q < m; q++)
        numbers[q] = kind == 4 ? 0 : next(); /* queues of one number ask for the same slots */
    rmq_slots_own(next(), numbers, m, slots, n, scratch, out);
    int bad = !is_even(out, m, slots, n);
    const int64_t n_numbers = rmq_slots_number(slots, n, scratch, found);
    for (int32_t c = 0; c < n; c++)
        bad |= slots[c] == -2 ? found[c] != -1 : found[c] < 0 || found[c] >= n_numbers;
    if (bad)
        printf("%d queues, %d clients, kind %d\n", m, n, kind);
    free(numbers);
    free(slots);
    free(out);
    free(found);
    free(scratch);
    return bad;
}

int main(void)
{
    static const int32_t sizes[] = {1, 2, 3, 4, 5, 7, 16, 23, 24, 60, 61, 300, 1000};
    const int n_sizes = sizeof sizes / sizeof *sizes;
    int failures = 0;
    for (int m = 0; m < n_sizes; m++)
        for (int n = 0; n < n_sizes; n++)
            for (int kind = 0; kind < 6; kind++)
                for (int round = 0; round < 3; round++)
                    failures += wrong(sizes[m], sizes[n], kind);
    return failures != 0;
}
