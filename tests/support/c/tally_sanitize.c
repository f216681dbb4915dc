/* Count units of many sizes under every instruction set, on buffers of exactly the right size, and compare with counts made
   client by client. Compiled with address and undefined-behaviour sanitizers by tests/engine/test_tally.py. */
#include "isa.h"
#include "plain_tally.h"
#include "tally.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t state = 0x9e3779b97f4a7c15u;

static int32_t below(int32_t n)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (int32_t)((state >> 16) % (uint64_t)n);
}

/* An integer for every n that a vector, a counter or a table may end at. */
static int32_t size_of(int kind, int32_t most)
{
    static const int32_t EDGES[] = {0, 1, 7, 8, 9, 15, 16, 17, 24, 25, 31, 32, 33, 64, 255, 256};
    const int32_t n = kind == 0 ? below(6) : kind == 1 ? below(20) : EDGES[below(16)];
    return n < most ? n : most;
}

static void *room(int64_t n, size_t size) { return malloc((size_t)n * size); } /* nothing after the last */

static void fill(int32_t *owners, int64_t n_queues, int32_t n_clients, int kind)
{
    for (int64_t queue = 0; queue < n_queues; queue++) {
        owners[queue] = n_clients ? below(n_clients + 1) - 1 : -1 - below(2);
        if (kind == 3 && below(4) == 0)
            owners[queue] = RMQ_TALLY_ABSENT;
    }
}

static int wrong_balance(const int64_t *queue_offsets, const int32_t *n_clients, const int32_t *owners, int64_t n)
{
    int64_t *slots = room(n + 1, sizeof *slots), most_clients = slots[0] = 0;
    for (int64_t unit = 0; unit < n; unit++) {
        slots[unit + 1] = slots[unit] + n_clients[unit];
        most_clients = n_clients[unit] > most_clients ? n_clients[unit] : most_clients;
    }
    int32_t *loads = room(slots[n], sizeof *loads), *figures = room(4 * n, sizeof *figures);
    int32_t *scratch = room(most_clients, sizeof *scratch), *wanted = room(most_clients, sizeof *wanted);
    const rmq_tally_balance_t out = {figures, figures + n, figures + 2 * n, figures + 3 * n};
    int wrong = 0;
    all_loads(queue_offsets, slots, owners, n, loads);
    all_balance(queue_offsets, n_clients, owners, n, scratch, &out);
    for (int64_t unit = 0; unit < n; unit++) {
        const int64_t n_queues = queue_offsets[unit + 1] - queue_offsets[unit];
        const plain_balance_t want = plain_balance(owners + queue_offsets[unit], n_queues, n_clients[unit], wanted);
        for (int32_t c = 0; c < n_clients[unit]; c++)
            wrong += loads[slots[unit] + c] != wanted[c];
        wrong += out.unowned[unit] != want.unowned || out.idle[unit] != want.idle || out.least[unit] != want.least
                 || out.most[unit] != want.most;
    }
    free(slots), free(loads), free(figures), free(scratch), free(wanted);
    return wrong;
}

static int wrong_movement(const rmq_tally_change_t *change, int some_absent)
{
    const int64_t n = change->n_units;
    int32_t *figures = room(3 * n, sizeof *figures), *alone = room(n, sizeof *alone);
    const rmq_tally_movement_t out = {figures, figures + n, figures + 2 * n};
    int wrong = 0;
    all_movement(change, &out);
    for (int64_t unit = 0; unit < n; unit++)
        wrong += out.moved[unit] != moved(change, unit) || out.least_moves[unit] != least_moves(change, unit)
                 || out.affected[unit] != affected(change, unit);
    if (!some_absent) {
        all_moved(change, alone);
        for (int64_t unit = 0; unit < n; unit++)
            wrong += alone[unit] != out.moved[unit];
        all_least_moves(change, alone);
        for (int64_t unit = 0; unit < n; unit++)
            wrong += alone[unit] != out.least_moves[unit];
    }
    free(figures), free(alone);
    return wrong;
}

static int wrong(int64_t n, int kind)
{
    int64_t *queues = room(n + 1, sizeof *queues), *slots = room(n, sizeof *slots), n_slots = queues[0] = 0;
    int32_t *n_before = room(n, sizeof *n_before), *n_after = room(n, sizeof *n_after);
    for (int64_t unit = 0; unit < n; unit++) {
        queues[unit + 1] = queues[unit] + size_of(kind, 300);
        n_before[unit] = size_of(kind, 256);
        n_after[unit] = size_of(kind, 256);
        slots[unit] = n_slots;
        n_slots += n_before[unit];
    }
    int32_t *before = room(queues[n], sizeof *before), *after = room(queues[n], sizeof *after);
    int32_t *renamed = room(n_slots, sizeof *renamed);
    for (int64_t unit = 0; unit < n; unit++) {
        const int64_t queue = queues[unit], n_queues = queues[unit + 1] - queue;
        const int32_t stay = below(n_before[unit] + 1);
        for (int32_t c = 0; c < n_before[unit]; c++) /* some of those that stay find no place */
            renamed[slots[unit] + c] = c < stay && c < n_after[unit] ? c : -1;
        fill(before + queue, n_queues, n_before[unit], kind == 3 ? 0 : kind);
        fill(after + queue, n_queues, n_after[unit], kind);
    }
    const rmq_tally_change_t change = {queues, before, after, slots, n_before, renamed, n_after, n, n_slots};
    int failures = wrong_balance(queues, n_before, before, n);
    for (int64_t queue = 0; queue < queues[n] && kind == 3; queue++)
        if (below(4) == 0)
            before[queue] = RMQ_TALLY_ABSENT;
    failures += wrong_movement(&change, kind == 3);
    if (failures)
        printf("%s: %d units of kind %d: %d wrong\n", rmq_isa(), (int)n, kind, failures);
    free(queues), free(slots), free(n_before), free(n_after), free(before), free(after), free(renamed);
    return failures != 0;
}

int main(void)
{
    int failures = 0;
    for (int i = 0; rmq_isa_available(i); i++) {
        rmq_isa_force(rmq_isa_available(i));
        for (int64_t n_units = 1; n_units < 40; n_units++)
            for (int kind = 0; kind < 4 && rmq_tally(n_units); kind++)
                for (int round = 0; round < 5; round++)
                    failures += wrong(n_units, kind);
    }
    return failures != 0;
}
