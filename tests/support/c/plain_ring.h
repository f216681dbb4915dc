/* The plain meaning of a ring, for whoever compares with it. */
#ifndef PLAIN_RING_H
#define PLAIN_RING_H

#include <stdint.h>

/* Whose point comes first at or after a hash, the last one of several that are equal; -1 without points. */
static int32_t owner(const uint32_t *points, int64_t n_points, int32_t virtual_nodes, uint32_t hash)
{
    int64_t best = -1;
    for (int64_t i = 0; i < n_points; i++)
        if (best < 0 || points[i] - hash <= points[best] - hash)
            best = i;
    return best < 0 ? -1 : (int32_t)(best / virtual_nodes);
}

#endif
