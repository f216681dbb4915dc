/* Sort lists of text on buffers of exactly the right size, and compare with a plain sort by UTF-16 code units.
   Compiled with address and undefined-behaviour sanitizers by tests/engine/test_sanitizers.py. */
#include "isa.h"
#include "plain_strings.h"
#include "strings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { LETTERS, IDS, HOSTS, ODD, BYTES, KINDS };
enum { LONGEST = 64 }; /* bytes of a string */

/* Lists of strings; the column begins behind a few bytes that are not its own. */
typedef struct {
    int64_t n_lists, n, *list_offsets, *offsets;
    uint8_t *values;
} lists_t;

static uint64_t state = 0x9e3779b97f4a7c15u;

static uint32_t next(uint32_t below)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (uint32_t)(state >> 16) % below;
}

/* Write one string: of few letters; an id; an id of one of few hosts; characters on both sides of every boundary of the order,
   lone surrogates among them; bytes that are not UTF-8. */
static int64_t write_text(enum kind kind, char *to)
{
    static const char *const odd[] = {"a", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xed\xa0\x80",
                                      "\xed\xaf\xbf", "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"};
    int64_t n = 0;
    switch (kind) {
    case IDS:
        return sprintf(to, "10.%u.%u.%u@%u#%u", next(256), next(256), next(256), next(100000), next(1000000000));
    case HOSTS:
        return sprintf(to, "consumer-%s-orders-%07u@%u", next(50) ? "of" : "to", next(100) * 99991, next(9));
    case ODD:
        for (uint32_t left = next(5); left > 0; left--)
            n += sprintf(to + n, "%s", odd[next(sizeof odd / sizeof *odd)]);
        return n;
    default:
        for (uint32_t left = next(20); left > 0; left--)
            to[n++] = kind == LETTERS ? (char)('a' + next(2)) : (char)next(256);
        return n;
    }
}

static lists_t make_lists(enum kind kind, int64_t n_lists, uint32_t most)
{
    lists_t lists = {.n_lists = n_lists, .list_offsets = calloc((size_t)n_lists + 1, sizeof(int64_t))};
    for (int64_t row = 0; row < n_lists; row++)
        lists.list_offsets[row + 1] = lists.list_offsets[row] + next(most + 1);
    lists.n = lists.list_offsets[n_lists];
    lists.offsets = malloc((size_t)(lists.n + 1) * sizeof(int64_t));
    char *all = malloc((size_t)lists.n * LONGEST + 8);
    lists.offsets[0] = next(8);
    memset(all, 'x', 8);
    for (int64_t i = 0; i < lists.n; i++) {
        const int64_t at = lists.offsets[i];
        lists.offsets[i + 1] = at + write_text(kind, all + at);
    }
    const size_t size = (size_t)lists.offsets[lists.n];
    lists.values = malloc(size + !size);
    memcpy(lists.values, all, size);
    free(all);
    return lists;
}

static void free_lists(lists_t lists) { free(lists.values), free(lists.offsets), free(lists.list_offsets); }

static int64_t size_of(const lists_t *lists, int64_t i) { return lists->offsets[i + 1] - lists->offsets[i]; }

static int64_t longest_of(const lists_t *lists)
{
    int64_t longest = 1;
    for (int64_t row = 0; row < lists->n_lists; row++)
        if (lists->list_offsets[row + 1] - lists->list_offsets[row] > longest)
            longest = lists->list_offsets[row + 1] - lists->list_offsets[row];
    return longest;
}

static int compare(const lists_t *lists, int64_t i, int64_t j)
{
    return compare_text(lists->values + lists->offsets[i], size_of(lists, i), lists->values + lists->offsets[j], size_of(lists, j));
}

/* Is this the stable order of the list, and is `odd` right? Of bytes that are no text, only whether every place is there once. */
static int right(const lists_t *lists, int64_t row, const int32_t *order, uint8_t odd, enum kind kind)
{
    const int64_t first = lists->list_offsets[row], n = lists->list_offsets[row + 1] - first;
    int expected = n > 0 && size_of(lists, first + order[0]) == 0;
    int64_t sum = 0;
    for (int64_t k = 0; k < n; k++)
        sum += order[k] < 0 || order[k] >= n ? -n * n * n : (int64_t)order[k] * order[k];
    if (sum != n * (n - 1) * (2 * n - 1) / 6)
        return 0;
    if (kind == BYTES)
        return 1;
    for (int64_t k = 1; k < n; k++) {
        const int sign = compare(lists, first + order[k - 1], first + order[k]);
        if (sign > 0 || (sign == 0 && order[k - 1] > order[k]))
            return 0;
        expected |= sign == 0;
    }
    return odd == expected;
}

/* Do the sorted strings lie as the order says? */
static int moved(const lists_t *lists, const int32_t *order, const lists_t *sorted)
{
    for (int64_t row = 0; row < lists->n_lists; row++)
        for (int64_t i = lists->list_offsets[row]; i < lists->list_offsets[row + 1]; i++) {
            const int64_t from = lists->list_offsets[row] + order[i], n = size_of(lists, from);
            if (size_of(sorted, i) != n ||
                memcmp(sorted->values + sorted->offsets[i], lists->values + lists->offsets[from], (size_t)n))
                return 0;
        }
    return sorted->offsets[0] == 0;
}

/* Count what is wrong with the order of all lists, with the sorted column, and with the same once more on that. */
static int wrong(lists_t lists, enum kind kind, int again)
{
    const size_t longest = (size_t)longest_of(&lists), n = (size_t)lists.n;
    const int64_t n_bytes = lists.offsets[n] - lists.offsets[0];
    uint64_t *keys = malloc(longest * sizeof *keys);
    int32_t *spare = malloc(longest * sizeof *spare), *order = malloc(longest * sizeof *order), *out = malloc(n * 4 + !n);
    uint8_t *odd = malloc((size_t)lists.n_lists), *odd_again = calloc((size_t)lists.n_lists, 1);
    lists_t sorted = {lists.n_lists, lists.n, lists.list_offsets, malloc((n + 1) * 8), malloc((size_t)n_bytes + !n_bytes)};
    int failures = 0;
    rmq_strings()->order(lists.values, lists.offsets, lists.list_offsets, lists.n_lists, keys, spare, odd, out);
    for (int64_t row = 0; row < lists.n_lists; row++)
        failures += !right(&lists, row, out + lists.list_offsets[row], odd[row], kind);
    const int64_t first = rmq_strings()->in_order(lists.values, lists.offsets, lists.list_offsets, lists.n_lists, keys, odd_again);
    failures += again && kind != BYTES && first != lists.n_lists;
    rmq_strings()->sort(lists.values, lists.offsets, lists.list_offsets, first, lists.n_lists, keys, spare, order, odd_again,
                     sorted.values, sorted.offsets);
    failures += !moved(&lists, out, &sorted) + (memcmp(odd, odd_again, (size_t)lists.n_lists) != 0);
    if (!again)
        failures += wrong(sorted, kind, 1);
    free(keys), free(spare), free(order), free(out), free(odd), free(odd_again), free(sorted.offsets), free(sorted.values);
    return failures;
}

int main(void)
{
    static const int64_t shapes[][2] = {{1, 3}, {2, 9}, {60, 8}, {60, 16}, {40, 33}, {10, 70}, {3, 400}};
    int failures = 0;
    for (int i = 0; rmq_isa_available(i); i++) {
        const int before = failures;
        rmq_isa_force(rmq_isa_available(i));
        if (rmq_isa_level() == RMQ_PLAIN)
            continue;
        for (int kind = 0; kind < KINDS; kind++)
            for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
                for (int round = 0; round < 20; round++) {
                    const lists_t lists = make_lists((enum kind)kind, shapes[s][0], (uint32_t)shapes[s][1]);
                    failures += wrong(lists, (enum kind)kind, 0);
                    free_lists(lists);
                }
        printf("%s: %d wrong\n", rmq_isa(), failures - before);
    }
    return failures != 0;
}
