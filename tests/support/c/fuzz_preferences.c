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

static void bands(const uint32_t *queues, int32_t m, uint32_t client, uint64_t bound, uint64_t width)
{
    uint64_t *out = room(m + 1, sizeof *out), *wanted = room(m, sizeof *wanted), *sorted = room(FEW, sizeof *sorted);
    uint32_t *exact = room(m, sizeof *exact);
    memcpy(exact, queues, (size_t)m * sizeof *exact);
    const int32_t n = rmq_preferences()->find_band(exact, m, client, bound, width, out);
    CHECK(n == plain_band(queues, m, client, bound, width, wanted), "%d of %d queues in the band", n, m);
    CHECK(n == 0 || memcmp(out, wanted, (size_t)n * sizeof *out) == 0, "a band of %d of %d queues", n, m);
    const int32_t few = n < FEW ? n : FEW;
    rmq_preferences()->sort_few(out, few, sorted);
    qsort(wanted, (size_t)few, sizeof *wanted, by_value);
    CHECK(few == 0 || memcmp(sorted, wanted, (size_t)few * sizeof *sorted) == 0, "%d pairs in order", few);
    free(out), free(wanted), free(sorted), free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input_t in = {data, size, 0};
    const int few = (int)take(&in, 1) % 4;
    const int32_t n = 1 + (int32_t)size_of(&in, MOST), m = 1 + (int32_t)size_of(&in, MOST - 1);
    maybe_draw(&in);
    uint32_t *queues = numbers(&in, m, few & 1, 2), *clients = numbers(&in, n, few & 2, 1), *open = numbers(&in, n, 1, 1);
    const uint64_t bound = number(&in, 8), any = number(&in, 8) >> number(&in, 1) % 64;
    const uint64_t width = any < UINT64_MAX - bound ? any : UINT64_MAX - bound;
    for (int32_t c = 0; c < n; c++)
        open[c] = open[c] ? UINT32_MAX : 0;
    EVERY_ISA {
        uint32_t score, wanted_score;
        const int32_t wanted = plain_best(queues[0], clients, open, n, &wanted_score);
        const int32_t found = rmq_preferences()->best_open(queues[0], clients, open, n, &score);
        CHECK(score == wanted_score && (found == wanted || score == 0), "the best of %d: %d, not %d", n, found, wanted);
        choices(queues, m, clients, n);
        bands(queues, m, clients[0], bound, width);
        bands(queues, m, clients[0], 0, UINT64_MAX);
        bands(queues, m < FEW ? m : FEW, clients[0], 0, UINT64_MAX);
    }
    free(queues), free(clients), free(open);
    return 0;
}
