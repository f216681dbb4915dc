/* Queues owned by slots of any kind: loads are even, numbers are those of the page, and orders are followed digit by digit. Which
   owner a queue has by draws is compared with the page by the fuzz of strategies. */
#include "fuzz_input.h"
#include "plain_slots.h"
#include "slots.h"

enum { MOST_QUEUES = 2000, MOST_CLIENTS = 100, ROWS = RMQ_EVEN * (RMQ_EVEN + 1) / 2 };

/* Slots: few, with holes, beyond any limit, none, and clients that take no part. */
static int32_t *slots_of(input_t *in, int32_t n)
{
    int32_t *slots = room(n, sizeof *slots);
    const int kind = (int)take(in, 1) % 4;
    for (int32_t c = 0; c < n; c++) {
        const uint32_t any = (uint32_t)number(in, kind == 3 ? 4 : 1);
        slots[c] = kind == 0 ? c : kind == 1 ? (int32_t)(any % (2u * (uint32_t)n)) : (int32_t)(any % 1000000000u);
        if (kind > 1 && any % 8 == 0)
            slots[c] = -1 - (int32_t)(any / 8 % 2);
    }
    return slots;
}

static void own(input_t *in, const int32_t *slots, int32_t n, int32_t m)
{
    const uint64_t seed = take(in, 8);
    const int alike = (int)take(in, 1) & 1;
    uint64_t *numbers = room(m, sizeof *numbers);
    int32_t *scratch = room(rmq_slots_scratch_size(m, n), sizeof *scratch), *out = room(m, sizeof *out);
    for (int32_t q = 0; q < m; q++)
        numbers[q] = alike && q ? numbers[0] : number(in, 8);
    rmq_slots_own(seed, numbers, m, slots, n, scratch, out);
    CHECK(is_even(out, m, slots, n), "%d queues, %d clients: not even", m, n);
    free(numbers), free(scratch), free(out);
}

static void number_all(const int32_t *slots, int32_t n)
{
    int32_t *scratch = room(rmq_slots_scratch_size(1, n), sizeof *scratch);
    int32_t *found = room(n, sizeof *found), *expected = room(n, sizeof *expected);
    const int64_t n_numbers = rmq_slots_number(slots, n, scratch, found);
    const int32_t wanted = plain_numbers(slots, n, expected);
    CHECK(n_numbers == wanted, "%d clients: %d numbers, not %d", n, (int)n_numbers, wanted);
    for (int32_t c = 0; c < n; c++)
        CHECK(found[c] == expected[c], "client %d of %d: number %d, not %d", c, n, found[c], expected[c]);
    free(scratch), free(found), free(expected);
}

/* Orders of any digits. The first one whose slot is present owns the queue; what a digit stands for, the first order of all tells. */
static void by_orders(input_t *in, const int32_t *slots, int32_t n, int32_t m)
{
    uint8_t *digits = room(ROWS * RMQ_DIGITS, 1);
    int64_t *starts = room(RMQ_EVEN + 1, sizeof *starts);
    int32_t *n_slots = room(RMQ_EVEN + 1, sizeof *n_slots), *numbers = room(n, sizeof *numbers), *out = room(m, sizeof *out);
    int32_t *scratch = room(rmq_slots_scratch_size(m, n), sizeof *scratch), label[RMQ_DIGITS], any[RMQ_DIGITS];
    const uint64_t seed = take(in, 8);
    const int32_t rest = m % RMQ_EVEN, k = RMQ_DIGITS, n_numbers = plain_numbers(slots, n, numbers);
    for (int i = 0; i <= RMQ_EVEN; i++)
        starts[i] = i * (i - 1) / 2, n_slots[i] = k;
    for (int i = 0; i < ROWS * RMQ_DIGITS; i++)
        digits[i] = (uint8_t)(number(in, 1) % 8); /* some are none */
    const rmq_orders_t orders = {digits, starts, n_slots};
    if (n_numbers > k || m == 0)
        goto done;
    for (int32_t digit = 0; digit < k; digit++)
        any[digit] = digit, label[digit] = -1;
    for (int32_t digit = 0; digit < k; digit++) { /* one queue, all slots present, and an order that is the digit alone */
        uint8_t alone[RMQ_DIGITS];
        const int64_t zeros[RMQ_EVEN + 1] = {0};
        const rmq_orders_t of_one = {alone, zeros, n_slots};
        int32_t *work = room(rmq_slots_scratch_size(1, k), sizeof *work);
        memset(alone, digit, sizeof alone);
        rmq_slots_by_orders(seed, &of_one, 1, any, k, work, &label[digit]);
        free(work);
    }
    rmq_slots_by_orders(seed, &orders, m, slots, n, scratch, out);
    for (int32_t q = 0; q < m; q++) {
        const int64_t row = starts[q < m - rest ? RMQ_EVEN : rest] + q % RMQ_EVEN;
        int32_t expected = -1;
        for (int i = 0; i < RMQ_DIGITS && expected < 0; i++)
            for (int32_t c = 0; c < n && digits[row * RMQ_DIGITS + i] < k; c++)
                if (numbers[c] == label[digits[row * RMQ_DIGITS + i]])
                    expected = c;
        CHECK(out[q] == expected, "queue %d of %d by orders: %d, not %d", q, m, out[q], expected);
    }
done:
    free(digits), free(starts), free(n_slots), free(numbers), free(out), free(scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input_t in = {data, size, 0};
    const int few = (int)take(&in, 1) & 1;
    const int32_t n = few ? 1 + (int32_t)below(&in, 6) : 1 + (int32_t)size_of(&in, MOST_CLIENTS), m = (int32_t)size_of(&in, MOST_QUEUES);
    maybe_draw(&in);
    int32_t *slots = slots_of(&in, n);
    number_all(slots, n);
    if (few)
        by_orders(&in, slots, n, m);
    if (m)
        own(&in, slots, n, m);
    free(slots);
    return 0;
}
