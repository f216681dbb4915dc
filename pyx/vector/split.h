/* Splits of a run of queues among clients, for many units laid end to end.

   Unit u has the queues out[queue_offsets[u] .. queue_offsets[u + 1]) and n_clients[u] clients; without any its queues go to
   nobody (-1). Nothing outside the range of all units is written, so threads may work on neighbouring ranges. */
#ifndef RMQALLOC_SPLIT_H
#define RMQALLOC_SPLIT_H

#include <stdint.h>

typedef void rmq_split_t(const int64_t *queue_offsets, const int32_t *n_clients, int64_t n_units, int32_t *out);

typedef struct {
    rmq_split_t *contiguous; /* blocks in client order, the first n mod m clients take one more */
    rmq_split_t *circular;   /* queue after queue to client after client, round and round */
} rmq_splits_t;

/* Those of the level in use; NULL where it has none. */
const rmq_splits_t *rmq_splits(void);

#endif
