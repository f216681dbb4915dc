/* Loads, balance and movement of any units, under every instruction set, against counts made client by client. */
#include "fuzz_input.h"
#include "plain_tally.h"
#include "tally.h"

enum { MOST_UNITS = 60, MOST_QUEUES = 3000 };

typedef struct {
    int64_t n, *queues, *slots, *slot_offsets;
    int32_t *n_before, *n_after, *before, *after, *renamed, most_before, most_after;
    int some_absent;
} units_t;

/* Owners among so many clients; any number below 0 is nobody, and a queue may be absent. */
static void fill(input_t *in, int32_t *owners, int64_t n_queues, int32_t n_clients, int some_absent)
{
    const int one_has_all = number(in, 1) % 8 == 0;
    for (int64_t queue = 0; queue < n_queues; queue++) {
        const uint32_t any = (uint32_t)number(in, n_clients < 250 ? 1 : 2);
        owners[queue] = (int32_t)(any % ((uint32_t)n_clients + 1)) - 1;
        if (one_has_all && any % 8)
            owners[queue] = n_clients - 1;
        if (owners[queue] < 0 && any % 2)
            owners[queue] = any % 3 ? -2 - (int32_t)any : INT32_MIN + (int32_t)any;
        if (some_absent && any % 5 == 0)
            owners[queue] = RMQ_TALLY_ABSENT;
    }
}

/* Some clients stay, in any order; no two become the same one. */
static void rename_some(input_t *in, int32_t *renamed, int32_t n_before, int32_t n_after)
{
    const int32_t step = 1 + (int32_t)below(in, n_after ? n_after : 1);
    int32_t next = (int32_t)below(in, n_after ? n_after : 1);
    uint8_t *taken = calloc((size_t)n_after + 1, 1);
    for (int32_t c = 0; c < n_before; c++) {
        renamed[c] = -1;
        if (n_after == 0 || taken[next] || number(in, 1) % 4 == 0)
            continue;
        taken[next] = 1;
        renamed[c] = next;
        next = (next + step) % n_after;
    }
    free(taken);
}

static units_t units_of(input_t *in)
{
    units_t units = {.n = 1 + below(in, MOST_UNITS), .some_absent = (int)take(in, 1) & 1};
    const int64_t n = units.n, most = size_of(in, 1500), alike = take(in, 1) & 1;
    units.queues = room(n + 1, sizeof(int64_t)), units.slots = room(n, sizeof(int64_t)), units.slot_offsets = room(n + 1, sizeof(int64_t));
    units.n_before = room(n, sizeof(int32_t)), units.n_after = room(n, sizeof(int32_t));
    maybe_draw(in);
    units.queues[0] = units.slot_offsets[0] = 0;
    for (int64_t u = 0; u < n; u++) {
        const int64_t size = alike && u ? units.queues[1] : size_of(in, most), left = MOST_QUEUES - units.queues[u];
        units.queues[u + 1] = units.queues[u] + (size < left ? size : left);
        units.n_before[u] = alike && u ? units.n_before[0] : (int32_t)size_of(in, 300);
        units.n_after[u] = alike && u ? units.n_after[0] : (int32_t)size_of(in, 300);
        units.slots[u] = units.slot_offsets[u];
        units.slot_offsets[u + 1] = units.slots[u] + units.n_before[u];
        units.most_before = units.n_before[u] > units.most_before ? units.n_before[u] : units.most_before;
        units.most_after = units.n_after[u] > units.most_after ? units.n_after[u] : units.most_after;
    }
    units.before = room(units.queues[n], sizeof(int32_t)), units.after = room(units.queues[n], sizeof(int32_t));
    units.renamed = room(units.slot_offsets[n], sizeof(int32_t));
    for (int64_t u = 0; u < n; u++) {
        const int64_t first = units.queues[u], size = units.queues[u + 1] - first;
        fill(in, units.before + first, size, units.n_before[u], 0);
        fill(in, units.after + first, size, units.n_after[u], units.some_absent);
        rename_some(in, units.renamed + units.slots[u], units.n_before[u], units.n_after[u]);
    }
    return units;
}

static void free_units(units_t units)
{
    free(units.queues), free(units.slots), free(units.slot_offsets), free(units.n_before), free(units.n_after);
    free(units.before), free(units.after), free(units.renamed);
}

static void balance(const units_t *units)
{
    const int64_t n = units->n;
    int32_t *loads = room(units->slot_offsets[n], sizeof *loads), *figures = room(4 * n, sizeof *figures);
    int32_t *scratch = room(units->most_before, sizeof *scratch), *wanted = room(units->most_before, sizeof *wanted);
    const rmq_tally_balance_t out = {figures, figures + n, figures + 2 * n, figures + 3 * n};
    all_loads(units->queues, units->slot_offsets, units->before, n, loads);
    all_balance(units->queues, units->n_before, units->before, n, scratch, &out);
    for (int64_t u = 0; u < n; u++) {
        const int64_t size = units->queues[u + 1] - units->queues[u];
        const plain_balance_t want = plain_balance(units->before + units->queues[u], size, units->n_before[u], wanted);
        CHECK(out.unowned[u] == want.unowned && out.idle[u] == want.idle && out.least[u] == want.least && out.most[u] == want.most,
              "unit %d of %d: unowned %d, idle %d, least %d, most %d", (int)u, (int)n, out.unowned[u], out.idle[u], out.least[u], out.most[u]);
        for (int32_t c = 0; c < units->n_before[u]; c++)
            CHECK(loads[units->slots[u] + c] == wanted[c], "unit %d of %d: load of client %d", (int)u, (int)n, c);
    }
    free(loads), free(figures), free(scratch), free(wanted);
}

static void movement(const units_t *units, const rmq_tally_change_t *change, const int32_t *wanted)
{
    const int64_t n = units->n;
    int32_t *figures = room(3 * n, sizeof *figures), *alone = room(n, sizeof *alone);
    const rmq_tally_movement_t out = {figures, figures + n, figures + 2 * n};
    all_movement(change, &out);
    for (int64_t i = 0; i < 3 * n; i++)
        CHECK(figures[i] == wanted[i], "unit %d of %d: %s %d, not %d", (int)(i % n), (int)n,
              i < n ? "moved" : i < 2 * n ? "least moves" : "affected", figures[i], wanted[i]);
    if (!units->some_absent) {
        all_moved(change, alone);
        for (int64_t u = 0; u < n; u++)
            CHECK(alone[u] == wanted[u], "unit %d of %d: moved alone %d, not %d", (int)u, (int)n, alone[u], wanted[u]);
        all_least_moves(change, alone);
        for (int64_t u = 0; u < n; u++)
            CHECK(alone[u] == wanted[n + u], "unit %d of %d: least moves alone %d, not %d", (int)u, (int)n, alone[u], wanted[n + u]);
    }
    free(figures), free(alone);
}

/* Owners before, some of them absent: balance is only asked of sides that have all their queues. */
static void lack_some(input_t *in, const units_t *units)
{
    for (int64_t queue = 0; queue < units->queues[units->n]; queue++)
        if (number(in, 1) % 5 == 0)
            units->before[queue] = RMQ_TALLY_ABSENT;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input_t in = {data, size, 0};
    const units_t units = units_of(&in);
    EVERY_ISA
        if (rmq_tally(units.n))
            balance(&units);
    if (units.some_absent)
        lack_some(&in, &units);
    const int64_t n = units.n;
    const rmq_tally_change_t change = {units.queues, units.before, units.after, units.slots, units.n_before, units.renamed,
                                       units.n_after, n, units.slot_offsets[n]};
    int32_t *wanted = room(3 * n, sizeof *wanted);
    for (int64_t u = 0; u < n; u++)
        wanted[u] = moved(&change, u), wanted[n + u] = least_moves(&change, u), wanted[2 * n + u] = affected(&change, u);
    EVERY_ISA
        if (rmq_tally(n))
            movement(&units, &change, wanted);
    free(wanted);
    free_units(units);
    return 0;
}
