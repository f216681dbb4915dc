/* Part of strings_core.c: lists of few strings of ASCII, with AVX2. All loops run over as many strings as a list of the size
   class may have, so that the processor can tell how often they turn, and nothing else branches on the text. */

#define AVX2 BUILT_FOR("avx2,bmi2")

UNALIGNED_VECTOR(int64_t, offsets_t, 32);

/* Numbers of the lanes of a block of four; -1 in those of the n strings of the list. */
AVX2 INLINE avx2_lanes_t numbers(int block) { return (avx2_lanes_t){0, 1, 2, 3} + 4 * block; }
AVX2 INLINE avx2_lanes_t inside(int block, int64_t n) { return numbers(block) < n; }

AVX2 INLINE int any(avx2_lanes_t lanes) { return (lanes[0] | lanes[1] | lanes[2] | lanes[3]) != 0; }

/* Keys whose bytes from n on, negative as it may be, are zeros. */
AVX2 INLINE avx2_lanes_t cut(avx2_lanes_t key, avx2_lanes_t n)
{
    const __m256i bits = (__m256i)((64 - 8 * n) & ((64 - 8 * n) > 0));
    return (avx2_lanes_t)_mm256_sllv_epi64(_mm256_srlv_epi64((__m256i)key, bits), bits);
}

/* Sort a list whose strings begin with `prefix` equal bytes and differ in the next eight, all ASCII. Returns whether it moves,
   or UNSURE if that is not so or one is empty. Reads the offsets of n_max strings, the later ones of other lists, and as many
   bytes of each. */
AVX2 INLINE int sort_at(const list_t *list, int64_t prefix, const int n_max, int32_t *order)
{
    ALIGNED(64) int64_t heads[SMALL], keys[SMALL], place[SMALL];
    const int64_t *offsets = list->offsets, n = list->n;
    const int64_t head = prefix < 8 ? (int64_t) ~(~UINT64_C(0) >> 8 * prefix) : -1;
    avx2_lanes_t wrong = {0}, moves = {0};
    for (int i = 0; i < n_max; i++) {
        heads[i] = (int64_t)rmq_ordered(list->values + offsets[i]);
        keys[i] = (int64_t)rmq_ordered(list->values + offsets[i] + prefix);
    }
    for (int b = 0; b < n_max / 4; b++) {
        const avx2_lanes_t size = ((const offsets_t *)(offsets + 1))[b] - ((const offsets_t *)offsets)[b];
        const avx2_lanes_t key = cut(((avx2_lanes_t *)keys)[b], size - prefix), mine = inside(b, n);
        wrong |= ((((avx2_lanes_t *)heads)[b] ^ heads[0]) & head & mine) | (key & NOT_ASCII & mine);
        wrong |= (size < prefix + !prefix) & mine;
        ((avx2_lanes_t *)keys)[b] = (key & mine) | (~mine & INT64_MAX);
    }
    if (any(wrong) || !avx2_rank(keys, (int)n, n_max, place))
        return UNSURE;
    for (int b = 0; b < n_max / 4; b++)
        moves |= (((avx2_lanes_t *)place)[b] != numbers(b)) & inside(b, n);
    for (int i = 0; i < n_max; i++)
        order[place[i]] = i; /* those behind the list, if there are any, all at n */
    return any(moves);
}

/* Do all strings of the list begin with the same `prefix` > 8 bytes? So many are readable behind where each begins. */
static int share(const list_t *list, int64_t prefix)
{
    const uint8_t *first = list->values + list->offsets[0];
    uint64_t differ = 0;
    for (int64_t i = 1; i < list->n; i++) {
        const uint8_t *s = list->values + list->offsets[i];
        for (int64_t at = 0; at < prefix - 8; at += 8)
            differ |= rmq_ordered(s + at) ^ rmq_ordered(first + at);
        differ |= rmq_ordered(s + prefix - 8) ^ rmq_ordered(first + prefix - 8);
    }
    return !differ;
}

/* The same for a list of at most SMALL strings whose first `prefix` bytes are perhaps equal; `order` has room for SMALL. */
AVX2 static int sort_few(const list_t *list, int64_t prefix, int32_t *order)
{
    const int64_t n = list->n, n_max = n <= 8 ? 8 : n <= 16 ? 16 : SMALL;
    if (list->last - list->offsets < n_max || list->offsets[n_max - 1] + prefix + 8 > *list->last)
        return UNSURE;
    if (prefix > 8 && !share(list, prefix))
        return UNSURE;
    if (n <= 8)
        return sort_at(list, prefix, 8, order);
    if (n <= 16)
        return sort_at(list, prefix, 16, order);
    return sort_at(list, prefix, SMALL, order);
}

#undef AVX2
