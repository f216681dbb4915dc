/* Hashing a tray of keys in lanes. A template like md5_rounds.h, included at the end of every vocabulary.
 *
 * Keys come in families (see md5_core.c): a prefix is loaded, transposed and, as far as its keys have whole blocks and
 * steps in common, hashed once; its keys then pick its words into their lanes and add number, ending and length there.
 * Lanes are filled across families, GROUP lanes at a time, whatever the width of the instruction set. */
#define NAME(name) NAME_IN(name, ISA)
#define NAME_IN(name, isa) NAME_OF(name, isa)
#define MEMORY NAME(memory)
#define LOAD(p) (*(const V *)(p)) /* from a multiple of the vector's size */
#define STORE(p, x) (*(V *)(p) = (x))
#define LOAD_ANY(p) ((V)(*(const MEMORY *)(p)))
#define STORE_ANY(p, x) (*(MEMORY *)(p) = (MEMORY)(x))
#define SPREAD(x) ((V){0} + (uint32_t)(x))
#if STREAMS == 2
#define EACH_STREAM(DO, ...) DO(0, __VA_ARGS__) DO(1, __VA_ARGS__)
#else
#define EACH_STREAM(DO, ...) DO(0, __VA_ARGS__) DO(1, __VA_ARGS__) DO(2, __VA_ARGS__)
#endif

#include "md5_rounds.h"

/* Which family and which number each lane has. Lanes after the last repeat it, up to a whole group. */
TARGET static void NAME(fill_lanes)(const task_t *task, const tray_t *tray, work_t *work)
{
    uint32_t lane = 0, all = 0;
    for (int f = 0; f < tray->n_families; f++) {
        uint32_t number = tray->number[f], count = tray->count[f];
        for (uint32_t k = 0; k < count; k += LANES) {
            STORE_ANY(work->family + lane + k, SPREAD(f));
            if (!task->numbers)
                STORE_ANY(work->number + lane + k, SPREAD(number + k) + LOAD(COUNTING));
        }
        all |= number > number + count - 1 ? UINT32_MAX : number + count - 1;
        lane += count;
    }
    for (int k = 0; k < GROUP; k += LANES) {
        STORE_ANY(work->family + lane + k, SPREAD(tray->n_families - 1));
        STORE_ANY(work->number + lane + k, SPREAD(0));
    }
    if (task->numbers) {
        gather_numbers(task, tray, work);
        V some = SPREAD(0);
        for (uint32_t k = 0; k < lane; k += LANES)
            some |= LOAD(work->number + k);
        uint32_t parts[LANES];
        memcpy(parts, &some, sizeof parts);
        for (int k = 0; k < LANES; k++)
            all |= parts[k];
    }
    work->digits = !task->numbered ? 0 : all < 10 ? 1 : all < 10000 ? 4 : MAX_DIGITS;
}

/* The state in which the last block or two of each family begins: the one MD5 begins with, unless the prefix has whole
 * blocks before. */
TARGET static void NAME(start_families)(const tray_t *tray, work_t *work)
{
    for (int i = 0; i < 4; i++)
        for (int f = 0; f < tray->n_families; f += LANES)
            STORE(work->start[i] + f, SPREAD(BEGINNING[i]));
    for (int f = 0; f < tray->n_families && tray->has_heads; f += LANES * STREAMS) {
        V x[4][STREAMS];
        for (int s = 0; s < STREAMS; s++) {
            const uint8_t *blocks[LANES];
            for (int l = 0; l < LANES; l++)
                blocks[l] = tray->rows + ROW * (f + LANES * s + l);
            NAME(transpose)(blocks, work->rows + LANES * s, GROUP);
            for (int i = 0; i < 4; i++)
                x[i][s] = SPREAD(BEGINNING[i]);
        }
        NAME(rounds)(work->rows, GROUP, x[0], x[1], x[2], x[3], 0, 16, 1);
        for (int i = 0; i < 4; i++)
            for (int s = 0; s < STREAMS; s++)
                STORE(work->start[i] + f + LANES * s, x[i][s] + BEGINNING[i]);
    }
    for (int f = 0; f < tray->n_families && tray->has_heads; f++)
        if (tray->length[f] < 64 || tray->length[f] >= ROW)
            for (int i = 0; i < 4; i++)
                work->start[i][f] = tray->length[f] < 64 ? BEGINNING[i] : tray->state[f][i];
}

/* Transpose the last blocks of the prefixes and take the steps that all keys of a family share. */
TARGET static void NAME(open_families)(const tray_t *tray, work_t *work)
{
    for (int f = 0; f < tray->n_families; f += LANES) {
        const uint8_t *blocks[LANES];
        for (int l = 0; l < LANES; l++)
            blocks[l] = last_block(tray, f + l);
        NAME(transpose)(blocks, work->words[0] + f, STRIDE);
    }
    for (int f = 0; f < tray->n_families; f++)
        work->length[f] = (uint32_t)tray->length[f];
    NAME(start_families)(tray, work);
    work->shared = tray->shortest / 16 * 4;
    for (int f = 0; f < tray->n_families; f += LANES * STREAMS) {
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

/* Number and ending of each lane as text: low and high half, and the number's digits. */
TARGET ALWAYS_INLINE V NAME(write_numbers)(const task_t *task, const work_t *work, int lane, V *low, V *high)
{
    V n = LOAD(work->number + lane);
    *high = SPREAD(0);
    if (work->digits == 1) {
        *low = n + (task->ending << 8 | '0');
        return SPREAD(1);
    }
    if (work->digits == 0) {
        *low = SPREAD(task->ending);
        return SPREAD(0);
    }
    if (work->digits == MAX_DIGITS) {
        *low = LOAD(work->text[0] + lane);
        *high = LOAD(work->text[1] + lane);
        return LOAD(work->n_digits + lane);
    }
    V hundreds = n * 5243 >> 19, rest = n - hundreds * 100; /* products that hold below 10 000, and below 100 */
    V thousands = hundreds * 103 >> 10, tens = rest * 103 >> 10;
    V digits = (thousands | (hundreds - thousands * 10) << 8 | tens << 16 | (rest - tens * 10) << 24) + 0x30303030u;
    V n_digits = 1 - ABOVE(n, 9) - ABOVE(n, 99) - ABOVE(n, 999);
    V bits = n_digits << 3, ending = SPREAD(task->ending);
    *low = digits >> (32 - bits) | ending << (bits - 8) << 8;
    *high = ending >> (32 - bits);
    return n_digits;
}

/* Add words x, y, z to the lanes' rows, x to row `at` of each. */
TARGET ALWAYS_INLINE void NAME(add_words)(uint32_t *rows, int from, int to, V at, V x, V y, V z)
{
    V before = at + 1, before_that = at + 2;
    for (int r = from; r < to; r++) {
        V here = SPREAD(r);
        V sum = WHERE_EQUAL(at, here, x) | WHERE_EQUAL(before, here, y) | WHERE_EQUAL(before_that, here, z);
        STORE(rows + r * GROUP, LOAD(rows + r * GROUP) | sum);
    }
}

/* Write the words of the messages of one vector of lanes: rows 0 to 15, and 16 to 31 if some need a second block. */
TARGET ALWAYS_INLINE void NAME(lay_out)(const task_t *task, work_t *work, int lane, int column)
{
    uint32_t f = work->family[lane], *rows = work->rows + column;
    V index = PICK_INDEX(LOAD(work->family + lane) - f), length = PICK(LOAD_ANY(work->length + f), index), low, high;
    V n_digits = NAME(write_numbers)(task, work, lane, &low, &high);
    V shift = (length & 3) << 3, at = (length & 63) >> 2, rest = 31 - shift;
    int n_rows = work->n_rows, n_prefix_rows = n_rows < 16 ? n_rows : 16;
    for (int r = 0; r < n_prefix_rows; r++)
        STORE(rows + r * GROUP, PICK(LOAD_ANY(work->words[r] + f), index));
    for (int r = n_prefix_rows; r < n_rows; r++)
        STORE(rows + r * GROUP, SPREAD(0));
    V second = low >> 1 >> rest | high << shift;
    NAME(add_words)(rows, work->first_row, n_rows, at, low << shift, second, high >> 1 >> rest);
    if (work->digits == MAX_DIGITS) {
        V third = LOAD(work->text[2] + lane), fourth = third >> 1 >> rest | LOAD(work->text[3] + lane) << shift;
        NAME(add_words)(rows, work->first_row, n_rows, at + 2, third << shift, fourth, SPREAD(0));
    }
    V n_more = n_digits + task->n_ending, bits = (length + n_more) << 3;
    V two = SPREAD(0);
    if (n_rows > 16)
        two = ABOVE((length & 63) + n_more, 55);
    STORE(work->two + column, two);
    STORE(rows + 14 * GROUP, (LOAD(rows + 14 * GROUP) & two) | (bits & ~two));
    if (n_rows > 16)
        STORE(rows + 30 * GROUP, bits);
    if (work->has_giants) {
        V over = PICK(LOAD_ANY(work->length_over + f), index) - ABOVE(length << 3, bits);
        STORE(rows + 15 * GROUP, LOAD(rows + 15 * GROUP) | (over & ~two));
        STORE(rows + 31 * GROUP, over);
    }
}

/* Hash LANES * STREAMS lanes whose words stand in rows from one column on. */
TARGET ALWAYS_INLINE void NAME(hash_lanes)(const work_t *work, int lane, int column, uint32_t *out)
{
    const uint32_t *rows = work->rows + column;
    V begin[4][STREAMS], x[4][STREAMS];
    for (int s = 0; s < STREAMS; s++) {
        const uint32_t *family = work->family + lane + LANES * s;
        V index = PICK_INDEX(LOAD(family) - family[0]);
        for (int i = 0; i < 4; i++) {
            begin[i][s] = PICK(LOAD_ANY(work->start[i] + family[0]), index);
            x[i][s] = PICK(LOAD_ANY(work->opened[i] + family[0]), index);
        }
    }
    if (work->n_rows <= SHORT_ROWS)
        NAME(rounds)(rows, GROUP, x[0], x[1], x[2], x[3], work->shared, SHORT_ROWS, 0);
    else if (work->n_rows <= 16)
        NAME(rounds)(rows, GROUP, x[0], x[1], x[2], x[3], work->shared, 16, 0);
    else
        NAME(rounds)(rows, GROUP, x[0], x[1], x[2], x[3], work->shared, 16, 1);
    for (int s = 0; s < STREAMS; s++)
        x[0][s] += begin[0][s];
    if (work->n_rows > 16) {
        V first[STREAMS];
        for (int s = 0; s < STREAMS; s++)
            first[s] = x[0][s], x[1][s] += begin[1][s], x[2][s] += begin[2][s], x[3][s] += begin[3][s];
        if (work->has_giants)
            NAME(rounds)(rows + 16 * GROUP, GROUP, x[0], x[1], x[2], x[3], 0, 16, 0);
        else
            NAME(rounds)(rows + 16 * GROUP, GROUP, x[0], x[1], x[2], x[3], 0, SPILL_ROWS, 0);
        for (int s = 0; s < STREAMS; s++)
            x[0][s] = first[s] + (x[0][s] & LOAD(work->two + column + LANES * s));
    }
    for (int s = 0; s < STREAMS; s++)
        STORE(out + LANES * s, NAME(reverse_bytes)(x[0][s]));
}

/* Hash the keys of a tray and empty it. */
TARGET static NEVER_INLINE void NAME(hash_tray)(const task_t *task, tray_t *tray)
{
    work_t work;
    if (tray->n_lanes == 0)
        return;
    NAME(fill_lanes)(task, tray, &work);
    plan(task, tray, &work);
    NAME(open_families)(tray, &work);
    for (int lane = 0; lane < tray->n_lanes; lane += GROUP) {
        for (int column = 0; column < GROUP; column += LANES)
            NAME(lay_out)(task, &work, lane + column, column);
        for (int column = 0; column < GROUP; column += LANES * STREAMS)
            NAME(hash_lanes)(&work, lane + column, column, work.hash + lane + column);
    }
    deliver(task, tray, &work);
    clear_tray(tray);
}

TARGET static void NAME(points)(const uint8_t *values, const int64_t *offsets, int64_t first, int64_t last,
                                const int32_t *starts, int32_t v, uint32_t *out)
{
    const task_t task = {NULL, out, 0x80, 0, 1, 55 - decimal_width(v - 1)};
    tray_t trays[2];
    clear_tray(&trays[0]), clear_tray(&trays[1]);
    for (int64_t i = first; i < last; i++) {
        const piece_t pieces[] = {{values + offsets[i], offsets[i + 1] - offsets[i]}, {(const uint8_t *)"-", 1}};
        int64_t length = pieces[0].length + 1;
        tray_t *tray = &trays[(length & 63) > task.longest];
        for (int32_t k = 0; k < v;) {
            if (is_full(tray))
                NAME(hash_tray)(&task, tray);
            uint8_t *row = tray->rows + ROW * tray->n_families;
            if (length < ROW) {
                NAME(put)(row, pieces[0].text, pieces[0].length);
                memset(row + length, 0, 64);
                row[length - 1] = '-';
            } else
                absorb(tray, pieces, 2);
            k += join(tray, length, (i - first) * v + k, (starts ? (uint32_t)starts[i] : 0) + (uint32_t)k, v - k);
        }
    }
    NAME(hash_tray)(&task, &trays[0]);
    NAME(hash_tray)(&task, &trays[1]);
}

/* Write the text of a route up to the number. The pieces go in from left to right: each may spoil what follows it. */
TARGET ALWAYS_INLINE void NAME(put_route)(uint8_t *to, const piece_t *pieces)
{
    memcpy(to, "MessageQueue [topic=", 20), to += 20;
    NAME(put)(to, pieces[1].text, pieces[1].length), to += pieces[1].length;
    memcpy(to, ", brokerName=", 13), to += 13;
    NAME(put)(to, pieces[3].text, pieces[3].length), to += pieces[3].length;
    memcpy(to, ", queueId=", 10);
    memset(to + 10, 0, 64);
}

TARGET static void NAME(queues)(const uint8_t *topic_values, const int64_t *topic_offsets, const uint8_t *broker_values,
                                const int64_t *broker_offsets, const int32_t *route_topic, const int32_t *route_broker,
                                const int64_t *route_offsets, int64_t first_route, int64_t last_route,
                                const int32_t *queue_ids, uint32_t *out)
{
    const int64_t base = first_route < last_route ? route_offsets[first_route] : 0;
    const task_t task = {queue_ids + base, out, ']' | 0x80 << 8, 1, 1, 52};
    tray_t trays[2];
    clear_tray(&trays[0]), clear_tray(&trays[1]);
    for (int64_t r = first_route; r < last_route; r++) {
        const int64_t *topic = topic_offsets + route_topic[r], *broker = broker_offsets + route_broker[r];
        const piece_t pieces[] = {{(const uint8_t *)"MessageQueue [topic=", 20},
                                  {topic_values + topic[0], topic[1] - topic[0]},
                                  {(const uint8_t *)", brokerName=", 13},
                                  {broker_values + broker[0], broker[1] - broker[0]},
                                  {(const uint8_t *)", queueId=", 10}};
        int64_t length = 43 + pieces[1].length + pieces[3].length;
        tray_t *tray = &trays[(length & 63) > task.longest];
        for (int64_t i = route_offsets[r]; i < route_offsets[r + 1];) {
            if (is_full(tray))
                NAME(hash_tray)(&task, tray);
            if (length < ROW)
                NAME(put_route)(tray->rows + ROW * tray->n_families, pieces);
            else
                absorb(tray, pieces, 5);
            i += join(tray, length, i - base, 0, route_offsets[r + 1] - i);
        }
    }
    NAME(hash_tray)(&task, &trays[0]);
    NAME(hash_tray)(&task, &trays[1]);
}

TARGET static void NAME(strings)(const uint8_t *values, const int64_t *offsets, int64_t first, int64_t last, uint32_t *out)
{
    const task_t task = {NULL, out, 0x80, 0, 0, 55};
    tray_t trays[2];
    clear_tray(&trays[0]), clear_tray(&trays[1]);
    for (int64_t i = first; i < last; i++) {
        const piece_t piece = {values + offsets[i], offsets[i + 1] - offsets[i]};
        tray_t *tray = &trays[(piece.length & 63) > task.longest];
        if (is_full(tray))
            NAME(hash_tray)(&task, tray);
        uint8_t *row = tray->rows + ROW * tray->n_families;
        if (piece.length < ROW) {
            NAME(put)(row, piece.text, piece.length);
            memset(row + piece.length, 0, 64);
        } else
            absorb(tray, &piece, 1);
        join(tray, piece.length, i - first, 0, 1);
    }
    NAME(hash_tray)(&task, &trays[0]);
    NAME(hash_tray)(&task, &trays[1]);
}

/* The bare rounds on ready-made blocks, 16 rows of GROUP words each: what everything else here is measured by. */
TARGET static void NAME(bare)(const uint32_t *blocks, int64_t n_groups, uint32_t *out)
{
    for (int64_t i = 0; i < n_groups; i++)
        for (int column = 0; column < GROUP; column += LANES * STREAMS) {
            V x[4][STREAMS];
            for (int j = 0; j < 4; j++)
                for (int s = 0; s < STREAMS; s++)
                    x[j][s] = SPREAD(BEGINNING[j]);
            NAME(rounds)(blocks + 16 * GROUP * i + column, GROUP, x[0], x[1], x[2], x[3], 0, 16, 0);
            for (int s = 0; s < STREAMS; s++)
                STORE_ANY(out + GROUP * i + column + LANES * s, NAME(reverse_bytes)(x[0][s] + BEGINNING[0]));
        }
}

static const isa_t NAME(isa) = {TEXT(ISA), NAME(points), NAME(queues), NAME(strings), NAME(bare)};

#undef ISA
#undef TARGET
#undef LANES
#undef STREAMS
#undef V
#undef M
#undef BARRIER
#undef ROTATE
#undef F1
#undef F2
#undef F3
#undef F4
#undef WHERE_EQUAL
#undef ABOVE
#undef PICK_INDEX
#undef PICK
#undef NAME
#undef NAME_IN
#undef MEMORY
#undef LOAD
#undef STORE
#undef LOAD_ANY
#undef STORE_ANY
#undef SPREAD
#undef EACH_STREAM
#undef ROW_OF
#undef STEP
#undef STEP_OF
#undef QUAD
