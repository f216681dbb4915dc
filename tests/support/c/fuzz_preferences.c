/* Queues and clients of any numbers matched and drafted, under every instruction set, against what the page of STABLE says. */
#include "fuzz_input.h"
#include "plain_preferences.h"
#include "preferences.h"

enum { MOST = 700, MOST_PAIRS = 3000 };

/* Numbers; where few are asked for, many scores are equal. */
static uint32_t *numbers(input_t *in, int32_t n, int few)
{
    uint32_t *made = room(n, sizeof *made);
    for (int32_t i = 0; i < n; i++)
        made[i] = few ? (uint32_t)number(in, 1) % 3 : (uint32_t)number(in, 4);
    return made;
}

static void compare(const int32_t *out, const int32_t *expected, int32_t m, int32_t n, const char *what)
{
    for (int32_t q = 0; q < m; q++)
        CHECK(out[q] == expected[q], "%s: queue %d of %d, %d clients: %d, not %d", what, q, m, n, out[q], expected[q]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input_t in = {data, size, 0};
    const int few = (int)take(&in, 1) % 4;
    int32_t n = 1 + (int32_t)size_of(&in, MOST), m = 1 + (int32_t)size_of(&in, MOST);
    n = n * m > MOST_PAIRS ? 1 + MOST_PAIRS / m : n;
    maybe_draw(&in);
    uint32_t *queues = numbers(&in, m, few & 1), *clients = numbers(&in, n, few & 2);
    int32_t *matched = room(m, sizeof *matched), *drafted = room(m, sizeof *drafted), *out = room(m, sizeof *out);
    match(queues, m, clients, n, matched);
    draft(queues, m, clients, n, drafted);
    EVERY_ISA {
        uint64_t *scratch = room(rmq_preferences_scratch_size(m, n), sizeof *scratch);
        rmq_preferences_match(queues, m, clients, n, scratch, out);
        compare(out, matched, m, n, "match");
        rmq_preferences_draft(queues, m, clients, n, scratch, out);
        compare(out, drafted, m, n, "draft");
        free(scratch);
    }
    CHECK(rmq_preferences_scratch_size(m, n) <= rmq_preferences_scratch_size(m + 1, n)
              && rmq_preferences_scratch_size(m, n) <= rmq_preferences_scratch_size(m, n + 1),
          "the room falls at %d queues, %d clients", m, n);
    free(queues), free(clients), free(matched), free(drafted), free(out);
    return 0;
}
