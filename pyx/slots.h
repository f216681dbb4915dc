/* Owners of queues by the slot numbers of clients: few queues move when slots come and go. */
#ifndef RMQALLOC_SLOTS_H
#define RMQALLOC_SLOTS_H

#include <stdint.h>

/* Numbers of int32 that rmq_slots_own needs to work in. */
int64_t rmq_slots_scratch_size(int64_t n_queues, int64_t n_clients);

/* The owners of n_queues queues, positions in a list of n_clients. `numbers` has a number for each queue, `slots` the slot of
   each client: -1 without one, -2 for who takes no part. */
void rmq_slots_own(uint64_t seed, const uint64_t *numbers, int32_t n_queues, const int32_t *slots, int32_t n_clients,
                   int32_t *scratch, int32_t *out);

#endif
