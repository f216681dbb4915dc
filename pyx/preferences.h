/* Owners of queues by mutual preference: pairs of queue and client in order of their scores, as far as there is room. */
#ifndef RMQALLOC_PREFERENCES_H
#define RMQALLOC_PREFERENCES_H

#include <stdint.h>

/* Words of 64 bits that either function needs to work in. */
int64_t rmq_preferences_scratch_size(int64_t n_queues, int64_t n_clients);

/* Each client gets n_queues / n_clients queues, and as many clients as it takes get one more. `queues` and `clients` have a
   number each; the owners are positions in the list of clients. */
void rmq_preferences_match(const uint32_t *queues, int32_t n_queues, const uint32_t *clients, int32_t n_clients,
                           uint64_t *scratch, int32_t *out);

/* In rounds each client asks for its next favourite; loads differ by two at most. */
void rmq_preferences_draft(const uint32_t *queues, int32_t n_queues, const uint32_t *clients, int32_t n_clients,
                           uint64_t *scratch, int32_t *out);

#endif
