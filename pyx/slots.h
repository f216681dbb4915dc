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

/* The number of each client, -1 for who takes no part. Returns how many numbers there are, those that nobody has included. */
int64_t rmq_slots_number(const int32_t *slots, int32_t n_clients, int32_t *scratch, int32_t *numbers);

#define RMQ_EVEN 60  /* orders that are even on every subset of slots */
#define RMQ_DIGITS 6 /* of an order; one of fewer slots ends in digits that are none */

/* Orders of slots for 1 to RMQ_EVEN queues: of m queues rows starts[m] to starts[m] + m, of n_slots[m] slots. */
typedef struct {
    const uint8_t *digits;
    const int64_t *starts;
    const int32_t *n_slots;
} rmq_orders_t;

/* The same by orders: each queue goes to the first client that is present. There must not be more numbers than slots. */
void rmq_slots_by_orders(uint64_t seed, const rmq_orders_t *orders, int32_t n_queues, const int32_t *slots, int32_t n_clients,
                         int32_t *scratch, int32_t *out);

#endif
