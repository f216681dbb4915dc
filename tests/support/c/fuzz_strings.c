/* Lists of text ordered, checked and sorted, under every instruction set, against Java's order unit by unit. Lists of bytes that are no
   text come to some order that is the same whichever instructions find it. */
#include "fuzz_input.h"
#include "plain_strings.h"
#include "strings.h"

enum { MOST_LISTS = 30, MOST_STRINGS = 400, LONGEST = 80 };

typedef struct {
    column_t text;
    int64_t *list_offsets, n_lists, longest; /* at least 1 */
    int is_text;
} lists_t;

/* Write a string: letters of few; an id; characters on both sides of every boundary of the order, lone surrogates among them. */
static int64_t write_text(input_t *in, uint8_t *to)
{
    static const char *const odd[] = {"a", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xed\xa0\x80", "\xed\xaf\xbf",
                                      "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"};
    const int kind = (int)number(in, 1) % 4;
    int64_t n = 0;
    if (kind == 1)
        return sprintf((char *)to, "10.%d.0.%d@%u", (int)below(in, 256), (int)below(in, 3), (unsigned)number(in, 4));
    for (int64_t left = below(in, 20); left > 0; left--)
        n += kind != 2 ? (to[n] = 'a' + (uint8_t)number(in, 1) % (kind ? 26 : 2), 1) : sprintf((char *)to + n, "%s", odd[below(in, 12)]);
    return n;
}

/* Strings of a column; now and then one is the string before once more. */
static column_t texts_of(input_t *in, int64_t n)
{
    column_t column = {NULL, room(n + 1, sizeof(int64_t)), n};
    uint8_t *all = room(n * (LONGEST + 1) + 8, 1);
    memset(all, 'x', 8);
    column.offsets[0] = below(in, 8);
    for (int64_t i = 0; i < n; i++) {
        uint8_t *to = all + column.offsets[i];
        int64_t size;
        if (i && number(in, 1) % 8 == 0)
            memcpy(to, all + column.offsets[i - 1], (size_t)(size = length_of(&column, i - 1)));
        else
            size = write_text(in, to);
        column.offsets[i + 1] = column.offsets[i] + size;
    }
    column.values = room(column.offsets[n], 1);
    memcpy(column.values, all, (size_t)column.offsets[n]);
    free(all);
    return column;
}

static int compare(const lists_t *lists, int64_t i, int64_t j)
{
    const column_t *text = &lists->text;
    return compare_text(text_of(text, i), length_of(text, i), text_of(text, j), length_of(text, j));
}

/* Every place is there once; of text, the order is stable and `odd` is right. */
static void check_order(const lists_t *lists, int64_t row, const int32_t *order, uint8_t odd)
{
    const int64_t first = lists->list_offsets[row], n = lists->list_offsets[row + 1] - first;
    uint8_t *seen = calloc((size_t)n + 1, 1);
    int expected = n > 0 && length_of(&lists->text, first + order[0]) == 0;
    for (int64_t k = 0; k < n; k++) {
        CHECK(order[k] >= 0 && order[k] < n && !seen[order[k]], "list %d: place %d", (int)row, order[k]);
        seen[order[k]] = 1;
        const int sign = k && lists->is_text ? compare(lists, first + order[k - 1], first + order[k]) : -1;
        CHECK(sign < 0 || (sign == 0 && order[k - 1] < order[k]), "list %d of %d strings: out of order at %d", (int)row, (int)n, (int)k);
        expected |= sign == 0;
    }
    CHECK(!lists->is_text || odd == expected, "list %d of %d strings: odd is %d", (int)row, (int)n, odd);
    free(seen);
}

/* How many lists before the first whose strings are not in order. */
static int64_t n_in_order(const lists_t *lists)
{
    for (int64_t row = 0; row < lists->n_lists; row++)
        for (int64_t i = lists->list_offsets[row] + 1; i < lists->list_offsets[row + 1]; i++)
            if (compare(lists, i - 1, i) > 0)
                return row;
    return lists->n_lists;
}

static void check_moved(const lists_t *lists, const int32_t *order, const uint8_t *values, const int64_t *offsets)
{
    CHECK(offsets[0] == 0, "sorted strings begin at %d", (int)offsets[0]);
    for (int64_t row = 0; row < lists->n_lists; row++)
        for (int64_t i = lists->list_offsets[row]; i < lists->list_offsets[row + 1]; i++) {
            const int64_t from = lists->list_offsets[row] + order[i], n = length_of(&lists->text, from);
            CHECK(offsets[i + 1] - offsets[i] == n && memcmp(values + offsets[i], text_of(&lists->text, from), (size_t)n) == 0,
                  "string %d of list %d is not what its order says", (int)i, (int)row);
        }
}

/* `orders` has the order that the first instruction set found. */
static void sort_all(const lists_t *lists, int32_t *orders, int is_first)
{
    const column_t *text = &lists->text;
    const int64_t n = text->n, n_bytes = text->offsets[n] - text->offsets[0];
    uint64_t *keys = room(lists->longest, sizeof *keys);
    int32_t *spare = room(lists->longest, sizeof *spare), *order = room(lists->longest, sizeof *order), *out = room(n, sizeof *out);
    uint8_t *odd = calloc((size_t)lists->n_lists + 1, 1), *again = calloc((size_t)lists->n_lists + 1, 1), *values = room(n_bytes, 1);
    int64_t *offsets = room(n + 1, sizeof *offsets);
    rmq_strings()->order(text->values, text->offsets, lists->list_offsets, lists->n_lists, keys, spare, odd, out);
    for (int64_t row = 0; row < lists->n_lists; row++)
        check_order(lists, row, out + lists->list_offsets[row], odd[row]);
    if (is_first)
        memcpy(orders, out, (size_t)n * sizeof *out);
    CHECK(!lists->is_text || memcmp(orders, out, (size_t)n * sizeof *out) == 0, "another order than that of the first set");
    const int64_t first = rmq_strings()->in_order(text->values, text->offsets, lists->list_offsets, lists->n_lists, keys, again);
    CHECK(first >= 0 && first <= lists->n_lists, "%d lists are in order", (int)first);
    CHECK(!lists->is_text || first == n_in_order(lists), "%d lists are in order", (int)first);
    rmq_strings()->sort(text->values, text->offsets, lists->list_offsets, first, lists->n_lists, keys, spare, order, again, values, offsets);
    CHECK(memcmp(odd, again, (size_t)lists->n_lists) == 0, "sorting finds other odd lists");
    check_moved(lists, out, values, offsets);
    free(keys), free(spare), free(order), free(out), free(odd), free(again), free(values), free(offsets);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input_t in = {data, size, 0};
    lists_t lists = {.is_text = take(&in, 1) % 4 != 0, .n_lists = 1 + below(&in, MOST_LISTS), .longest = 1};
    const int64_t most = size_of(&in, MOST_STRINGS);
    lists.list_offsets = room(lists.n_lists + 1, sizeof(int64_t));
    lists.list_offsets[0] = 0;
    for (int64_t row = 0; row < lists.n_lists; row++) {
        const int64_t n = below(&in, most + 1), left = MOST_STRINGS - lists.list_offsets[row], taken = n < left ? n : left;
        lists.list_offsets[row + 1] = lists.list_offsets[row] + taken;
        lists.longest = taken > lists.longest ? taken : lists.longest;
    }
    const int64_t n = lists.list_offsets[lists.n_lists];
    maybe_draw(&in);
    lists.text = lists.is_text ? texts_of(&in, n) : column_of(&in, n, LONGEST);
    int32_t *orders = room(n, sizeof *orders);
    EVERY_ISA
        sort_all(&lists, orders, isa_ == 0);
    free(orders), free_column(lists.text), free(lists.list_offsets);
    return 0;
}
