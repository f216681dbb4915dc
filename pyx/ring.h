/* A consistent-hash ring over 32-bit points: who owns the first point at or after a hash.

   Meaning (that of a Java TreeMap filled in list order): of equal points the last inserted counts; a hash beyond the
   last point belongs to the first. Points come slot by slot, `virtual_nodes` of them for each client. */
#ifndef RMQALLOC_RING_H
#define RMQALLOC_RING_H

#include <stdint.h>

typedef struct {
    const uint32_t *points;
    int64_t n_points;
    int32_t n_clients;
    int32_t virtual_nodes;
    uint64_t *keys; /* the ring in ascending order, in the caller's scratch */
} ring_t;

/* Words of scratch that lists of at most `n_points` points and units of at most `n_queues` queues need. */
int64_t ring_scratch_size(int64_t n_points, int64_t n_queues);

/* Take up a client list. `n_queues` queues in `n_units` units will be asked for. */
void ring_take(ring_t *ring, const uint32_t *points, int32_t n_clients, int32_t virtual_nodes, int64_t n_queues,
               int64_t n_units, uint64_t *scratch);

/* Write the client slot that owns each hash, -1 if the ring is empty. */
void ring_locate(ring_t *ring, const uint32_t *hashes, int32_t n_queues, int32_t *owners);

#endif
