/* The loops of ring_core.c that come in one version for each instruction set. The includer defines

     ISA(name)                        the name of a function for this instruction set
     TARGET                           the attribute that lets the compiler use it
     LANES, lanes_t                   32-bit integers in a vector, and its type
     LOAD(from, n), STORE(to, n, v)   the first n <= LANES integers from and to memory, touching no others
     SPREAD(value)                    one integer in all lanes
     LEAST(a, b), MINUS(a, b)         signed minimum, wrapping difference
     CLAIM(owner, best, near, slot)   `slot` in lanes where near <= best, else `owner`
     BELOW(window, key)               how many of WINDOW consecutive keys are smaller */

/* Owners of n_vectors * LANES queues (or n_queues of one vector): all points against all of them. With the sign bit of
   the hash flipped, the signed order of point - hash is the unsigned one: the way up from the hash to the point, past
   the end too. Within a client only the nearest point matters, so owners are compared once a client; equal is enough,
   because the last inserted wins. */
TARGET INLINE void ISA(scan_vectors)(
    const rmq_ring_t *ring, const uint32_t *hashes, int n_queues, int32_t *owners, const int n_vectors)
{
    const uint32_t *point = ring->points;
    lanes_t hash[4], best[4], owner[4], near[4];
    for (int i = 0; i < n_vectors; i++) {
        hash[i] = MINUS(LOAD(hashes + i * LANES, n_queues), SPREAD(INT32_MIN));
        best[i] = SPREAD(INT32_MAX);
        owner[i] = SPREAD(0);
    }
    for (int32_t slot = 0; slot < ring->n_clients; slot++) {
        for (int i = 0; i < n_vectors; i++)
            near[i] = SPREAD(INT32_MAX);
        UNROLL_4
        for (const uint32_t *end = point + ring->virtual_nodes; point < end; point++)
            for (int i = 0; i < n_vectors; i++)
                near[i] = LEAST(near[i], MINUS(SPREAD((int32_t)*point), hash[i]));
        for (int i = 0; i < n_vectors; i++) {
            owner[i] = CLAIM(owner[i], best[i], near[i], SPREAD(slot));
            best[i] = LEAST(best[i], near[i]);
        }
    }
    for (int i = 0; i < n_vectors; i++)
        STORE(owners + i * LANES, n_queues, owner[i]);
}

TARGET static void ISA(scan)(const rmq_ring_t *ring, const uint32_t *hashes, int64_t n_queues, int32_t *owners)
{
    int64_t i = 0;
    /* Several vectors share the reading of a point, and their minima do not wait for one another. */
    for (; n_queues - i >= 4 * LANES; i += 4 * LANES)
        ISA(scan_vectors)(ring, hashes + i, LANES, owners + i, 4);
    for (; n_queues - i >= 2 * LANES; i += 2 * LANES)
        ISA(scan_vectors)(ring, hashes + i, LANES, owners + i, 2);
    for (; n_queues - i >= LANES; i += LANES)
        ISA(scan_vectors)(ring, hashes + i, LANES, owners + i, 1);
    if (i < n_queues)
        ISA(scan_vectors)(ring, hashes + i, (int)(n_queues - i), owners + i, 1);
}

/* How many keys of the table are smaller than `key`, a key of this point: all of earlier cells, and some of a window
   from the point's own cell on (those of later cells are not). Only the rare second window makes a branch. */
TARGET INLINE uint32_t ISA(rank)(
    const rmq_table_t *table, uint32_t point, int64_t key)
{
    uint32_t place = table->cells[point >> table->shift];
    int smaller;
    do {
        smaller = BELOW(table->keys + place, key);
        place += (uint32_t)smaller;
    } while (UNLIKELY(smaller == WINDOW));
    return place;
}

TARGET static void ISA(search)(const rmq_table_t *ring, const uint32_t *hashes, int64_t n_queues, int32_t *owners)
{
    const rmq_table_t table = *ring;
    for (int64_t i = 0; i < n_queues; i++)
        owners[i] = SLOT(table.keys[ISA(rank)(&table, hashes[i], KEY(hashes[i], 0))]);
}

/* For each gap before, between and after the sorted queues, the least key of the points in it. */
TARGET static void ISA(sift)(const rmq_ring_t *ring, const rmq_table_t *queues, int64_t *least)
{
    const rmq_table_t table = *queues;
    const uint32_t *point = ring->points;
    for (int32_t slot = 0; slot < ring->n_clients; slot++)
        for (const uint32_t *end = point + ring->virtual_nodes; point < end; point++) {
            const uint32_t gap = ISA(rank)(&table, *point, KEY(*point, UINT32_MAX));
            const int64_t key = KEY(*point, SLOT_MASK - (uint32_t)(ring->first_slot + slot));
            least[gap] = key < least[gap] ? key : least[gap];
        }
}

#undef ISA
#undef TARGET
#undef LANES
#undef lanes_t
#undef LOAD
#undef STORE
#undef SPREAD
#undef LEAST
#undef MINUS
#undef CLAIM
#undef BELOW
