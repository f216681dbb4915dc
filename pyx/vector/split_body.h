/* The loops of split_core.c that come in one version for each instruction set. The includer defines

     ISA(name)   the name of a function for this instruction set
     TARGET      the attribute that lets the compiler use it
     LANES       32-bit integers in a vector
     LARGER(a, b)  the larger of each two floats
     LESSER(a, b)  the lesser of each two integers without a sign
     MOST_VECTORS  how many vectors are stored of each unit of a chunk at most
     AHEAD       how many bytes before a line is written it is asked for; 0 for never
     WIDEN(bytes)  LANES bytes of PATTERNS as a vector, if this instruction set is to use them */

VECTOR(int32_t, ISA(lanes_t), 4 * LANES);
VECTOR(float, ISA(floats_t), 4 * LANES);
UNALIGNED_VECTOR(int32_t, ISA(memory_t), 4 * LANES);

/* Store a whole vector, or what there is room for before the end of the range. A store may run over the end of its unit: the
   units behind it are written later. */
TARGET INLINE void ISA(store)(int32_t *to, const int32_t *end, ISA(lanes_t) owners)
{
    if (LIKELY(end - to >= LANES))
        *(ISA(memory_t) *)to = owners;
    else if (to < end) {
        int32_t all[LANES];
        *(ISA(memory_t) *)all = owners;
        memcpy(to, all, (size_t)(end - to) * sizeof *to);
    }
}

/* Ask for the line that lies AHEAD of the v-th vector of what is written at `to`; a line has sixteen queues, so some vectors need
   not ask. Stores wait in a queue for their lines, and stores that overlap fill it before the next lines are asked for. Past the
   end of `out` the address is a hint that leads nowhere; nothing is read or written there. */
TARGET INLINE void ISA(ask_ahead)(const int32_t *to, const int v)
{
    if (AHEAD && v * LANES % 16 == 0)
        ASK_TO_WRITE(to + v * LANES, AHEAD);
}

/* Store two vectors, one behind the other: the end of the range is looked for once. */
TARGET INLINE void ISA(store_two)(int32_t *to, const int32_t *end, ISA(lanes_t) owners, ISA(lanes_t) next)
{
    ISA(ask_ahead)(to, 0);
    ISA(ask_ahead)(to, 1);
    if (LIKELY(end - to >= 2 * LANES)) {
        *(ISA(memory_t) *)to = owners;
        *(ISA(memory_t) *)(to + LANES) = next;
    } else {
        ISA(store)(to, end, owners);
        ISA(store)(to + LANES, end, next);
    }
}

/* Find out how many queues each unit of a chunk has. Returns how many vectors to store for each of them, whatever its size:
   no branch depends on a unit then. 0 if that is no good: units too large or too different, or the end of the range too near. */
TARGET static int ISA(measure)(const int64_t *queue_offsets, int64_t n_behind, int32_t *n_queues)
{
    const int64_t all = queue_offsets[CHUNK] - queue_offsets[0];
    if (all > CHUNK * MOST_VECTORS * LANES || n_behind < MOST_VECTORS * LANES)
        return 0;
    for (int i = 0; i < CHUNK; i++)
        n_queues[i] = (int32_t)(queue_offsets[i + 1] - queue_offsets[i]);
    int32_t most = 0;
    for (int i = 0; i < CHUNK; i++)
        most = n_queues[i] > most ? n_queues[i] : most;
    if (most <= 2 * LANES)
        return most <= LANES ? 1 : 2;
    const int are_similar = 2 * all >= CHUNK * most;
    if (most <= 4 * LANES)
        return LANES == 8 || are_similar ? 4 : 0; /* four stores of eight are cheap for a few queues, too */
    return most <= MOST_VECTORS * LANES && are_similar ? MOST_VECTORS : 0;
}

/* Whether the units of a chunk are all alike. */
TARGET static int ISA(is_uniform)(const int32_t *n_queues, const int32_t *n_clients)
{
    int32_t others = 0;
    for (int i = 1; i < CHUNK; i++)
        others |= (n_queues[i] ^ n_queues[0]) | (n_clients[i] ^ n_clients[0]);
    return !others;
}

/* Store the owners of a unit, all of its vectors. */
TARGET INLINE void ISA(store_unit)(int32_t *to, const ISA(lanes_t) *owners, const int n_vectors)
{
    for (int v = 0; v < n_vectors; v++) {
        ISA(ask_ahead)(to, v);
        *(ISA(memory_t) *)(to + v * LANES) = owners[v];
    }
}

/* A chunk of units that are all alike: their owners were found once. */
TARGET INLINE void ISA(store_alike)(int32_t *to, const ISA(lanes_t) *owners, int32_t n_queues, const int n_vectors)
{
    for (int i = 0; i < CHUNK; i++, to += n_queues)
        ISA(store_unit)(to, owners, n_vectors);
}

/* The owners of the next vector of a unit whose queues go round and round: each moves by `step`, which is LANES modulo n: where
   the round of the first vector breaks off (n itself does for 0). */
TARGET INLINE ISA(lanes_t) ISA(go_on)(ISA(lanes_t) owners, int32_t n, int32_t step)
{
    return LESSER(owners + step, owners + (step - n)); /* below 0 is beyond all others */
}

/* Queues from `to` on, whose first owners go round and round, are continued up to unit_end, two vectors side by side. */
TARGET INLINE void ISA(go_round)(
    int32_t *to, int32_t *unit_end, const int32_t *end, ISA(lanes_t) owners, int32_t n, int32_t step)
{
    const int32_t far_step = 2 * step > n ? 2 * step - n : 2 * step;
    ISA(lanes_t) next = ISA(go_on)(owners, n, step);
    for (; to < unit_end; to += 2 * LANES) {
        ISA(store_two)(to, end, owners, next);
        owners = ISA(go_on)(owners, n, far_step);
        next = ISA(go_on)(next, n, far_step);
    }
}

/* The same for a long unit, whose stores are worth aligning. */
TARGET static NEVER_INLINE void ISA(go_round_aligned)(
    int32_t *to, int32_t *unit_end, const int32_t *end, int32_t n, int32_t step)
{
    const int32_t ahead = (int32_t)((LANES - (uintptr_t)to / sizeof *to % LANES) % LANES);
    int32_t owners[LANES];
    for (int i = 0; i < LANES; i++)
        owners[i] = (ahead + i) % n;
    ISA(go_round)(to + ahead, unit_end, end, *(ISA(memory_t) *)owners, n, step);
}

/* The first vectors of a unit. */
TARGET INLINE void ISA(circular_unit)(int32_t n, ISA(lanes_t) *owners, const int n_vectors)
{
    const int32_t *round = ROUNDS[n < 16 ? n : 16];
    owners[0] = *(const ISA(memory_t) *)round;
    for (int v = 1; v < n_vectors; v++)
        owners[v] = ISA(go_on)(owners[v - 1], n, round[LANES - 1] + 1);
}

/* A chunk of units, each stored as so many vectors. */
TARGET INLINE void ISA(circular_chunk)(const int32_t *n_queues, const int32_t *n_clients, int32_t *to, const int n_vectors)
{
    ISA(lanes_t) owners[MOST_VECTORS];
    ISA(circular_unit)(n_clients[0], owners, n_vectors);
    if (ISA(is_uniform)(n_queues, n_clients)) {
        ISA(store_alike)(to, owners, n_queues[0], n_vectors);
        return;
    }
    for (int i = 0; i < CHUNK; to += n_queues[i++]) {
        ISA(circular_unit)(n_clients[i], owners, n_vectors);
        ISA(store_unit)(to, owners, n_vectors);
    }
}

TARGET static void ISA(circular_units)(
    const int64_t *queue_offsets, const int32_t *n_clients, int64_t n_units, int32_t *out, const int32_t *end)
{
    for (int64_t unit = 0; unit < n_units; unit++) {
        int32_t *to = out + queue_offsets[unit], *unit_end = out + queue_offsets[unit + 1];
        const int32_t n = n_clients[unit], *round = ROUNDS[n < 16 ? n : 16];
        const ISA(lanes_t) owners = *(const ISA(memory_t) *)round;
        if (unit_end - to < LONG || n == 0)
            ISA(go_round)(to, unit_end, end, owners, n, round[LANES - 1] + 1);
        else {
            ISA(store)(to, end, owners);
            ISA(go_round_aligned)(to, unit_end, end, n, round[LANES - 1] + 1);
        }
    }
}

TARGET static void ISA(circular)(const int64_t *queue_offsets, const int32_t *n_clients, int64_t n_units, int32_t *out)
{
    const int32_t *end = out + queue_offsets[n_units];
    const int64_t *last = queue_offsets + n_units;
    int32_t n_queues[CHUNK];
    for (; last - queue_offsets >= CHUNK; queue_offsets += CHUNK, n_clients += CHUNK) {
        int32_t *to = out + queue_offsets[0];
        switch (ISA(measure)(queue_offsets, *last - queue_offsets[CHUNK], n_queues)) {
        case 1: ISA(circular_chunk)(n_queues, n_clients, to, 1); break;
        case 2: ISA(circular_chunk)(n_queues, n_clients, to, 2); break;
        case 4: ISA(circular_chunk)(n_queues, n_clients, to, 4); break;
        case 8: ISA(circular_chunk)(n_queues, n_clients, to, MOST_VECTORS); break;
        default: ISA(circular_units)(queue_offsets, n_clients, CHUNK, out, end);
        }
    }
    ISA(circular_units)(queue_offsets, n_clients, last - queue_offsets, out, end);
}

/* Blocks long enough to be written one by one. */
TARGET static NEVER_INLINE void ISA(long_blocks)(int32_t *to, int32_t *unit_end, const int32_t *end, int32_t n)
{
    const int64_t n_queues = unit_end - to, size = n ? n_queues / n : n_queues, extra = n ? n_queues % n : 0;
    for (int32_t client = n ? 0 : -1; to < unit_end; client++) {
        int32_t *block_end = to + size + (client < extra && n);
        for (; to < block_end; to += LANES) {
            ISA(ask_ahead)(to, 0);
            ISA(store)(to, end, (ISA(lanes_t)){0} + client);
        }
        to = block_end;
    }
}

/* Owners of queues in blocks of any length. With s queues to a client and the first e taking one more, queue q goes to
   max(q / (s + 1), (q - e) / s): before the last longer block the first is right and the second not above it, behind it
   the other way round. `place` is half a queue more than q, which keeps the quotients off the integers: floats are exact. */
TARGET INLINE ISA(lanes_t) ISA(in_blocks)(ISA(floats_t) place, float extra, float bigger, float share)
{
    const ISA(floats_t) before = place * bigger, behind = (place - extra) * share;
    return CONVERT(LARGER(before, behind), ISA(lanes_t));
}

/* Find e, 1 / (s + 1) and 1 / s of each unit of a chunk, LANES units at a time; 0 if some unit has no clients. */
TARGET static int ISA(share_out)(const int32_t *n_queues, const int32_t *n_clients, shares_t *shares)
{
    const ISA(floats_t) zero = {0};
    ISA(lanes_t) empty = {0};
    for (int i = 0; i < CHUNK; i += LANES) {
        const ISA(lanes_t) n = *(const ISA(memory_t) *)(n_clients + i), queues = *(const ISA(memory_t) *)(n_queues + i);
        const ISA(floats_t) clients = LARGER(CONVERT(n, ISA(floats_t)), zero + 1.0f);
        const ISA(floats_t) quotient = (CONVERT(queues, ISA(floats_t)) + 0.5f) / clients;
        const ISA(lanes_t) size = CONVERT(quotient, ISA(lanes_t));
        const ISA(floats_t) share = CONVERT(size, ISA(floats_t));
        *(ISA(floats_t) *)(shares->extra + i) = CONVERT(queues - size * n, ISA(floats_t));
        *(ISA(floats_t) *)(shares->bigger + i) = 1.0f / (share + 1.0f);
        *(ISA(floats_t) *)(shares->share + i) = 1.0f / LARGER(share, zero + 0.5f); /* of nothing: e is beyond all queues */
        empty |= n == 0;
    }
    int32_t any = 0;
    for (int i = 0; i < LANES; i++)
        any |= empty[i];
    return !any;
}

/* The first vectors of a unit. */
TARGET INLINE void ISA(contiguous_unit)(float extra, float bigger, float share, ISA(lanes_t) *owners, const int n_vectors)
{
    ISA(floats_t) place = *(const ISA(floats_t) *)PLACES;
    for (int v = 0; v < n_vectors; v++, place += LANES)
        owners[v] = ISA(in_blocks)(place, extra, bigger, share);
}

#ifdef WIDEN
/* Whether PATTERNS has all units of a chunk, none of which has more than 32 queues. */
TARGET static int ISA(is_few)(const int32_t *n_clients)
{
    uint32_t any = 0;
    for (int i = 0; i < CHUNK; i++)
        any |= (uint32_t)n_clients[i];
    return any < 16;
}

/* A chunk of such units: nothing is computed. */
TARGET INLINE void ISA(pattern_chunk)(const int32_t *n_queues, const int32_t *n_clients, int32_t *to, const int n_vectors)
{
    ISA(lanes_t) owners[MOST_VECTORS];
    for (int i = 0; i < CHUNK; to += n_queues[i++]) {
        const int8_t *pattern = PATTERNS[n_clients[i]][n_queues[i] % 32];
        for (int v = 0; v < n_vectors; v++)
            owners[v] = WIDEN(pattern + v * LANES);
        ISA(store_unit)(to, owners, n_vectors);
    }
}
#endif

/* A chunk of units, each stored as so many vectors; 0 if some unit has no clients. */
TARGET INLINE int ISA(contiguous_chunk)(const int32_t *n_queues, const int32_t *n_clients, int32_t *to, const int n_vectors)
{
    ISA(lanes_t) owners[MOST_VECTORS];
    shares_t shares;
    if (n_clients[0] && ISA(is_uniform)(n_queues, n_clients)) {
        const int32_t size = n_queues[0] / n_clients[0];
        const float extra = (float)(n_queues[0] - size * n_clients[0]), share = size ? 1.0f / (float)size : 0.0f;
        ISA(contiguous_unit)(extra, 1.0f / (float)(size + 1), share, owners, n_vectors);
        ISA(store_alike)(to, owners, n_queues[0], n_vectors);
        return 1;
    }
#ifdef WIDEN
    if (n_vectors * LANES <= 32 && ISA(is_few)(n_clients)) {
        ISA(pattern_chunk)(n_queues, n_clients, to, n_vectors);
        return 1;
    }
#endif
    if (!ISA(share_out)(n_queues, n_clients, &shares))
        return 0;
    for (int i = 0; i < CHUNK; to += n_queues[i++]) {
        ISA(contiguous_unit)(shares.extra[i], shares.bigger[i], shares.share[i], owners, n_vectors);
        ISA(store_unit)(to, owners, n_vectors);
    }
    return 1;
}

/* Blocks of a unit so small that the end of a second loop, which no processor foresees, would cost more than two loops save. */
TARGET INLINE void ISA(few_queues)(int32_t *to, int32_t *unit_end, const int32_t *end, float extra, uint32_t size)
{
    ISA(floats_t) place = *(const ISA(floats_t) *)PLACES, next = place + LANES;
    for (; to < unit_end; to += 2 * LANES, place += 2 * LANES, next += 2 * LANES)
        ISA(store_two)(to, end, ISA(in_blocks)(place, extra, SHARES[size + 1], SHARES[size]),
                       ISA(in_blocks)(next, extra, SHARES[size + 1], SHARES[size]));
}

/* Blocks of one size up to `until`; `place` counts as if all before them were of that size, too. */
TARGET INLINE void ISA(equal_blocks)(int32_t *to, int32_t *until, const int32_t *end, ISA(floats_t) place, float share)
{
    ISA(floats_t) next = place + LANES;
    for (; to < until; to += 2 * LANES, place += 2 * LANES, next += 2 * LANES)
        ISA(store_two)(to, end, CONVERT(place * share, ISA(lanes_t)), CONVERT(next * share, ISA(lanes_t)));
}

TARGET static void ISA(contiguous_units)(
    const int64_t *queue_offsets, const int32_t *n_clients, int64_t n_units, int32_t *out, const int32_t *end)
{
    for (int64_t unit = 0; unit < n_units; unit++) {
        int32_t *to = out + queue_offsets[unit], *unit_end = out + queue_offsets[unit + 1];
        const int64_t n_queues = queue_offsets[unit + 1] - queue_offsets[unit];
        const uint32_t n = (uint32_t)n_clients[unit], size = n && n_queues < EXACT ? (uint32_t)n_queues / n : SHORT;
        if (size >= SHORT) {
            ISA(long_blocks)(to, unit_end, end, (int32_t)n);
            continue;
        }
        const ISA(floats_t) places = *(const ISA(floats_t) *)PLACES;
        const int32_t extra = (int32_t)((uint32_t)n_queues - size * n);
        if (n_queues < 32 * LANES) {
            ISA(few_queues)(to, unit_end, end, (float)extra, size);
            continue;
        }
        int32_t *smaller = to + extra * (int32_t)(size + 1);
        ISA(equal_blocks)(to, smaller, end, places, SHARES[size + 1]);
        ISA(equal_blocks)(smaller, unit_end, end, places + (float)(extra * (int32_t)size), SHARES[size]);
    }
}

TARGET static void ISA(contiguous)(const int64_t *queue_offsets, const int32_t *n_clients, int64_t n_units, int32_t *out)
{
    const int32_t *end = out + queue_offsets[n_units];
    const int64_t *last = queue_offsets + n_units;
    int32_t n_queues[CHUNK];
    for (; last - queue_offsets >= CHUNK; queue_offsets += CHUNK, n_clients += CHUNK) {
        int32_t *to = out + queue_offsets[0];
        int done = 0;
        switch (ISA(measure)(queue_offsets, *last - queue_offsets[CHUNK], n_queues)) {
        case 1: done = ISA(contiguous_chunk)(n_queues, n_clients, to, 1); break;
        case 2: done = ISA(contiguous_chunk)(n_queues, n_clients, to, 2); break;
        case 4: done = ISA(contiguous_chunk)(n_queues, n_clients, to, 4); break;
        case 8: done = ISA(contiguous_chunk)(n_queues, n_clients, to, MOST_VECTORS); break;
        }
        if (!done)
            ISA(contiguous_units)(queue_offsets, n_clients, CHUNK, out, end);
    }
    ISA(contiguous_units)(queue_offsets, n_clients, last - queue_offsets, out, end);
}

#undef ISA
#undef TARGET
#undef LANES
#undef LARGER
#undef LESSER
#undef MOST_VECTORS
#undef AHEAD
#undef WIDEN
