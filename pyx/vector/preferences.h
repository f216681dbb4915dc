/* The innermost loops of preferences.pyx, over scores of queues and clients in vectors. */
#ifndef RMQALLOC_PREFERENCES_H
#define RMQALLOC_PREFERENCES_H

#include <stdint.h>

/* Lists that are read as far as a whole vector, or two, may go on to a multiple of so many. */
#define RMQ_PREFERENCES_WIDEST 16

typedef struct {
    /* The best client of each of some queues, by score and then by position, and its score. All lists of queues go on to whole pairs
       of vectors. */
    void (*first_choices)(const uint32_t *queues, int32_t n_queues, const uint32_t *clients, int32_t n_clients, uint32_t *best,
                          uint32_t *choice);
    /* The best client of a queue among those that are open (all bits are set, else none), and its score; the lists go on to whole
       vectors. */
    int32_t (*best_open)(uint32_t queue, const uint32_t *clients, const uint32_t *open, int32_t n_clients, uint32_t *score);
    /* At most 64 pairs, in order; NULL where vectors are too narrow for it. */
    void (*sort_few)(const uint64_t *pairs, int32_t n, uint64_t *out);
} rmq_preferences_t;

/* Those of the level in use; NULL where it has none. */
const rmq_preferences_t *rmq_preferences(void);

#endif
