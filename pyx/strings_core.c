/* Java's order of text; see strings.h.

   Strings are compared by eight bytes, as a number, behind what all strings of the list begin with, and byte by byte only where
   those numbers are equal. Lists in order cost one pass. Short lists are sorted by counting, for every key, the smaller
   ones: the keys of ids are random, and a mispredicted branch costs more than many comparisons. */
#include "strings.h"

#include "isa.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define SMALL 32 /* strings that are sorted by counting */

/* The strings of one list. */
typedef struct {
    const uint8_t *values;
    const int64_t *offsets; /* of the first string of the list */
    int64_t n;
    int64_t prefix;         /* bytes that all of them begin with, or some fewer */
    int ascii;              /* are all bytes of the keys? */
    int descents, ties;     /* is any key less than, or the same as, the one before? */
    int surrogates;         /* is there a lone one among keys that are not ASCII? */
} list_t;

/* ---- comparing two strings ---- */

/* First (or second) UTF-16 code unit of the character at `at`; 0 where there is none. */
static uint32_t unit_at(const uint8_t *s, int64_t at, int64_t end, int second)
{
    if (at >= end)
        return 0;
    if (s[at] < 0x80)
        return s[at];
    if (s[at] < 0xE0)
        return (uint32_t)(s[at] & 0x1F) << 6 | (s[at + 1] & 0x3F);
    if (s[at] < 0xF0)
        return (uint32_t)(s[at] & 0x0F) << 12 | (uint32_t)(s[at + 1] & 0x3F) << 6 | (s[at + 2] & 0x3F);
    const uint32_t point = (uint32_t)(s[at] & 0x07) << 18 | (uint32_t)(s[at + 1] & 0x3F) << 12 |
                           (uint32_t)(s[at + 2] & 0x3F) << 6 | (s[at + 3] & 0x3F);
    return second ? 0xDC00 | (point & 0x3FF) : 0xD800 + ((point - 0x10000) >> 10);
}

/* Order of two strings whose characters at `at` differ and begin with ED or more on both sides. */
static int compare_surrogates(const uint8_t *a, int64_t na, const uint8_t *b, int64_t nb, int64_t at)
{
    uint32_t ua = unit_at(a, at, na, 0), ub = unit_at(b, at, nb, 0);
    if (ua == ub) {
        /* A lone high surrogate against a pair that begins with the same unit: the next unit decides. */
        ua = a[at] >= 0xF0 ? unit_at(a, at, na, 1) : unit_at(a, at + 3, na, 0);
        ub = b[at] >= 0xF0 ? unit_at(b, at, nb, 1) : unit_at(b, at + 3, nb, 0);
    }
    return ua > ub ? 1 : -1;
}

/* Java's order of strings i and j, which agree before `at`: negative, zero or positive. */
static int compare(const list_t *list, int64_t i, int64_t j)
{
    const uint8_t *a = list->values + list->offsets[i], *b = list->values + list->offsets[j];
    const int64_t na = list->offsets[i + 1] - list->offsets[i], nb = list->offsets[j + 1] - list->offsets[j];
    const int64_t shorter = na < nb ? na : nb;
    int64_t at = list->prefix;
    while (at + 8 <= shorter && memcmp(a + at, b + at, 8) == 0)
        at += 8;
    while (at < shorter && a[at] == b[at])
        at++;
    if (at == shorter)
        return (na > nb) - (na < nb);
    if (a[at] >= 0xED && b[at] >= 0xED)
        return compare_surrogates(a, na, b, nb, at);
    return a[at] > b[at] ? 1 : -1;
}

/* ---- keys ---- */

/* Eight bytes as a number that orders as they do. */
INLINE uint64_t number_of(const uint8_t *s)
{
    uint64_t key;
    memcpy(&key, s, sizeof key);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    key = __builtin_bswap64(key);
#endif
    return key;
}

/* Eight bytes of string i from the prefix on, padded with zeros where it may end early. */
INLINE uint64_t key_of(const list_t *list, int64_t i, int padded)
{
    const uint8_t *s = list->values + list->offsets[i] + list->prefix;
    const int64_t n = padded ? list->offsets[i + 1] - list->offsets[i] - list->prefix : 8;
    uint64_t key = 0;
    if (LIKELY(n >= 8))
        return number_of(s);
    for (int byte = 0; byte < n; byte++)
        key |= (uint64_t)s[byte] << (56 - 8 * byte);
    return key;
}

INLINE uint64_t differing_bits(const list_t *list, int padded)
{
    const uint64_t first = key_of(list, 0, padded);
    uint64_t differ = 0;
    for (int64_t i = 1; i < list->n; i++)
        differ |= key_of(list, i, padded) ^ first;
    return differ;
}

/* Move the prefix on to where the strings differ, eight bytes at a time. Returns whether some are shorter than a key behind it. */
static int skip_prefix(list_t *list)
{
    int64_t shortest = INT64_MAX, shared = 8;
    for (int64_t i = 0; i < list->n; i++) {
        const int64_t size = list->offsets[i + 1] - list->offsets[i];
        shortest = size < shortest ? size : shortest;
    }
    while (shared == 8) {
        const int padded = shortest - list->prefix < 8;
        const uint64_t differ = padded ? differing_bits(list, 1) : differing_bits(list, 0);
        shared = differ ? __builtin_clzll(differ) / 8 : 8;
        if (shared > shortest - list->prefix)
            shared = shortest - list->prefix;
        list->prefix += shared;
    }
    return shortest - list->prefix < 8;
}

/* Keys of all strings, and what can be said of them in passing. */
INLINE void write_keys(list_t *list, uint64_t *keys, int padded)
{
    uint64_t ones = 0, last = 0;
    int descents = 0, ties = 0;
    for (int64_t i = 0; i < list->n; i++) {
        const uint64_t key = key_of(list, i, padded);
        descents |= key < last;
        ties |= key == last;
        ones |= key;
        keys[i] = last = key;
    }
    list->ascii = !(ones & UINT64_C(0x8080808080808080));
    list->descents = descents;
    list->ties = ties;
}

static void make_keys(list_t *list, uint64_t *keys)
{
    if (skip_prefix(list))
        write_keys(list, keys, 1);
    else
        write_keys(list, keys, 0);
}

/* EE and EF move behind F0..F4, in every byte of every key. */
static void rank_bytes(uint64_t *keys, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        for (int shift = 0; shift < 64; shift += 8) {
            const uint64_t byte = keys[i] >> shift & 0xFF;
            if (byte == 0xEE || byte == 0xEF)
                keys[i] += UINT64_C(0x10) << shift;
        }
}

/* Is there a lone surrogate, ED A0..BF, in the list? */
static int has_surrogates(const list_t *list)
{
    const uint8_t *at = list->values + list->offsets[0], *end = list->values + list->offsets[list->n];
    while (at < end && (at = memchr(at, 0xED, (size_t)(end - at))) && at + 1 < end)
        if (*++at >= 0xA0)
            return 1;
    return 0;
}

/* ---- sorting ---- */

/* Does string i come strictly before string j? */
INLINE int before(const list_t *list, const uint64_t *keys, int64_t i, int64_t j)
{
    if (LIKELY(keys[i] != keys[j] && !list->surrogates))
        return keys[i] < keys[j];
    return compare(list, i, j) < 0;
}

static int in_order(const list_t *list, const uint64_t *keys)
{
    for (int64_t i = 1; i < list->n; i++)
        if (before(list, keys, i, i - 1))
            return 0;
    return 1;
}

static void number(int32_t *order, int64_t first, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        order[i] = (int32_t)(first + i);
}

/* Sort order[0 .. n), stably. */
static void insert(const list_t *list, const uint64_t *keys, int32_t *order, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        const int32_t mine = order[i];
        int64_t place = i;
        for (; place > 0 && before(list, keys, mine, order[place - 1]); place--)
            order[place] = order[place - 1];
        order[place] = mine;
    }
}

/* Merge left[0 .. n_left) and the right[0 .. n_right) behind it; of equals the left one goes first. */
static void merge(const list_t *list, const uint64_t *keys, const int32_t *left, int64_t n_left, int64_t n_right, int32_t *to)
{
    const int32_t *right = left + n_left, *left_end = right, *right_end = right + n_right;
    while (left < left_end && right < right_end) {
        const int from_right = before(list, keys, *right, *left);
        *to++ = from_right ? *right : *left;
        left += !from_right;
        right += from_right;
    }
    memcpy(to, left, (size_t)(left_end - left) * sizeof *to);
    memcpy(to + (left_end - left), right, (size_t)(right_end - right) * sizeof *to);
}

#define ISA(name) scalar_##name
#define TARGET
#define LANES 2
#include "strings_body.h"

#ifdef RMQ_X86
#define ISA(name) avx2_##name
#define TARGET __attribute__((target("avx2,bmi2")))
#define LANES 4
#include "strings_body.h"

#define ISA(name) avx512_##name
#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,bmi2")))
#define LANES 8
#include "strings_body.h"
#endif

typedef int (*sort_small_t)(const int64_t *keys, int n, int32_t *order);

static sort_small_t small_sorter(void)
{
    switch (rmq_isa_level()) {
#ifdef RMQ_X86
    case RMQ_AVX512:
        return avx512_sort_small;
    case RMQ_AVX2:
        return avx2_sort_small;
#endif
    default: /* two lanes are SSE2 or NEON */
        return scalar_sort_small;
    }
}

/* Sort n <= SMALL strings from `first` on; keys without sign bit, in a room that is filled up with larger ones. */
static void sort_run(const list_t *list, const uint64_t *keys, int64_t first, int n, sort_small_t sort, int32_t *order)
{
    int64_t room[SMALL] __attribute__((aligned(64)));
    memcpy(room, keys + first, (size_t)n * sizeof *room);
    for (int i = n; i < SMALL; i++)
        room[i] = INT64_MAX;
    if (list->ascii && sort(room, n, order)) {
        for (int i = 0; i < n; i++)
            order[i] += (int32_t)first;
        return;
    }
    number(order, first, n);
    insert(list, keys, order, n);
}

/* Sort by runs, then by merging them. */
static void sort_list(const list_t *list, const uint64_t *keys, sort_small_t sort, int32_t *spare, int32_t *order)
{
    const int64_t n = list->n;
    for (int64_t first = 0; first < n; first += SMALL)
        sort_run(list, keys, first, (int)(n - first < SMALL ? n - first : SMALL), sort, order + first);
    for (int64_t width = SMALL; width < n; width *= 2) {
        for (int64_t first = 0; first < n; first += 2 * width) {
            const int64_t left = n - first < width ? n - first : width;
            const int64_t right = n - first - left < width ? n - first - left : width;
            merge(list, keys, order + first, left, right, spare + first);
        }
        memcpy(order, spare, (size_t)n * sizeof *order);
    }
}

static void order_list(list_t *list, uint64_t *keys, sort_small_t sort, int32_t *spare, int32_t *order)
{
    int64_t room[SMALL] __attribute__((aligned(64)));
    const int small = list->n <= SMALL;
    if (small) {
        keys = (uint64_t *)room;
        for (int i = 0; i < SMALL; i++)
            room[i] = INT64_MAX;
    }
    make_keys(list, keys);
    if (!list->ascii) {
        list->surrogates = has_surrogates(list);
        rank_bytes(keys, list->n);
    }
    if (list->ascii && list->descents) {
        if (!small)
            sort_list(list, keys, sort, spare, order);
        else if (!sort(room, (int)list->n, order)) {
            number(order, 0, list->n);
            insert(list, keys, order, list->n);
        }
        return;
    }
    if ((list->ascii && !list->ties) || in_order(list, keys))
        number(order, 0, list->n);
    else
        sort_list(list, keys, sort, spare, order);
}

void rmq_strings_order(const uint8_t *values, const int64_t *offsets, const int64_t *list_offsets,
                       int64_t n_lists, void *keys, int32_t *spare, int32_t *out)
{
    const sort_small_t sort = small_sorter();
    for (int64_t row = 0; row < n_lists; row++) {
        const int64_t first = list_offsets[row];
        list_t list = {.values = values, .offsets = offsets + first};
        list.n = list_offsets[row + 1] - first;
        if (list.n == 1)
            out[first] = 0;
        else if (list.n > 1)
            order_list(&list, keys, sort, spare, out + first);
    }
}
