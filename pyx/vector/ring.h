/* A consistent-hash ring over 32-bit points: which client owns the first point at or after a hash.

   What counts is what a Java TreeMap filled in list order would say: of equal points the last inserted one, and beyond
   the last point the first. Points come client by client, `virtual_nodes` of them each. Nothing here allocates, fails
   or keeps state outside the ring and the caller's scratch. */
#ifndef RMQALLOC_RING_H
#define RMQALLOC_RING_H

#include <stdint.h>

/* Sorted keys (see ring_core.c), and for each of 2^(32 - shift) equal parts of the circle where its keys begin. */
typedef struct {
    int64_t *keys;
    uint32_t *cells;
    int64_t n;
    int shift;
} rmq_table_t;

typedef struct {
    const struct rmq_ring_engine *engine;
    int64_t *scratch;
    const uint32_t *points;
    int64_t n_points;
    int32_t n_clients, virtual_nodes, first_slot; /* the slots of the points begin there */
    int way;
    rmq_table_t table;
} rmq_ring_t;

/* 64-bit words of scratch for client lists of at most `n_points` points. */
static inline int64_t rmq_ring_scratch_size(int64_t n_points) { return 3 * n_points + 9; }

typedef struct {
    /* Make ready for client lists of `virtual_nodes` points a client. */
    void (*start)(rmq_ring_t *ring, int32_t virtual_nodes, uint64_t *scratch);

    /* Take up a client list, of which `n_queues` queues will be asked, in `n_spans` calls; 0 where its points crowd: it is the plain
       loop's then. */
    int (*take)(rmq_ring_t *ring, const uint32_t *points, int32_t n_clients, int64_t n_queues, int64_t n_spans);

    /* Write the owner of each hash: a position in the client list, or -1 if the ring has no point; 0, and nothing is written, where
       points and hashes crowd. */
    int (*locate)(rmq_ring_t *ring, const uint32_t *hashes, int64_t n_queues, int32_t *owners);

    /* The same for a client list of so many points that one call would take long: they come in portions, in any order, and the
       caller may stop in between. Begin is 0, and nothing more is to be called, where the hashes crowd so that points must be
       sorted. What is known so far lies in the scratch, which serves at least as many points as there are queues. */
    int (*sift_begin)(rmq_ring_t *ring, const uint32_t *hashes, int64_t n_queues);
    void (*sift_some)(rmq_ring_t *ring, const uint32_t *points, int32_t first_slot, int32_t n_clients, int64_t n_queues);
    void (*sift_end)(rmq_ring_t *ring, int64_t n_queues, int32_t *owners);
} rmq_rings_t;

/* Those of the level in use; NULL where it has none. With `is_begun` those that go on after `sift_begin`, whatever level is in use. */
const rmq_rings_t *rmq_rings(int is_begun);

#endif
