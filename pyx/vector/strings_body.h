/* The loop of strings_core.c that comes in one version for each width of vectors. The includer defines

     ISA(name)   the name of a function for this instruction set
     TARGET      the attribute that lets the compiler use it
     LANES       64-bit integers in a vector */

VECTOR(int64_t, ISA(lanes_t), 8 * LANES);

/* place[i] = how many of n keys are smaller than key i; n_max of them are readable, those from n on larger than any. No
   branch depends on the keys. Returns 0 if some are equal: then they have one place. */
TARGET INLINE int ISA(rank)(const int64_t *keys, int n, const int n_max, int64_t *place)
{
    ISA(lanes_t) places[SMALL / LANES];
    int64_t sum = 0;
    for (int i = 0; i < n_max / LANES; i++)
        places[i] = (ISA(lanes_t)){0};
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n_max / LANES; i++)
            places[i] -= (ISA(lanes_t)){0} + keys[j] < ((const ISA(lanes_t) *)keys)[i];
    for (int i = 0; i < n_max / LANES; i++)
        ((ISA(lanes_t) *)place)[i] = places[i];
    for (int i = 0; i < n_max; i++)
        sum += place[i];
    return sum == (int64_t)n * (n - 1) / 2 + (int64_t)n * (n_max - n); /* each pair of equal keys misses one */
}

TARGET INLINE int ISA(sort_room)(const int64_t *keys, int n, const int n_max, int32_t *order)
{
    ALIGNED(64) int64_t place[SMALL];
    const int distinct = ISA(rank)(keys, n, n_max, place);
    for (int i = 0; i < n; i++)
        order[place[i]] = i;
    return distinct;
}

/* order[k] = the k-th of n <= SMALL keys, behind which larger ones follow up to SMALL; returns 0 if some are equal. */
TARGET static int ISA(sort_keys)(const int64_t *keys, int n, int32_t *order)
{
    if (n <= 8)
        return ISA(sort_room)(keys, n, 8, order);
    if (n <= 16)
        return ISA(sort_room)(keys, n, 16, order);
    return ISA(sort_room)(keys, n, SMALL, order);
}

#undef ISA
#undef TARGET
#undef LANES
