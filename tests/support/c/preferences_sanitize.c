/* Match queues and clients of many numbers under every instruction set, on buffers of exactly the right size, and compare with
   all pairs in order. Compiled with address and undefined-behaviour sanitizers by tests/engine/test_sanitizers.py. */
#include "isa.h"
#include "plain_preferences.h"
#include "preferences.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 0x9e3779b97f4a7c15u;

static uint32_t next(void)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (uint32_t)(state >> 16);
}

/* Loads of the draft lie between these two, and every queue has an owner. */
static int is_even(const int32_t *owners, int32_t m, int32_t n)
{
    const int32_t nearest = (2 * m + n) / (2 * n), low = nearest > 0 ? nearest - 1 : 0;
    int32_t *load = calloc((size_t)n, sizeof *load);
    int even = 1;
    for (int32_t q = 0; q < m && even; q++) {
        even = owners[q] >= 0 && owners[q] < n;
        load[even ? owners[q] : 0]++;
    }
    for (int32_t c = 0; c < n; c++)
        even &= load[c] >= low && load[c] <= nearest + 1;
    free(load);
    return even;
}

/* Numbers on the heap, with nothing after the last for a vector to touch; many that repeat, if asked for. */
static uint32_t *numbers(int32_t n, int few)
{
    uint32_t *made = malloc((size_t)n * sizeof *made);
    for (int32_t i = 0; i < n; i++)
        made[i] = few ? next() % 3 : next();
    return made;
}

static int wrong(int32_t m, int32_t n, int few)
{
    uint32_t *queues = numbers(m, few), *clients = numbers(n, few);
    uint64_t *scratch = malloc((size_t)rmq_preferences_scratch_size(m, n) * sizeof *scratch);
    int32_t *expected = malloc((size_t)m * sizeof *expected), *out = malloc((size_t)m * sizeof *out);
    match(queues, m, clients, n, expected);
    rmq_preferences_match(queues, m, clients, n, scratch, out);
    int bad = memcmp(out, expected, (size_t)m * sizeof *out) != 0;
    rmq_preferences_draft(queues, m, clients, n, scratch, out);
    bad += !is_even(out, m, n);
    if (bad)
        printf("%s: %d queues, %d clients, few numbers: %d\n", rmq_isa(), m, n, few);
    free(queues);
    free(clients);
    free(scratch);
    free(expected);
    free(out);
    return bad;
}

/* Room for the most queues and the most clients is enough for every unit that has no more of either. */
static int falls(void)
{
    for (int32_t m = 1; m < 300; m++)
        for (int32_t n = 1; n < 80; n++)
            if (rmq_preferences_scratch_size(m, n) > rmq_preferences_scratch_size(m + 1, n)
                || rmq_preferences_scratch_size(m, n) > rmq_preferences_scratch_size(m, n + 1))
                return printf("the room falls at %d queues, %d clients\n", m, n);
    return 0;
}

int main(void)
{
    static const int32_t sizes[] = {1, 2, 3, 7, 8, 15, 16, 17, 33, 100, 255, 256, 257, 600};
    const int n_sizes = sizeof sizes / sizeof *sizes;
    int failures = falls();
    for (int i = 0; rmq_isa_available(i); i++) {
        rmq_isa_force(rmq_isa_available(i));
        for (int m = 0; m < n_sizes; m++)
            for (int n = 0; n < n_sizes - 1; n++)
                for (int few = 0; few < 2; few++)
                    failures += wrong(sizes[m], sizes[n], few);
    }
    return failures != 0;
}
