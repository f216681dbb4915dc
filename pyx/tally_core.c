/* Counts over owners; see tally.h. Small units, which are nearly all there are, are counted in vector registers by tally_body.h;
   what does not fit there is counted by the plain functions below. */
#include "tally.h"

#include "isa.h"

#include <stddef.h>
#include <string.h>
#ifdef RMQ_X86
#include <immintrin.h>
#endif

/* A counter of eight bits holds up to this many queues. */
#define FEW_QUEUES 255

/* --- Unit by unit --- */

/* One register counts so many clients, behind what nobody has: counters in memory would wait for one another. */
#define FEW_CLIENTS 7
static const uint64_t ONE[1 + FEW_CLIENTS] = {1, 1 << 8, 1 << 16, 1 << 24, 1ull << 32, 1ull << 40, 1ull << 48, 1ull << 56};

/* Place of an owner where that of nobody is -1. */
INLINE int64_t place_of(int32_t owner) { return owner < 0 ? -1 : owner; }

/* Loads of one unit; returns how many queues nobody has. */
static int32_t unit_loads(const int32_t *owners, int64_t n_queues, int64_t n_clients, int32_t *loads)
{
    int32_t unowned = 0;
    uint64_t counts = 0;
    if (n_clients <= FEW_CLIENTS && n_queues <= FEW_QUEUES) {
        for (int64_t queue = 0; queue < n_queues; queue++)
            counts += (ONE + 1)[place_of(owners[queue])];
        for (int64_t client = 0; client < n_clients; client++)
            loads[client] = counts >> 8 * (client + 1) & 255;
        return counts & 255;
    }
    for (int64_t client = 0; client < n_clients; client++)
        loads[client] = 0;
    for (int64_t queue = 0; queue < n_queues; queue++)
        if (owners[queue] < 0)
            unowned++;
        else
            loads[owners[queue]]++;
    return unowned;
}

static void unit_balance(
    const int32_t *owners, int64_t n_queues, int32_t n_clients, int32_t *loads, const rmq_tally_balance_t *out, int64_t unit)
{
    out->unowned[unit] = unit_loads(owners, n_queues, n_clients, loads);
    int32_t idle = 0, least = n_clients ? loads[0] : 0, most = 0;
    for (int32_t client = 0; client < n_clients; client++) {
        idle += loads[client] == 0;
        least = loads[client] < least ? loads[client] : least;
        most = loads[client] > most ? loads[client] : most;
    }
    out->idle[unit] = idle;
    out->least[unit] = least;
    out->most[unit] = most;
}

/* Queues that change owner where both sides have all of them. */
static int32_t unit_moved(const rmq_tally_change_t *change, int64_t unit)
{
    const int32_t *renamed = change->renamed + change->slot_starts[unit];
    int32_t moved = 0;
    for (int64_t queue = change->queue_offsets[unit]; queue < change->queue_offsets[unit + 1]; queue++) {
        const int32_t had = change->before[queue], has = change->after[queue];
        if (LIKELY(had >= 0)) { /* what a client that is gone had does not stay, not even with nobody */
            const int32_t stays = renamed[had];
            moved += (stays != has) | (stays < 0);
        } else
            moved += has >= 0;
    }
    return moved;
}

/* Clients that lose or gain a queue; queues of both sides that change owner go to `moved`. Clients are numbered by their places
   after, from 1 on, those of before that are gone behind them; 0 is nobody. */
static int32_t unit_affected(const rmq_tally_change_t *change, int64_t unit, int32_t *scratch, int32_t *moved)
{
    const int32_t *renamed = change->renamed + change->slot_starts[unit];
    const int32_t n_before = change->n_before[unit], n_after = change->n_after[unit];
    int32_t *numbers = scratch + 1, *touched = numbers + n_before, n_moved = 0, affected = 0;
    memset(touched, 0, sizeof *touched * (size_t)(1 + (int64_t)n_before + n_after));
    numbers[-1] = 0;
    for (int32_t client = 0; client < n_before; client++)
        numbers[client] = 1 + (renamed[client] < 0 ? n_after + client : renamed[client]);
    for (int64_t queue = change->queue_offsets[unit]; queue < change->queue_offsets[unit + 1]; queue++) {
        const int32_t had = change->before[queue], has = change->after[queue];
        uint32_t from = 0, to = 0;
        if (LIKELY(had != RMQ_TALLY_ABSENT))
            from = (uint32_t)numbers[place_of(had)];
        if (LIKELY(has != RMQ_TALLY_ABSENT))
            to = (uint32_t)(place_of(has) + 1);
        const uint32_t differ = from != to; /* no branch on this: what moves cannot be foreseen */
        touched[from & (0 - differ)] = 1;
        touched[to & (0 - differ)] = 1;
        if (LIKELY(had != RMQ_TALLY_ABSENT && has != RMQ_TALLY_ABSENT))
            n_moved += (int32_t)differ;
    }
    for (int64_t client = 1; client <= (int64_t)n_before + n_after; client++)
        affected += touched[client];
    *moved = n_moved;
    return affected;
}

/* Loads before of queues of both sides, and how many of these nobody had; returns how many queues there are after. */
static int64_t loads_of_both(const rmq_tally_change_t *change, int64_t unit, int32_t *loads, int64_t *unowned)
{
    const int64_t *queues = change->queue_offsets + unit, n_before = change->n_before[unit];
    const int32_t *before = change->before, *after = change->after;
    int64_t n_there = 0, nobody = 0;
    uint64_t counts = 0;
    if (n_before <= FEW_CLIENTS && queues[1] - queues[0] <= FEW_QUEUES) {
        for (int64_t queue = queues[0]; queue < queues[1]; queue++)
            if (LIKELY(after[queue] != RMQ_TALLY_ABSENT)) {
                if (LIKELY(before[queue] != RMQ_TALLY_ABSENT))
                    counts += (ONE + 1)[place_of(before[queue])];
                n_there++;
            }
        for (int64_t client = 0; client < n_before; client++)
            loads[client] = counts >> 8 * (client + 1) & 255;
        *unowned = counts & 255;
        return n_there;
    }
    for (int64_t client = 0; client < n_before; client++)
        loads[client] = 0;
    for (int64_t queue = queues[0]; queue < queues[1]; queue++)
        if (LIKELY(after[queue] != RMQ_TALLY_ABSENT)) {
            if (before[queue] < 0)
                nobody++;
            else if (LIKELY(before[queue] != RMQ_TALLY_ABSENT))
                loads[before[queue]]++;
            n_there++;
        }
    *unowned = nobody;
    return n_there;
}

/* Every client that is not gone may keep a share of the queues after, and as many as these leave over one more each. */
static int32_t unit_least_moves(const rmq_tally_change_t *change, int64_t unit, int32_t *loads)
{
    const int32_t *renamed = change->renamed + change->slot_starts[unit];
    const int32_t n_before = change->n_before[unit], n_after = change->n_after[unit];
    int64_t n_both, n_there = loads_of_both(change, unit, loads, &n_both);
    const int64_t share = n_after ? n_there / n_after : 0, extra = n_there - share * n_after;
    int64_t stay = n_after ? 0 : n_both, above = 0; /* without clients nobody keeps what nobody had */
    for (int32_t client = 0; client < n_before; client++) {
        n_both += loads[client];
        if (renamed[client] >= 0) {
            stay += loads[client] < share ? loads[client] : share;
            above += loads[client] > share;
        }
    }
    return (int32_t)(n_both - stay - (above < extra ? above : extra));
}

static void unit_movement(const rmq_tally_change_t *change, int64_t unit, int32_t *scratch, const rmq_tally_movement_t *out)
{
    out->affected[unit] = unit_affected(change, unit, scratch, &out->moved[unit]);
    out->least_moves[unit] = unit_least_moves(change, unit, scratch);
}

static void scalar_loads(
    const int64_t *queue_offsets, const int64_t *client_offsets, const int32_t *owners, int64_t n_units, int32_t *out)
{
    for (int64_t unit = 0; unit < n_units; unit++)
        unit_loads(owners + queue_offsets[unit], queue_offsets[unit + 1] - queue_offsets[unit],
                   client_offsets[unit + 1] - client_offsets[unit], out + client_offsets[unit]);
}

static void scalar_balance(
    const int64_t *queue_offsets, const int32_t *n_clients, const int32_t *owners, int64_t n_units, int32_t *scratch,
    const rmq_tally_balance_t *out)
{
    for (int64_t unit = 0; unit < n_units; unit++)
        unit_balance(owners + queue_offsets[unit], queue_offsets[unit + 1] - queue_offsets[unit], n_clients[unit], scratch, out,
                     unit);
}

static void scalar_movement(const rmq_tally_change_t *change, int32_t *scratch, const rmq_tally_movement_t *out)
{
    for (int64_t unit = 0; unit < change->n_units; unit++)
        unit_movement(change, unit, scratch, out);
}

static void scalar_moved(const rmq_tally_change_t *change, int32_t *out)
{
    for (int64_t unit = 0; unit < change->n_units; unit++)
        out[unit] = unit_moved(change, unit);
}

static void scalar_least_moves(const rmq_tally_change_t *change, int32_t *scratch, int32_t *out)
{
    for (int64_t unit = 0; unit < change->n_units; unit++)
        out[unit] = unit_least_moves(change, unit, scratch);
}

/* --- Blocks of units, one version for each instruction set --- */

typedef struct {
    void (*loads)(const int64_t *, const int64_t *, const int32_t *, int64_t, int32_t *);
    void (*balance)(const int64_t *, const int32_t *, const int32_t *, int64_t, int32_t *, const rmq_tally_balance_t *);
    void (*movement)(const rmq_tally_change_t *, int32_t *, const rmq_tally_movement_t *);
    void (*moved)(const rmq_tally_change_t *, int32_t *);
    void (*least_moves)(const rmq_tally_change_t *, int32_t *, int32_t *);
} ways_t;

static const ways_t scalar_ways = {scalar_loads, scalar_balance, scalar_movement, scalar_moved, scalar_least_moves};

#ifdef RMQ_X86
/* Bytes that owners are asked for ahead of their use: units are counted faster than they come by themselves. */
#define AHEAD 2048
/* Up to eight times this many clients it is quicker to read the owners again than to count in memory. */
#define MOST_EIGHTS 4
/* No block has more units. */
#define MOST_UNITS 8

/* Numbers of clients before that are gone, by their places: behind those of the at most sixteen after. */
static const int32_t GONE[16] = {16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

/* What n / m is for n up to FEW_QUEUES, when n times this is shifted right by 16. */
#define SHARE(m) (65536 + (m) - 1) / (m)
static const uint32_t SHARES[17] = {0, SHARE(1), SHARE(2), SHARE(3), SHARE(4), SHARE(5), SHARE(6), SHARE(7), SHARE(8), SHARE(9),
                                    SHARE(10), SHARE(11), SHARE(12), SHARE(13), SHARE(14), SHARE(15), SHARE(16)};

/* What a loop over changes is wanted for, and whether queues may be absent on a side. */
enum { MOVED = 1, LEAST_MOVES = 2, AFFECTED = 4, SOME_ABSENT = 8 };

#include "tally_avx2.h"
#include "tally_body.h"

#include "tally_avx512.h"
#include "tally_body.h"
#endif

static const ways_t *ways(int64_t n_units)
{
#ifdef RMQ_X86
    const enum rmq_isa_level level = n_units < MOST_UNITS ? RMQ_SCALAR : rmq_isa_level();
    if (level == RMQ_AVX512)
        return &avx512_ways;
    if (level == RMQ_AVX2)
        return &avx2_ways;
#else
    (void)n_units;
#endif
    return &scalar_ways;
}

void rmq_tally_loads(
    const int64_t *queue_offsets, const int64_t *client_offsets, const int32_t *owners, int64_t n_units, int32_t *out)
{
    ways(n_units)->loads(queue_offsets, client_offsets, owners, n_units, out);
}

void rmq_tally_balance(
    const int64_t *queue_offsets, const int32_t *n_clients, const int32_t *owners, int64_t n_units, int32_t *scratch,
    const rmq_tally_balance_t *out)
{
    ways(n_units)->balance(queue_offsets, n_clients, owners, n_units, scratch, out);
}

void rmq_tally_movement(const rmq_tally_change_t *change, int32_t *scratch, const rmq_tally_movement_t *out)
{
    ways(change->n_units)->movement(change, scratch, out);
}

void rmq_tally_moved(const rmq_tally_change_t *change, int32_t *out) { ways(change->n_units)->moved(change, out); }

void rmq_tally_least_moves(const rmq_tally_change_t *change, int32_t *scratch, int32_t *out)
{
    rmq_tally_change_t same = *change;
    same.after = change->before; /* the plain functions ask which queues there are after */
    ways(change->n_units)->least_moves(&same, scratch, out);
}
