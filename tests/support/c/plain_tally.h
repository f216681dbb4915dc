/* What is counted of owners, client by client, for whoever compares with it. */
#ifndef PLAIN_TALLY_H
#define PLAIN_TALLY_H

#include "tally.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    int32_t unowned, idle, least, most;
} plain_balance_t;

/* The loads of all clients are left in `loads`. */
static plain_balance_t plain_balance(const int32_t *owners, int64_t n_queues, int32_t n_clients, int32_t *loads)
{
    plain_balance_t found = {(int32_t)n_queues, 0, n_clients ? INT32_MAX : 0, 0};
    memset(loads, 0, (size_t)n_clients * sizeof *loads);
    for (int64_t queue = 0; queue < n_queues; queue++)
        if (owners[queue] >= 0)
            loads[owners[queue]]++;
    for (int32_t c = 0; c < n_clients; c++) {
        found.unowned -= loads[c];
        found.idle += loads[c] == 0;
        found.least = loads[c] < found.least ? loads[c] : found.least;
        found.most = loads[c] > found.most ? loads[c] : found.most;
    }
    return found;
}

/* Who has a queue, by a number that means the same client on both sides; -1 is nobody. */
static int32_t client(int32_t owner, const int32_t *renamed)
{
    if (owner < 0 || owner == RMQ_TALLY_ABSENT)
        return -1;
    return renamed == NULL ? owner : renamed[owner] < 0 ? 1000000 + owner : renamed[owner];
}

static int32_t moved(const rmq_tally_change_t *change, int64_t unit)
{
    const int32_t *renamed = change->renamed + change->slot_starts[unit];
    int32_t found = 0;
    for (int64_t queue = change->queue_offsets[unit]; queue < change->queue_offsets[unit + 1]; queue++) {
        const int32_t had = change->before[queue], has = change->after[queue];
        found += had != RMQ_TALLY_ABSENT && has != RMQ_TALLY_ABSENT && client(had, renamed) != client(has, NULL);
    }
    return found;
}

static int by_size(const void *one, const void *other)
{
    const int32_t a = *(const int32_t *)one, b = *(const int32_t *)other;
    return (a < b) - (a > b);
}

/* Queues of both sides less those that can stay: the fullest clients keep the larger shares. */
static int32_t least_moves(const rmq_tally_change_t *change, int64_t unit)
{
    const int32_t *renamed = change->renamed + change->slot_starts[unit], n = change->n_after[unit];
    int32_t *loads = calloc((size_t)n + 1, sizeof *loads), n_after = 0, both = 0, stay = 0, nobody = 0;
    for (int64_t queue = change->queue_offsets[unit]; queue < change->queue_offsets[unit + 1]; queue++) {
        const int32_t had = change->before[queue], has = change->after ? change->after[queue] : 0;
        n_after += has != RMQ_TALLY_ABSENT;
        if (had == RMQ_TALLY_ABSENT || has == RMQ_TALLY_ABSENT)
            continue;
        const int32_t of = client(had, renamed);
        both++;
        nobody += of < 0;
        if (of >= 0 && of < n)
            loads[of]++;
    }
    qsort(loads, (size_t)n, sizeof *loads, by_size);
    for (int32_t c = 0; c < n; c++) {
        const int32_t share = n_after / n + (c < n_after % n);
        stay += loads[c] < share ? loads[c] : share;
    }
    free(loads);
    return both - (n ? stay : nobody);
}

/* Clients that have another queue, or one less, than before; those that are gone count as themselves. */
static int32_t affected(const rmq_tally_change_t *change, int64_t unit)
{
    const int32_t *renamed = change->renamed + change->slot_starts[unit];
    int32_t n = change->n_after[unit], found = 0;
    const int32_t n_before = change->n_before[unit], n_names = n + n_before;
    uint8_t *touched = calloc((size_t)n_names + 1, 1);
    for (int64_t queue = change->queue_offsets[unit]; queue < change->queue_offsets[unit + 1]; queue++) {
        const int32_t had = client(change->before[queue], renamed), has = client(change->after[queue], NULL);
        if (had == has)
            continue;
        if (had >= 0)
            touched[had < 1000000 ? had : n + had - 1000000] = 1;
        if (has >= 0)
            touched[has] = 1;
    }
    for (int32_t c = 0; c < n_names; c++)
        found += touched[c];
    free(touched);
    return found;
}

/* ---- the loops of the level in use, and for the units that they leave over the plain counts; what fits must not be left over ---- */

#define COUNT_ALL(call, fits, ...) \
    for (rmq_tally_rest_t rest = {0, 0, 1}; rest.odd;) { \
        rest = (call); \
        for (int64_t unit = rest.first; rest.odd && unit < rest.behind; unit++) \
            if (rest.odd >> (unit - rest.first) & 1) { \
                if (fits) \
                    abort(); \
                __VA_ARGS__; \
            } \
    }

static void all_loads(const int64_t *queues, const int64_t *slots, const int32_t *owners, int64_t n, int32_t *out)
{
    COUNT_ALL(rmq_tally(n)->loads(queues, slots, owners, n, rest.behind, out),
              queues[unit + 1] - queues[unit] <= 255 && slots[unit + 1] - slots[unit] <= 32,
              plain_balance(owners + queues[unit], queues[unit + 1] - queues[unit], (int32_t)(slots[unit + 1] - slots[unit]),
                            out + slots[unit]))
}

static void all_balance(const int64_t *queues, const int32_t *n_clients, const int32_t *owners, int64_t n, int32_t *loads,
                        const rmq_tally_balance_t *out)
{
    plain_balance_t one;
    COUNT_ALL(rmq_tally(n)->balance(queues, n_clients, owners, n, rest.behind, out),
              queues[unit + 1] - queues[unit] <= 255 && n_clients[unit] <= 32,
              one = plain_balance(owners + queues[unit], queues[unit + 1] - queues[unit], n_clients[unit], loads);
              out->unowned[unit] = one.unowned, out->idle[unit] = one.idle, out->least[unit] = one.least, out->most[unit] = one.most)
}

static int is_small(const rmq_tally_change_t *change, int64_t unit)
{
    return change->queue_offsets[unit + 1] - change->queue_offsets[unit] <= 255 && change->n_before[unit] <= 8 &&
           change->n_after[unit] <= 8 && change->n_after[unit] > 0;
}

static void all_movement(const rmq_tally_change_t *change, const rmq_tally_movement_t *out)
{
    COUNT_ALL(rmq_tally(change->n_units)->movement(change, rest.behind, out), is_small(change, unit),
              out->moved[unit] = moved(change, unit), out->least_moves[unit] = least_moves(change, unit),
              out->affected[unit] = affected(change, unit))
}

static void all_moved(const rmq_tally_change_t *change, int32_t *out)
{
    const rmq_tally_movement_t figures = {out, NULL, NULL};
    COUNT_ALL(rmq_tally(change->n_units)->moved(change, rest.behind, &figures), is_small(change, unit), out[unit] = moved(change, unit))
}

static void all_least_moves(const rmq_tally_change_t *change, int32_t *out)
{
    const rmq_tally_movement_t figures = {NULL, out, NULL};
    COUNT_ALL(rmq_tally(change->n_units)->least_moves(change, rest.behind, &figures), is_small(change, unit),
              out[unit] = least_moves(change, unit))
}

#endif
