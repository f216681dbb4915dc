/* First 32 bits of MD5 for very many short keys: the hash of RocketMQ's consistent hash ring.
 *
 * Strings come as columns: string i is values[offsets[i]:offsets[i+1]], UTF-8. Every function allocates nothing,
 * keeps no state between calls and may run in many threads at once. A hash is digest bytes 0..3, big-endian.
 */
#ifndef RMQALLOC_MD5_H
#define RMQALLOC_MD5_H

#include <stdint.h>

typedef struct {
    /* Ring points of ids first..last-1: key k of id i is id, '-', decimal(starts[i] + k); k = 0..v-1.
     * starts may be NULL (all zero). out has (last - first) * v places, id by id. */
    void (*points)(const uint8_t *values, const int64_t *offsets, int64_t first, int64_t last, const int32_t *starts,
                   int32_t v, uint32_t *out);

    /* Queues of routes first_route..last_route-1, by their text "MessageQueue [topic=T, brokerName=B, queueId=N]".
     * Route r has queues queue_ids[route_offsets[r]:route_offsets[r+1]]; queue i goes to
     * out[i - route_offsets[first_route]]. */
    void (*queues)(const uint8_t *topic_values, const int64_t *topic_offsets, const uint8_t *broker_values,
                   const int64_t *broker_offsets, const int32_t *route_topic, const int32_t *route_broker,
                   const int64_t *route_offsets, int64_t first_route, int64_t last_route, const int32_t *queue_ids,
                   uint32_t *out);

    /* Strings first..last-1 as they are. */
    void (*strings)(const uint8_t *values, const int64_t *offsets, int64_t first, int64_t last, uint32_t *out);

    /* The bare rounds, for benchmarks: messages of one block each, ready-made in groups of 192. A group has word 0 of all
     * its messages first, then word 1, and so on to word 15. out has 192 places for each group. */
    void (*bare)(const uint32_t *blocks, int64_t n_groups, uint32_t *out);
} rmq_md5_t;

/* Those of the level in use for so many keys; NULL where it has none. */
const rmq_md5_t *rmq_md5(int64_t n_keys);

#endif
