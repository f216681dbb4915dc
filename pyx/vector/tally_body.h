/* The loops of tally_core.c that come in one version for each instruction set. The includer defines ISA(name), the name of a
   function for this instruction set; TARGET, the attribute that lets the compiler use it; LANES, the 32-bit integers in a vector;
   OP(name), the name of an intrinsic; and the words that are not the same in all.

   Loads are counted in bytes, eight clients to a 64-bit lane: a queue adds one, shifted by eight times its owner. Units are taken
   in blocks, so that, when the lanes of each are summed, a block has one lane for each unit, and the rest is done for all of them
   at once. Units that do not fit, the odd ones, take part with nothing. The last block may overlap the one before. */

#define UNITS (LANES / 2)

/* What a loop needs over and over; the compiler would make it each time. */
typedef struct {
    ISA(vec_t) zero, one, eight, nobody, absent, bytes_of_one;
} ISA(always_t);

TARGET INLINE ISA(always_t) ISA(always)(void)
{
    ISA(always_t) all = {OP(set1_epi32)(0),  ISA(low)(OP(set1_epi32)(1)),       OP(set1_epi32)(8),
                         OP(set1_epi32)(-1), OP(set1_epi32)(RMQ_TALLY_ABSENT), OP(set1_epi8)(1)};
    OPAQUE("v", all.one);
    OPAQUE("v", all.eight);
    OPAQUE("v", all.nobody);
    OPAQUE("v", all.absent);
    OPAQUE("v", all.bytes_of_one);
    return all;
}

TARGET INLINE int64_t ISA(block)(int64_t unit, int64_t n_units) { return unit < n_units - UNITS ? unit : n_units - UNITS; }
TARGET INLINE rmq_tally_rest_t ISA(rest)(int64_t unit, uint32_t odd) { return (rmq_tally_rest_t){unit, unit + UNITS, odd}; }

TARGET INLINE ISA(vec_t) ISA(first)(const int32_t *from, int64_t n, ISA(vec_t) behind)
{
    return LIKELY(n >= LANES) ? ISA(load)(from) : ISA(load_few)(from, n, behind);
}

/* The next owners of a unit, and what is to be behind the last. */
TARGET INLINE ISA(vec_t) ISA(owners)(const int32_t *owners, int64_t n, ISA(vec_t) behind)
{
    LOOK_AHEAD(owners, AHEAD);
    return ISA(first)(owners, n, behind);
}

/* One in the byte of each place below eight; two lanes fall into one. */
TARGET INLINE ISA(vec_t) ISA(ones)(ISA(vec_t) places, const ISA(always_t) *all)
{
    const ISA(vec_t) shift = OP(slli_epi32)(OP(min_epu32)(places, all->eight), 3);
    return OP(sllv_epi64)(all->one, ISA(low)(shift)) + OP(sllv_epi64)(all->one, OP(srli_epi64)(shift, 32));
}

/* Loads of one unit, of the eight clients from `first` on; each lane has some of the queues. */
TARGET INLINE ISA(vec_t) ISA(eight)(const int32_t *owners, int64_t n, int32_t first, const ISA(always_t) *all)
{
    ISA(vec_t) loads = all->zero;
    for (; n > 0; n -= LANES, owners += LANES)
        loads += ISA(ones)(OP(sub_epi32)(ISA(owners)(owners, n, all->nobody), OP(set1_epi32)(first)), all);
    return loads;
}

/* Which units of a block have more than `most` queues or clients, a bit for each. */
TARGET INLINE uint32_t ISA(above)(const int64_t *offsets, int64_t most)
{
    return ISA(greater)(ISA(load)(offsets + 1) - ISA(load)(offsets), most);
}

/* Loads of the units of a block, of the eight clients from `first` on. */
TARGET INLINE ISA(vec_t) ISA(count)(
    const int64_t *queues, const int32_t *owners, uint32_t odd, int32_t first, const ISA(always_t) *all)
{
    ISA(vec_t) loads[UNITS];
    for (int i = 0; i < UNITS; i++)
        loads[i] = ISA(eight)(owners + queues[i], odd >> i & 1 ? 0 : queues[i + 1] - queues[i], first, all);
    return ISA(sums)(loads);
}

/* A store may run over the end of its unit: the units behind it are written later. */
TARGET INLINE void ISA(spread)(uint64_t loads, int32_t *to, const int32_t *end)
{
    const __m256i wide = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((int64_t)loads));
    int32_t apart[8];
    if (LIKELY(end - to >= 8))
        _mm256_storeu_si256((__m256i *)to, wide);
    else {
        _mm256_storeu_si256((__m256i *)apart, wide);
        memcpy(to, apart, sizeof *to * (size_t)(end - to));
    }
}

TARGET static rmq_tally_rest_t ISA(loads)(
    const int64_t *queue_offsets, const int64_t *client_offsets, const int32_t *owners, int64_t n_units, int64_t next, int32_t *out)
{
    const ISA(always_t) all = ISA(always)();
    const int32_t *end = out + client_offsets[n_units];
    for (; next < n_units; next += UNITS) {
        const int64_t unit = ISA(block)(next, n_units), *queues = queue_offsets + unit, *slots = client_offsets + unit;
        uint64_t loads[MOST_EIGHTS][UNITS];
        const uint32_t odd = ISA(above)(queues, FEW_QUEUES) | ISA(above)(slots, 8 * MOST_EIGHTS);
        int32_t n_eights = 0;
        do
            ISA(store)(loads[n_eights], ISA(count)(queues, owners, odd, 8 * n_eights, &all));
        while (ISA(above)(slots, 8 * ++n_eights) & ~odd);
        for (int i = 0; i < UNITS; i++) {
            ISA(spread)(loads[0][i], out + slots[i], end);
            for (int32_t e = 1; e < n_eights && slots[i] + 8 * e < slots[i + 1]; e++)
                ISA(spread)(loads[e][i], out + slots[i] + 8 * e, end);
        }
        if (odd)
            return ISA(rest)(unit, odd);
    }
    return ISA(rest)(n_units, 0);
}

/* The first byte of each 64-bit lane. */
TARGET INLINE ISA(vec_t) ISA(first_byte)(ISA(vec_t) x) { return OP(srli_epi64)(OP(slli_epi64)(x, 56), 56); }

/* The least of the eight bytes of each 64-bit lane comes first; the greatest. */
TARGET INLINE ISA(vec_t) ISA(least)(ISA(vec_t) x)
{
    x = OP(min_epu8)(x, OP(srli_epi64)(x, 32));
    x = OP(min_epu8)(x, OP(srli_epi64)(x, 16));
    return OP(min_epu8)(x, OP(srli_epi64)(x, 8));
}

TARGET INLINE ISA(vec_t) ISA(most)(ISA(vec_t) x)
{
    x = OP(max_epu8)(x, OP(srli_epi64)(x, 32));
    x = OP(max_epu8)(x, OP(srli_epi64)(x, 16));
    return OP(max_epu8)(x, OP(srli_epi64)(x, 8));
}

TARGET static rmq_tally_rest_t ISA(balance)(
    const int64_t *queue_offsets, const int32_t *n_clients, const int32_t *owners, int64_t n_units, int64_t next,
    const rmq_tally_balance_t *out)
{
    const ISA(always_t) all = ISA(always)();
    const ISA(vec_t) zero = all.zero, full = all.nobody;
    for (; next < n_units; next += UNITS) {
        const int64_t unit = ISA(block)(next, n_units), *queues = queue_offsets + unit;
        const ISA(vec_t) n = ISA(widen)(n_clients + unit);
        ISA(vec_t) left = n, idle = n; /* left: clients from this eight on */
        ISA(vec_t) unowned = ISA(load)(queues + 1) - ISA(load)(queues), least = full, most = zero;
        const uint32_t odd = ISA(greater)(unowned, FEW_QUEUES) | ISA(greater)(n, 8 * MOST_EIGHTS);
        int32_t first = 0;
        do {
            const ISA(vec_t) loads = ISA(count)(queues, owners, odd, first, &all);
            const ISA(vec_t) behind = OP(sllv_epi64)(full, OP(slli_epi64)(left, 3));
            unowned -= OP(sad_epu8)(loads, zero);
            idle -= OP(sad_epu8)(OP(min_epu8)(loads, all.bytes_of_one), zero);
            least = OP(min_epu8)(least, loads | behind);
            most = OP(max_epu8)(most, loads);
            left = OP(max_epi32)(OP(sub_epi32)(left, all.eight), zero);
            first += 8;
        } while (ISA(greater)(n, first) & ~odd);
        most = ISA(most)(most);
        ISA(store_low)(out->unowned + unit, unowned);
        ISA(store_low)(out->idle + unit, idle);
        ISA(store_low)(out->most + unit, ISA(first_byte)(most));
        /* Nothing is less than the greatest, unless there are no clients. */
        ISA(store_low)(out->least + unit, ISA(first_byte)(OP(min_epu8)(ISA(least)(least), most)));
        if (odd)
            return ISA(rest)(unit, odd);
    }
    return ISA(rest)(n_units, 0);
}

/* Of each unit of a block: loads before by places after, and how many may stay. */
typedef struct {
    ISA(vec_t) loads[2][UNITS];
    uint64_t shares[UNITS], extra[UNITS], n_both[UNITS]; /* a share is in each of eight bytes */
    int32_t n_eights;
} ISA(keep_t);

/* Bits of a vector's 32-bit lanes taken together. */
TARGET INLINE int32_t ISA(n_bits)(ISA(vec_t) x)
{
    const __m256i half = ISA(either_half)(x);
    const __m128i quarter = _mm256_castsi256_si128(half) | _mm256_extracti128_si256(half, 1);
    const uint64_t bits = (uint64_t)_mm_cvtsi128_si64(quarter | _mm_unpackhi_epi64(quarter, quarter));
    return _mm_popcnt_u32((uint32_t)(bits | bits >> 32));
}

/* Figures of one unit, its least moves as far as `keep`. The clients of both sides have one number each: their place after, or
   that before and 16 where they are gone. Says whether it fits; `moved` alone learns this only here. */
TARGET INLINE int ISA(small_movement)(
    const rmq_tally_change_t *change, int64_t unit, int figures, const rmq_tally_movement_t *out, ISA(keep_t) *keep, int i,
    const ISA(always_t) *all)
{
    const int64_t queue = change->queue_offsets[unit], n_queues = change->queue_offsets[unit + 1] - queue;
    const int64_t slot = change->slot_starts[unit];
    const int32_t *before = change->before + queue, *after = change->after + queue;
    /* Behind its last client those of other units: no owner points there. */
    const ISA(vec_t) places = ISA(first)(change->renamed + slot, change->n_slots - slot, all->nobody);
    const ISA(vec_t) numbers = ISA(pick)(ISA(is_place)(places), places, ISA(load)(GONE));
    const ISA(vec_t) behind = figures & SOME_ABSENT ? all->absent : all->nobody;
    const int32_t n_after = figures & LEAST_MOVES ? change->n_after[unit] : 0;
    ISA(vec_t) low = all->zero, high = all->zero, touched = all->zero, largest = all->zero;
    int32_t n_moved = 0, n_both = figures & SOME_ABSENT ? 0 : (int32_t)n_queues, n_there = n_both;
    for (int64_t n = n_queues; n > 0; n -= LANES, before += LANES, after += LANES) {
        const ISA(vec_t) had = ISA(owners)(before, n, behind);
        const ISA(vec_t) from = ISA(pick)(ISA(is_place)(had), ISA(lookup)(numbers, had), all->nobody);
        ISA(vec_t) stays = from;
        if (figures != LEAST_MOVES) {
            const ISA(vec_t) has = ISA(owners)(after, n, behind), to = ISA(pick)(ISA(is_place)(has), has, all->nobody);
            ISA(mask_t) differ = ISA(differ)(from, to);
            if (figures == MOVED)
                largest = OP(max_epi32)(largest, OP(max_epi32)(had, has));
            if (figures & AFFECTED)
                touched |= ISA(pick)(differ, ISA(bit)(from) | ISA(bit)(to), all->zero);
            if (figures & SOME_ABSENT) {
                const ISA(mask_t) there = ISA(differ)(has, all->absent), both = there & ISA(differ)(had, all->absent);
                n_there += ISA(how_many)(there);
                n_both += ISA(how_many)(both);
                stays = ISA(pick)(both, from, all->nobody);
                differ = differ & both;
            }
            n_moved += ISA(how_many)(differ);
        }
        if (figures & LEAST_MOVES)
            low += ISA(ones)(stays, all);
        if (figures & LEAST_MOVES && n_after > 8)
            high += ISA(ones)(OP(sub_epi32)(stays, all->eight), all);
    }
    if (figures & MOVED)
        out->moved[unit] = n_moved;
    if (figures & AFFECTED)
        out->affected[unit] = ISA(n_bits)(touched);
    if (figures & LEAST_MOVES) {
        const uint32_t share = (uint32_t)n_there * SHARES[n_after] >> 16;
        keep->loads[0][i] = low;
        keep->loads[1][i] = high;
        keep->shares[i] = share * 0x0101010101010101u;
        keep->extra[i] = (uint32_t)n_there - share * (uint32_t)n_after;
        keep->n_both[i] = (uint32_t)n_both;
        keep->n_eights = n_after > 8 ? 2 : keep->n_eights;
    }
    return figures != MOVED || ISA(how_many)(ISA(is_place)(largest)) == LANES;
}

/* What is left of the queues of both sides when as many stay as an even allocation lets. */
TARGET INLINE ISA(vec_t) ISA(least_moves_of)(const ISA(keep_t) *keep, const ISA(always_t) *all)
{
    const ISA(vec_t) shares = ISA(load)(keep->shares);
    ISA(vec_t) moves = ISA(load)(keep->n_both), above = all->zero;
    for (int32_t e = 0; e < keep->n_eights; e++) {
        const ISA(vec_t) loads = ISA(sums)(keep->loads[e]), over = OP(subs_epu8)(loads, shares);
        moves -= OP(sad_epu8)(OP(min_epu8)(loads, shares), all->zero);
        above += OP(sad_epu8)(OP(min_epu8)(over, all->bytes_of_one), all->zero);
    }
    return moves - OP(min_epu8)(above, ISA(load)(keep->extra));
}

TARGET INLINE rmq_tally_rest_t ISA(change)(
    const rmq_tally_change_t *change, int64_t next, const rmq_tally_movement_t *out, int figures)
{
    const ISA(always_t) all = ISA(always)();
    ISA(keep_t) keep = {0}; /* a unit that does not fit leaves there what an earlier one did */
    for (; next < change->n_units; next += UNITS) {
        const int64_t unit = ISA(block)(next, change->n_units);
        uint32_t odd = ISA(above)(change->queue_offsets + unit, FEW_QUEUES);
        if (figures != MOVED) {
            const ISA(vec_t) n_before = ISA(widen)(change->n_before + unit), n_after = ISA(widen)(change->n_after + unit);
            odd |= ISA(greater)(n_before, LANES) | ISA(greater)(n_after, LANES) | ISA(greater)(all.one - n_after, 0);
        }
        keep.n_eights = 1;
        for (int i = 0; i < UNITS; i++)
            if (LIKELY(!(odd >> i & 1)) && !ISA(small_movement)(change, unit + i, figures, out, &keep, i, &all))
                odd |= 1u << i;
        if (figures & LEAST_MOVES)
            ISA(store_low)(out->least_moves + unit, ISA(least_moves_of)(&keep, &all));
        if (odd)
            return ISA(rest)(unit, odd);
    }
    return ISA(rest)(change->n_units, 0);
}

TARGET static rmq_tally_rest_t ISA(movement)(const rmq_tally_change_t *change, int64_t next, const rmq_tally_movement_t *out)
{
    return ISA(change)(change, next, out, MOVED | LEAST_MOVES | AFFECTED | SOME_ABSENT);
}

TARGET static rmq_tally_rest_t ISA(moved)(const rmq_tally_change_t *change, int64_t next, const rmq_tally_movement_t *out)
{
    return ISA(change)(change, next, out, MOVED);
}

TARGET static rmq_tally_rest_t ISA(least_moves)(const rmq_tally_change_t *change, int64_t next, const rmq_tally_movement_t *out)
{
    return ISA(change)(change, next, out, LEAST_MOVES);
}

static const rmq_tally_t ISA(tally) = {ISA(loads), ISA(balance), ISA(movement), ISA(moved), ISA(least_moves)};

#undef ISA
#undef TARGET
#undef LANES
#undef OP
#undef UNITS
