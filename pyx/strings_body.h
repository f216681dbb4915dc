/* The loop of strings_core.c that comes in one version for each instruction set. The includer defines

     ISA(name)   the name of a function for this instruction set
     TARGET      the attribute that lets the compiler use it
     LANES       64-bit integers in a vector */

typedef int64_t ISA(lanes_t) __attribute__((vector_size(8 * LANES), may_alias));

/* order[k] = the k-th of n keys, n_max of them readable, those from n on larger than any. The place of a key is the number of
   smaller ones, so that no branch depends on the keys. Returns 0 if some are equal: then their places are not right. */
TARGET INLINE int ISA(rank)(const int64_t *keys, int n, const int n_max, int32_t *order)
{
    ISA(lanes_t) places[SMALL / LANES];
    int64_t place[SMALL] __attribute__((aligned(64))), sum = 0;
    for (int i = 0; i < n_max / LANES; i++)
        places[i] = (ISA(lanes_t)){0};
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n_max / LANES; i++)
            places[i] -= (ISA(lanes_t)){0} + keys[j] < ((const ISA(lanes_t) *)keys)[i];
    for (int i = 0; i < n_max / LANES; i++)
        ((ISA(lanes_t) *)place)[i] = places[i];
    for (int i = 0; i < n; i++) {
        order[place[i]] = i;
        sum += place[i];
    }
    return sum == (int64_t)n * (n - 1) / 2; /* each pair of equal keys misses one */
}

TARGET static int ISA(sort_small)(const int64_t *keys, int n, int32_t *order)
{
    if (n <= 8)
        return ISA(rank)(keys, n, 8, order);
    if (n <= 16)
        return ISA(rank)(keys, n, 16, order);
    return ISA(rank)(keys, n, SMALL, order);
}

#undef ISA
#undef TARGET
#undef LANES
