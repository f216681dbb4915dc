#include "ring.h"

/* A key is point << 32 | (SLOT_MASK - slot): ascending keys put the last inserted of equal points first. */
#define SLOT_MASK 0x7fffffffu

int64_t ring_scratch_size(int64_t n_points, int64_t n_queues) { return 2 * n_points + 64 + 0 * n_queues; }

static void merge_sort(uint64_t *keys, uint64_t *spare, int64_t n)
{
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t lo = 0; lo < n; lo += 2 * width) {
            int64_t mid = lo + width < n ? lo + width : n;
            int64_t hi = mid + width < n ? mid + width : n;
            int64_t i = lo, j = mid;
            for (int64_t k = lo; k < hi; ++k) {
                int left = j == hi || (i < mid && keys[i] <= keys[j]);
                spare[k] = left ? keys[i++] : keys[j++];
            }
        }
        for (int64_t k = 0; k < n; ++k) keys[k] = spare[k];
    }
}

void ring_take(ring_t *ring, const uint32_t *points, int32_t n_clients, int32_t virtual_nodes, int64_t n_queues,
               int64_t n_units, uint64_t *scratch)
{
    (void)n_queues, (void)n_units;
    ring->points = points;
    ring->n_points = (int64_t)n_clients * virtual_nodes;
    ring->n_clients = n_clients;
    ring->virtual_nodes = virtual_nodes;
    ring->keys = scratch;
    int64_t i = 0;
    for (int32_t slot = 0; slot < n_clients; ++slot)
        for (int32_t k = 0; k < virtual_nodes; ++k, ++i)
            ring->keys[i] = (uint64_t)points[i] << 32 | (SLOT_MASK - (uint32_t)slot);
    merge_sort(ring->keys, scratch + ring->n_points, ring->n_points);
}

void ring_locate(ring_t *ring, const uint32_t *hashes, int32_t n_queues, int32_t *owners)
{
    for (int32_t j = 0; j < n_queues; ++j) {
        if (ring->n_points == 0) {
            owners[j] = -1;
            continue;
        }
        uint64_t wanted = (uint64_t)hashes[j] << 32;
        int64_t lo = 0, len = ring->n_points;
        while (len > 0) {
            int64_t half = len / 2;
            if (ring->keys[lo + half] < wanted) lo += half + 1, len -= half + 1;
            else len = half;
        }
        uint64_t key = ring->keys[lo < ring->n_points ? lo : 0];
        owners[j] = (int32_t)(SLOT_MASK - (uint32_t)key);
    }
}
