/* Hashing a tray of keys in lanes. A template like md5_rounds.h.
 *
 * Keys come in families (see md5_core.c): a prefix is loaded, transposed and, as far as its keys have whole blocks and
 * steps in common, hashed once; its keys then pick its words into their lanes and add number, ending and length there.
 * Lanes are filled across families, WIDTH at a time. */
#define WIDTH (LANES * STREAMS)
#define FULL (CAPACITY / WIDTH * WIDTH) /* lanes of a full tray */
#define MEMORY NAME(memory)
#define LOAD(p) (*(const V *)(p)) /* from a multiple of the vector's size */
#define STORE(p, x) (*(V *)(p) = (x))
#define LOAD_ANY(p) ((V)(*(const MEMORY *)(p)))
#define STORE_ANY(p, x) (*(MEMORY *)(p) = (MEMORY)(x))
#define SPREAD(x) ((V){0} + (uint32_t)(x))
#if STREAMS == 1
#define EACH_STREAM(DO, F, a, b, c, d, g, s, i) DO(0, F, a, b, c, d, g, s, i)
#elif STREAMS == 2
#define EACH_STREAM(DO, F, a, b, c, d, g, s, i) DO(0, F, a, b, c, d, g, s, i) DO(1, F, a, b, c, d, g, s, i)
#elif STREAMS == 3
#define EACH_STREAM(DO, F, a, b, c, d, g, s, i) \
    DO(0, F, a, b, c, d, g, s, i) DO(1, F, a, b, c, d, g, s, i) DO(2, F, a, b, c, d, g, s, i)
#else
#define EACH_STREAM(DO, F, a, b, c, d, g, s, i) \
    DO(0, F, a, b, c, d, g, s, i) DO(1, F, a, b, c, d, g, s, i) \
    DO(2, F, a, b, c, d, g, s, i) DO(3, F, a, b, c, d, g, s, i)
#endif

#include "md5_rounds.h"

/* Which family and which number each lane has. Lanes after the last repeat it, up to a whole group. */
TARGET INLINE void NAME(fill_lanes)(const task_t *task, const tray_t *tray, work_t *work)
{
    uint32_t lane = 0, highest = 0; /* negative numbers count as high */
    for (int f = 0; f < tray->n_families; lane += tray->count[f++]) {
        memset(work->family + lane, f, 16);
        for (uint32_t k = 16; k < tray->count[f]; k += 16)
            memset(work->family + lane + k, f, 16);
        work->base[f] = tray->number[f] - lane;
    }
    memset(work->family + lane, tray->n_families - 1, WIDTH_MAX);
    place_lanes(task, tray, work, WIDTH);
    if (task->numbers) {
        for (uint32_t k = 0; k < lane; k++) /* all bits at once: never less than the highest, and less work */
            highest |= work->number[k];
    } else {
        for (int f = 0; f < tray->n_families; f++) {
            uint32_t number = tray->number[f], last = number + tray->count[f] - 1;
            last = last < number ? UINT32_MAX : last;
            highest = last > highest ? last : highest;
        }
        for (uint32_t k = 0; k < lane; k += LANES) {
            const uint8_t *family = work->family + k;
            V base = PICK(LOAD_ANY(work->base + *family), PICK_INDEX(WIDEN(family) - *family));
            STORE(work->own_number + k, base + k + LOAD(COUNTING));
        }
    }
    work->digits = !task->numbered ? 0 : highest < 10 ? 1 : highest < 10000 ? 4 : MAX_DIGITS;
}

/* Decide what the keys of a tray need: how many rows, one block or two. */
TARGET INLINE void NAME(plan)(const task_t *task, tray_t *tray, work_t *work)
{
    uint32_t shortest = 63, longest = 0, heads = 0;
    for (int f = 0; f < tray->n_families; f++) {
        uint32_t rest = tray->length[f] & 63;
        shortest = rest < shortest ? rest : shortest;
        longest = rest > longest ? rest : longest;
        heads |= tray->block[f];
    }
    uint32_t end = longest + (uint32_t)work->digits + task->n_ending; /* at most: where MD5's end mark goes */
    work->has_heads = heads & 64;
    work->has_over = 0;
    for (int g = 0; g < tray->n_giants; g++) /* the text after the prefix may still carry into the high word */
        work->has_over |= tray->giants[g].over > 0 || tray->length[tray->giants[g].family] >= (1u << 29) - 16;
    work->first_row = (int)(shortest / 4);
    work->last_row = work->has_over && end < 60 ? 16 : (int)(end / 4 + 1);
    work->two_blocks = end > 55;
    if (work->two_blocks)
        work->shared = shortest < 48 ? 0 : 12;
    else
        work->shared = work->last_row <= SHORT_ROWS || shortest < 16 ? 0 : shortest < 32 ? 4 : 8;
    work->is_closed = work->digits <= 1 && !work->two_blocks && !work->has_over;
    if (work->is_closed)
        close_prefixes(task, tray);
    int n_zeros = (work->two_blocks ? 32 : 16) - work->last_row; /* rows that no lane writes to, the lengths aside */
    memset(work->rows + work->last_row * WIDTH, 0, (size_t)n_zeros * WIDTH * 4);
    if (work->two_blocks)
        memset(work->words[16], 0, sizeof work->words[0] * 4);
}

/* The states in which the last blocks of the prefixes begin: the one of all MD5, unless whole blocks come before. */
TARGET INLINE void NAME(start_families)(const tray_t *tray, work_t *work)
{
    for (int f = 0; f < tray->n_families; f += WIDTH) {
        V x[4][STREAMS];
        for (int s = 0; s < STREAMS; s++)
            for (int i = 0; i < 4; i++)
                x[i][s] = SPREAD(BEGINNING[i]);
        if (work->has_heads) {
            for (int s = 0; s < STREAMS; s++) {
                const uint8_t *blocks[LANES];
                for (int l = 0; l < LANES; l++)
                    blocks[l] = tray->rows + ROW * (f + LANES * s + l);
                NAME(transpose)(blocks, work->words[0] + f + LANES * s, STRIDE);
            }
            NAME(rounds)(work->words[0] + f, STRIDE, x[0], x[1], x[2], x[3], 0, 16, 1);
        }
        for (int s = 0; s < STREAMS; s++) {
            V has_head = ABOVE(LOAD(tray->block + f + LANES * s) & 64, 0);
            for (int i = 0; i < 4; i++)
                STORE(work->start[i] + f + LANES * s, BEGINNING[i] + (has_head & x[i][s]));
        }
    }
    if (tray->n_giants)
        start_giants(tray, work);
}

/* Transpose the last blocks of the prefixes and take the steps that all keys of a family share. */
TARGET INLINE void NAME(open_families)(tray_t *tray, work_t *work)
{
    memset(tray->block + tray->n_families, 0, WIDTH_MAX * 4); /* vectors of families may reach beyond the last */
    NAME(start_families)(tray, work);
    for (int f = 0; f < tray->n_families; f += LANES) {
        const uint8_t *blocks[LANES];
        for (int l = 0; l < LANES; l++)
            blocks[l] = tray->rows + tray->block[f + l];
        NAME(transpose)(blocks, work->words[0] + f, STRIDE);
    }
    for (int f = 0; f < tray->n_families; f += WIDTH) {
        V x[4][STREAMS];
        for (int i = 0; i < 4; i++)
            for (int s = 0; s < STREAMS; s++)
                x[i][s] = LOAD(work->start[i] + f + LANES * s);
        NAME(opening)(work->words[0] + f, STRIDE, x[0], x[1], x[2], x[3], work->shared);
        for (int i = 0; i < 4; i++)
            for (int s = 0; s < STREAMS; s++)
                STORE(work->opened[i] + f + LANES * s, x[i][s]);
    }
}

/* Write the words of the messages of one vector of lanes, when the keys of a family differ in one digit at most and the
 * prefixes have been given the text around it. */
TARGET INLINE void NAME(lay_out_digits)(const task_t *task, const tray_t *tray, work_t *work, int lane,
                                               int column)
{
    uint32_t f = work->family[lane], *rows = work->rows + column;
    V index = PICK_INDEX(WIDEN(work->family + lane) - f), length = PICK(LOAD_ANY(tray->length + f), index);
    V at = (length & 63) >> 2, digit = LOAD_ANY(work->number + lane) << ((length & 3) << 3);
    int r = 0, first_row = work->first_row, last_row = work->last_row; /* or stores might change them */
    for (; r < first_row; r++)
        STORE(rows + r * WIDTH, PICK(LOAD_ANY(work->words[r] + f), index));
    for (; r < last_row; r++)
        STORE(rows + r * WIDTH, ADD_WHERE(PICK(LOAD_ANY(work->words[r] + f), index), at, SPREAD(r), digit));
    STORE(rows + 14 * WIDTH, (length + work->digits + task->n_ending) << 3);
}

/* Number and ending of each lane as text: low and high half, and the number's digits. */
TARGET INLINE V NAME(write_numbers)(const task_t *task, const work_t *work, int lane, int column, V *low,
                                           V *high)
{
    if (work->digits == MAX_DIGITS) {
        *low = LOAD(work->text[0] + column);
        *high = LOAD(work->text[1] + column);
        return LOAD(work->n_digits + column);
    }
    V n = LOAD_ANY(work->number + lane);
    *high = SPREAD(0);
    if (work->digits <= 1) {
        *low = SPREAD(task->ending);
        if (work->digits == 1)
            *low = *low << 8 | (n + '0');
        return SPREAD(work->digits);
    }
    V hundreds = TIMES(n, 5243) >> 19, rest = n - TIMES(hundreds, 100);       /* right below 10 000 */
    V thousands = TIMES(hundreds, 103) >> 10, tens = TIMES(rest, 103) >> 10; /* right below 100 */
    V digits = thousands | (hundreds - TIMES(thousands, 10)) << 8 | tens << 16 | (rest - TIMES(tens, 10)) << 24;
    digits += 0x30303030u;
    V n_digits = 1 - ABOVE(n, 9) - ABOVE(n, 99) - ABOVE(n, 999);
    V bits = n_digits << 3, ending = SPREAD(task->ending);
    *low = digits >> (32 - bits) | ending << (bits - 8) << 8;
    *high = ending >> (32 - bits);
    return n_digits;
}

/* The same for any numbers and lengths: rows 0 to 15, and 16 to 31 if some keys need a second block. */
TARGET INLINE void NAME(lay_out_text)(const task_t *task, const tray_t *tray, work_t *work, int lane, int column)
{
    uint32_t f = work->family[lane], *rows = work->rows + column;
    V index = PICK_INDEX(WIDEN(work->family + lane) - f), length = PICK(LOAD_ANY(tray->length + f), index), low, high;
    V n_more = NAME(write_numbers)(task, work, lane, column, &low, &high) + task->n_ending;
    V shift = (length & 3) << 3, rest = 31 - shift, first = low << shift, second = low >> 1 >> rest | high << shift;
    V third = high >> 1 >> rest, at = (length & 63) >> 2, next = at + 1, last = at + 2;
    int r = 0, first_row = work->first_row, last_row = work->last_row; /* or stores might change them */
    for (; r < first_row; r++)
        STORE(rows + r * WIDTH, PICK(LOAD_ANY(work->words[r] + f), index));
    for (; r < last_row; r++) {
        V here = SPREAD(r), sum = ADD_WHERE(PICK(LOAD_ANY(work->words[r] + f), index), at, here, first);
        sum = ADD_WHERE(sum, next, here, second);
        STORE(rows + r * WIDTH, ADD_WHERE(sum, last, here, third));
    }
    V bits = (length + n_more) << 3, two = ABOVE((length & 63) + n_more, 55);
    if (work->digits == MAX_DIGITS) {
        third = LOAD(work->text[2] + column) << shift;
        V fourth = LOAD(work->text[2] + column) >> 1 >> rest | LOAD(work->text[3] + column) << shift;
        for (r = first_row; r < last_row; r++) {
            V sum = ADD_WHERE(LOAD(rows + r * WIDTH), last, SPREAD(r), third);
            STORE(rows + r * WIDTH, ADD_WHERE(sum, last + 1, SPREAD(r), fourth));
        }
    }
    STORE(work->two + column, two);
    STORE(rows + 14 * WIDTH, (LOAD(rows + 14 * WIDTH) & two) | (bits & ~two));
    STORE(rows + 30 * WIDTH, bits);
    if (work->has_over) {
        V over = PICK(LOAD_ANY(work->over + f), index) - ABOVE(length << 3, bits);
        STORE(rows + 15 * WIDTH, LOAD(rows + 15 * WIDTH) | (over & ~two));
        STORE(rows + 31 * WIDTH, over);
    }
}

/* The n words of the families' states, for the lanes of a group. */
TARGET INLINE void NAME(pick_states)(const work_t *work, uint32_t (*states)[STRIDE], int lane, int n,
                                            V (*x)[STREAMS])
{
    for (int s = 0; s < STREAMS; s++) {
        const uint8_t *family = work->family + lane + LANES * s;
        V index = PICK_INDEX(WIDEN(family) - family[0]);
        for (int i = 0; i < n; i++)
            x[i][s] = PICK(LOAD_ANY(states[i] + family[0]), index);
    }
}

/* Hash the lanes whose words stand in rows, each of one block. Which steps are left out is a constant: a choice among
 * the rounds costs a tenth of the time. */
TARGET INLINE void NAME(hash_single)(work_t *work, int lane, const int shared, const int n_words)
{
    V x[4][STREAMS], begin[1][STREAMS];
    NAME(pick_states)(work, work->opened, lane, 4, x);
    NAME(rounds)(work->rows, WIDTH, x[0], x[1], x[2], x[3], shared, n_words, 0);
    NAME(pick_states)(work, work->start, lane, 1, begin);
    for (int s = 0; s < STREAMS; s++)
        STORE_ANY(work->hash + lane + LANES * s, NAME(reverse_bytes)(x[0][s] + begin[0][s]));
}

/* The same where some lanes have a second block. */
TARGET INLINE void NAME(hash_double)(work_t *work, int lane, const int shared)
{
    V x[4][STREAMS], begin[4][STREAMS], first[STREAMS];
    NAME(pick_states)(work, work->opened, lane, 4, x);
    NAME(rounds)(work->rows, WIDTH, x[0], x[1], x[2], x[3], shared, 16, 1);
    NAME(pick_states)(work, work->start, lane, 4, begin);
    for (int s = 0; s < STREAMS; s++) {
        for (int i = 0; i < 4; i++)
            x[i][s] += begin[i][s];
        first[s] = x[0][s];
    }
    NAME(rounds)(work->rows + 16 * WIDTH, WIDTH, x[0], x[1], x[2], x[3], 0, SPILL_ROWS, 0);
    for (int s = 0; s < STREAMS; s++) {
        V two = LOAD(work->two + LANES * s);
        STORE_ANY(work->hash + lane + LANES * s, NAME(reverse_bytes)(first[s] + (x[0][s] & two)));
    }
}

TARGET static NEVER_INLINE void NAME(hash_short)(work_t *work, int lane)
{
    NAME(hash_single)(work, lane, 0, SHORT_ROWS);
}

TARGET static NEVER_INLINE void NAME(hash_single_0)(work_t *work, int lane)
{
    NAME(hash_single)(work, lane, 0, 16);
}

TARGET static NEVER_INLINE void NAME(hash_single_4)(work_t *work, int lane)
{
    NAME(hash_single)(work, lane, 4, 16);
}

TARGET static NEVER_INLINE void NAME(hash_single_8)(work_t *work, int lane)
{
    NAME(hash_single)(work, lane, 8, 16);
}

TARGET static NEVER_INLINE void NAME(hash_double_0)(work_t *work, int lane)
{
    NAME(hash_double)(work, lane, 0);
}

TARGET static NEVER_INLINE void NAME(hash_double_12)(work_t *work, int lane)
{
    NAME(hash_double)(work, lane, 12);
}

/* The rounds that the keys of a tray need. */
TARGET static hash_group_t *NAME(hash_of)(const work_t *work)
{
    if (work->two_blocks)
        return work->shared ? NAME(hash_double_12) : NAME(hash_double_0);
    if (work->last_row <= SHORT_ROWS)
        return NAME(hash_short);
    return work->shared == 8 ? NAME(hash_single_8) : work->shared == 4 ? NAME(hash_single_4) : NAME(hash_single_0);
}

/* Hash the keys of a tray. */
TARGET static NEVER_INLINE void NAME(hash_tray)(const task_t *task, tray_t *tray)
{
    work_t work;
    if (tray->n_lanes == 0)
        return;
    NAME(fill_lanes)(task, tray, &work);
    NAME(plan)(task, tray, &work);
    NAME(open_families)(tray, &work);
    hash_group_t *hash = NAME(hash_of)(&work);
    for (int lane = 0; lane < tray->n_lanes; lane += WIDTH) {
        if (work.digits == MAX_DIGITS)
            write_text(task, &work, lane, tray->n_lanes - lane < WIDTH ? tray->n_lanes - lane : WIDTH);
        for (int column = 0; column < WIDTH; column += LANES)
            if (work.is_closed)
                NAME(lay_out_digits)(task, tray, &work, lane + column, column);
            else
                NAME(lay_out_text)(task, tray, &work, lane + column, column);
        hash(&work, lane);
    }
    deliver(task, tray, &work);
    tray->n_giants = 0;
}
