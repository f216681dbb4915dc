/* Splits of a run of queues among clients, for many units laid end to end.

   Unit u has the queues out[queue_offsets[u] .. queue_offsets[u + 1]) and n_clients[u] clients; without any its queues go to
   nobody (-1). Nothing outside the range of all units is written, so threads may work on neighbouring ranges. */
#ifndef RMQALLOC_SPLIT_H
#define RMQALLOC_SPLIT_H

#include <stdint.h>

/* Blocks in client order, the first n mod m clients take one more. */
void rmq_split_contiguous(const int64_t *queue_offsets, const int32_t *n_clients, int64_t n_units, int32_t *out);

/* Queue after queue to client after client, round and round. */
void rmq_split_circular(const int64_t *queue_offsets, const int32_t *n_clients, int64_t n_units, int32_t *out);

#endif
