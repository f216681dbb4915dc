/* The loops over scores, of queues and clients of any numbers, under every instruction set, one number at a time. What is done with them
   is in Cython, and compared with the page of STABLE by the fuzz of strategies. */
#include "fuzz_input.h"
#include "plain_preferences.h"
#include "preferences.h"

enum { MOST = 256, FEW = 64, WIDEST = RMQ_PREFERENCES_WIDEST };

/* Numbers; where few are asked for, many scores are equal. Zeros up to whole vectors, or two, behind them. */
static uint32_t *numbers(input_t *in, int32_t n, int few, int32_t vectors)
{
    const int32_t whole = (n + vectors * WIDEST - 1) / (vectors * WIDEST) * vectors * WIDEST;
    uint32_t *made = calloc((size_t)whole, sizeof *made);
    for (int32_t i = 0; i < n; i++)
        made[i] = few ? (uint32_t)number(in, 1) % 3 : (uint32_t)number(in, 4);
    return made;
}

static void choices(const uint32_t *queues, int32_t m, const uint32_t *clients, int32_t n)
{
    const int32_t whole = (m + 2 * WIDEST - 1) / (2 * WIDEST) * 2 * WIDEST;
    uint32_t *best = room(whole, sizeof *best), *choice = room(whole, sizeof *choice), score;
    uint32_t *exact = room(n, sizeof *exact); /* of clients no more than there are is read */
    memcpy(exact, clients, (size_t)n * sizeof *exact);
    rmq_preferences()->first_choices(queues, m, exact, n, best, choice);
    for (int32_t q = 0; q < m; q++) {
        const uint32_t wanted = (uint32_t)plain_best(queues[q], clients, NULL, n, &score);
        CHECK(best[q] == score && choice[q] == wanted, "queue %d of %d, %d clients: %u, not %u", q, m, n, choice[q], wanted);
    }
    free(best), free(choice), free(exact);
}

static void in_order(input_t in, int32_t n)
{
    uint64_t *pairs = room(n, sizeof *pairs), *wanted = room(n, sizeof *wanted), *sorted = room(n, sizeof *sorted);
    for (int32_t i = 0; i < n; i++)
        wanted[i] = pairs[i] = number(&in, 3) << 32 | (uint32_t)i; /* no two pairs are the same */
    rmq_preferences()->sort_few(pairs, n, sorted);
    qsort(wanted, (size_t)n, sizeof *wanted, by_value);
    CHECK(n == 0 || memcmp(sorted, wanted, (size_t)n * sizeof *sorted) == 0, "%d pairs in order", n);
    free(pairs), free(wanted), free(sorted);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input_t in = {data, size, 0};
    const int few = (int)take(&in, 1) % 4;
    const int32_t n = 1 + (int32_t)size_of(&in, MOST), m = 1 + (int32_t)size_of(&in, MOST - 1);
    maybe_draw(&in);
    uint32_t *queues = numbers(&in, m, few & 1, 2), *clients = numbers(&in, n, few & 2, 1), *open = numbers(&in, n, 1, 1);
    for (int32_t c = 0; c < n; c++)
        open[c] = open[c] ? UINT32_MAX : 0;
    EVERY_ISA {
        uint32_t score, wanted_score;
        const int32_t wanted = plain_best(queues[0], clients, open, n, &wanted_score);
        const int32_t found = rmq_preferences()->best_open(queues[0], clients, open, n, &score);
        CHECK(score == wanted_score && (found == wanted || score == 0), "the best of %d: %d, not %d", n, found, wanted);
        choices(queues, m, clients, n);
        if (rmq_preferences()->sort_few)
            in_order(in, m < FEW ? m : FEW);
    }
    free(queues), free(clients), free(open);
    return 0;
}
