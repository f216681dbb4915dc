/* The loops of split_core.c that come in one version for each instruction set. The includer defines

     ISA(name)   the name of a function for this instruction set
     TARGET      the attribute that lets the compiler use it
     LANES       32-bit integers in a vector
     LARGER(a, b)  the larger of each two floats */

typedef int32_t ISA(lanes_t) __attribute__((vector_size(4 * LANES)));
typedef float ISA(floats_t) __attribute__((vector_size(4 * LANES)));
typedef int32_t ISA(memory_t) __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

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

/* Queues from `to` on, whose first owners go round and round, are continued up to unit_end. One vector on every owner moves by
   LANES mod n: where the round of the first vector of the unit breaks off. */
TARGET INLINE void ISA(go_round)(
    int32_t *to, int32_t *unit_end, const int32_t *end, ISA(lanes_t) owners, int32_t n, int32_t step)
{
    for (; to < unit_end; to += LANES) {
        ISA(store)(to, end, owners);
        owners += step - n;
        owners += n & (owners >> 31);
    }
}

/* The same for a long unit, whose stores are worth aligning. */
TARGET static __attribute__((noinline)) void ISA(go_round_aligned)(
    int32_t *to, int32_t *unit_end, const int32_t *end, int32_t n, int32_t step)
{
    const int32_t ahead = (int32_t)((LANES - (uintptr_t)to / sizeof *to % LANES) % LANES);
    int32_t owners[LANES];
    for (int i = 0; i < LANES; i++)
        owners[i] = (ahead + i) % n;
    ISA(go_round)(to + ahead, unit_end, end, *(ISA(memory_t) *)owners, n, step);
}

TARGET static void ISA(circular)(const int64_t *queue_offsets, const int32_t *n_clients, int64_t n_units, int32_t *out)
{
    const int32_t *end = out + queue_offsets[n_units];
    for (int64_t unit = 0; unit < n_units; unit++) {
        int32_t *to = out + queue_offsets[unit], *unit_end = out + queue_offsets[unit + 1];
        const int32_t n = n_clients[unit], *round = ROUNDS[n < 16 ? n : 16];
        const ISA(lanes_t) owners = *(const ISA(memory_t) *)round;
        ISA(store)(to, end, owners);
        if (unit_end - to <= LANES)
            continue;
        const int32_t next = round[LANES - 1] + 1, step = next == n ? 0 : next;
        if (unit_end - to < LONG || n == 0)
            ISA(go_round)(to, unit_end, end, owners, n, step);
        else
            ISA(go_round_aligned)(to, unit_end, end, n, step);
    }
}

/* Blocks long enough to be written one by one. */
TARGET static __attribute__((noinline)) void ISA(long_blocks)(int32_t *to, int32_t *unit_end, const int32_t *end, int32_t n)
{
    const int64_t n_queues = unit_end - to, size = n ? n_queues / n : n_queues, extra = n ? n_queues % n : 0;
    for (int32_t client = n ? 0 : -1; to < unit_end; client++) {
        int32_t *block_end = to + size + (client < extra && n);
        for (; to < block_end; to += LANES)
            ISA(store)(to, end, (ISA(lanes_t)){0} + client);
        to = block_end;
    }
}

/* Owners of queues in blocks of any length. With s queues to a client and the first e taking one more, queue q goes to
   max(q / (s + 1), (q - e) / s): before the last longer block the first is right and the second not above it, behind it
   the other way round. `place` is half a queue more than q, which keeps the quotients off the integers: floats are exact. */
TARGET INLINE ISA(lanes_t) ISA(in_blocks)(ISA(floats_t) place, float extra, float bigger, float share)
{
    const ISA(floats_t) before = place * bigger, behind = (place - extra) * share;
    return __builtin_convertvector(LARGER(before, behind), ISA(lanes_t));
}

TARGET static void ISA(contiguous)(const int64_t *queue_offsets, const int32_t *n_clients, int64_t n_units, int32_t *out)
{
    const int32_t *end = out + queue_offsets[n_units];
    for (int64_t unit = 0; unit < n_units; unit++) {
        int32_t *to = out + queue_offsets[unit], *unit_end = out + queue_offsets[unit + 1];
        const int64_t n_queues = queue_offsets[unit + 1] - queue_offsets[unit];
        const uint32_t n = (uint32_t)n_clients[unit], size = n && n_queues < EXACT ? (uint32_t)n_queues / n : SHORT;
        if (size >= SHORT) {
            ISA(long_blocks)(to, unit_end, end, (int32_t)n);
            continue;
        }
        const float extra = (float)(int32_t)((uint32_t)n_queues - size * n), bigger = SHARES[size + 1], share = SHARES[size];
        ISA(floats_t) place = *(const ISA(floats_t) *)PLACES;
        ISA(store)(to, end, ISA(in_blocks)(place, extra, bigger, share));
        for (to += LANES; to < unit_end; to += LANES) {
            place += LANES;
            ISA(store)(to, end, ISA(in_blocks)(place, extra, bigger, share));
        }
    }
}

#undef ISA
#undef TARGET
#undef LANES
#undef LARGER
