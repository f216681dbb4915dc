/* Counts over the owners of many units laid end to end, in vector registers: small units, which are nearly all there are.

   Unit u has the queues owners[queue_offsets[u] .. queue_offsets[u + 1]); an owner is a position among the clients of its unit,
   any negative number means nobody. Nothing outside the range of all units is written, so threads may work on neighbouring
   ranges. There are RMQ_TALLY_UNITS units at least.

   Each function goes on from unit `next` up to a block with units that do not fit, the odd ones, which are left to the plain loop.
   It says which they are, and is called again from the unit behind that block on; without odd ones it is done. */
#ifndef RMQALLOC_TALLY_H
#define RMQALLOC_TALLY_H

#include <stdint.h>

#define RMQ_TALLY_UNITS 8

/* The first unit of a block and a bit for each odd one from there on; the unit behind the block. */
typedef struct {
    int64_t first, behind;
    uint32_t odd;
} rmq_tally_rest_t;

/* Unowned queues, idle clients, least and greatest load of every unit. */
typedef struct {
    int32_t *unowned, *idle, *least, *most;
} rmq_tally_balance_t;

/* Two allocations, queue by queue. Client c of unit u before is client renamed[slot_starts[u] + c] after, or gone where that is
   negative; no two of a unit are the same one after. */
typedef struct {
    const int64_t *queue_offsets;
    const int32_t *before, *after; /* owners */
    const int64_t *slot_starts;
    const int32_t *n_before, *renamed, *n_after; /* clients of every unit before, after */
    int64_t n_units, n_slots;                    /* n_slots: how long `renamed` is */
} rmq_tally_change_t;

/* Of every unit: the queues of both sides that change owner; the fewest of these that can if all queues after are owned and loads
   differ by one at most; the clients of either side that lose or gain a queue. */
typedef struct {
    int32_t *moved, *least_moves, *affected;
} rmq_tally_movement_t;

/* The owner, in `before` or `after`, of a queue that this side does not have: no client list is that long. */
#define RMQ_TALLY_ABSENT INT32_MAX

typedef struct {
    /* Queues of every client; those of unit u are client_offsets[u] .. client_offsets[u + 1]. */
    rmq_tally_rest_t (*loads)(const int64_t *queue_offsets, const int64_t *client_offsets, const int32_t *owners,
                              int64_t n_units, int64_t next, int32_t *out);
    rmq_tally_rest_t (*balance)(const int64_t *queue_offsets, const int32_t *n_clients, const int32_t *owners,
                                int64_t n_units, int64_t next, const rmq_tally_balance_t *out);
    rmq_tally_rest_t (*movement)(const rmq_tally_change_t *change, int64_t next, const rmq_tally_movement_t *out);
    /* One figure alone, of queues that both sides have. `n_before` and `n_after` are not looked at for the first, `after` not for
       the second. */
    rmq_tally_rest_t (*moved)(const rmq_tally_change_t *change, int64_t next, const rmq_tally_movement_t *out);
    rmq_tally_rest_t (*least_moves)(const rmq_tally_change_t *change, int64_t next, const rmq_tally_movement_t *out);
} rmq_tally_t;

/* Those of the level in use; NULL where it has none, and for so few units. */
const rmq_tally_t *rmq_tally(int64_t n_units);

#endif
