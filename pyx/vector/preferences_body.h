/* Best clients of queues, for one instruction set: ISA(name), TARGET, LANES, GREATER(a, b) if it has that. No guard: see
   preferences_core.c, which includes it once for each set. */

UNALIGNED_VECTOR(uint32_t, ISA(lanes_t), 4 * LANES);

TARGET INLINE ISA(lanes_t) ISA(scores)(ISA(lanes_t) h)
{
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
}

/* a where the mask is set, else b. */
#define CHOSEN(mask, a, b) (((a) & (mask)) | ((b) & ~(mask)))

#ifndef GREATER
#define GREATER(a, b) CHOSEN((lanes_t)((a) > (b)), a, b)
#endif

/* The best client of each of some queues, by score and then by position, and its score. All arrays go on to whole vectors. */
TARGET static void ISA(first_choices)(const uint32_t *queues, int32_t n_queues, const uint32_t *clients, int32_t n_clients,
                                      uint32_t *best, uint32_t *choice)
{
    typedef ISA(lanes_t) lanes_t;
    for (int32_t at = 0; at < n_queues; at += 2 * LANES) { /* two vectors, for each waits for its products */
        const lanes_t x = *(const lanes_t *)(queues + at), y = *(const lanes_t *)(queues + at + LANES);
        lanes_t best_x = ISA(scores)(x ^ clients[0]), best_y = ISA(scores)(y ^ clients[0]), choice_x = {0}, choice_y = {0};
        for (int32_t client = 1; client < n_clients; client++) {
            const lanes_t score_x = ISA(scores)(x ^ clients[client]), score_y = ISA(scores)(y ^ clients[client]);
            const lanes_t top_x = GREATER(score_x, best_x), top_y = GREATER(score_y, best_y);
            const lanes_t one = (lanes_t){0} + (uint32_t)client;
            choice_x = CHOSEN((lanes_t)(top_x == best_x), choice_x, one), best_x = top_x;
            choice_y = CHOSEN((lanes_t)(top_y == best_y), choice_y, one), best_y = top_y;
        }
        *(lanes_t *)(best + at) = best_x, *(lanes_t *)(best + at + LANES) = best_y;
        *(lanes_t *)(choice + at) = choice_x, *(lanes_t *)(choice + at + LANES) = choice_y;
    }
}

/* The best client of a queue among those that are open, and its score; the lists go on to whole vectors. */
TARGET static int32_t ISA(best_open)(uint32_t queue, const uint32_t *clients, const uint32_t *open, int32_t n_clients,
                                     uint32_t *score)
{
    typedef ISA(lanes_t) lanes_t;
    lanes_t best = {0}, choice = {0}, here;
    for (uint32_t lane = 0; lane < LANES; lane++)
        here[lane] = lane;
    for (int32_t at = 0; at < n_clients; at += LANES) {
        const lanes_t scored = ISA(scores)(*(const lanes_t *)(clients + at) ^ queue) & *(const lanes_t *)(open + at);
        const lanes_t top = GREATER(scored, best);
        choice = CHOSEN((lanes_t)(top == best), choice, here), best = top;
        here += LANES;
    }
    uint32_t lane_of[LANES], top = 0, first = UINT32_MAX;
    *(lanes_t *)lane_of = best;
    for (int lane = 0; lane < LANES; lane++)
        top = lane_of[lane] > top ? lane_of[lane] : top;
    *(lanes_t *)lane_of = choice | (lanes_t)(best != top);
    for (int lane = 0; lane < LANES; lane++)
        first = lane_of[lane] < first ? lane_of[lane] : first;
    *score = top;
    return (int32_t)first;
}

#if LANES > 4
/* Pairs in order, by the number of those that come before each. */
TARGET static void ISA(sort_few)(const uint64_t *pairs, int32_t n, uint64_t *out)
{
    VECTOR(int64_t, lanes_t, 4 * LANES);
    const int width = LANES / 2;
    lanes_t keys[FEW / (LANES / 2)], ranks;
    for (int32_t i = 0; i < n; i++)
        ((int64_t *)keys)[i] = (int64_t)(pairs[i] ^ INT64_MIN);
    for (int32_t at = 0; at < n; at += width) {
        ranks = (lanes_t){0};
        for (int32_t i = 0; i < n; i++)
            ranks -= keys[at / width] > ((int64_t *)keys)[i];
        for (int lane = 0; lane < width && at + lane < n; lane++)
            out[ranks[lane]] = pairs[at + lane];
    }
}
#endif

#undef ISA
#undef TARGET
#undef LANES
#undef CHOSEN
#undef GREATER
