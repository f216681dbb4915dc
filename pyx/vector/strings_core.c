/* Java's order of text; see strings.h.

   Strings are compared by eight bytes, as a number, behind what all strings of the list begin with, and byte by byte only where
   those numbers are equal. Lists in order cost one pass. Short lists are sorted by counting, for every key, the smaller
   ones: the keys of ids are random, and a mispredicted branch costs more than many comparisons. */
#include "strings.h"

#include "isa.h"

#include <stddef.h>
#include <string.h>

#if RMQ_VECTORS
#ifdef RMQ_X86
#include <immintrin.h>
#endif

#define SMALL 32 /* strings that are sorted by counting */
#define NOT_ASCII ((int64_t)UINT64_C(0x8080808080808080))
#define UNSURE (-1) /* a list that takes a closer look */
#define MOST_GUESSED 64 /* bytes that a guess is worth comparing */
#define BLOCK 48 /* bytes that are copied at once where there is room */

/* The strings of one list. */
typedef struct {
    const uint8_t *values;
    const int64_t *offsets; /* of the first string of the list */
    const int64_t *last;    /* the last offset of the column */
    int64_t n;
    int64_t shortest;       /* bytes of the shortest one */
    int64_t prefix;         /* bytes that all of them begin with, or some fewer */
    int ascii;              /* are all bytes of the keys? */
    int descents, ties;     /* is any key less than, or the same as, the one before? */
    int surrogates;         /* is there a lone one among keys that are not ASCII? */
} list_t;

/* ---- comparing two strings ---- */

/* Six bits of the byte at `at` behind the first one of a character; 0 past the end, where text that is not UTF-8 may lead. */
static uint32_t more_at(const uint8_t *s, int64_t at, int64_t end) { return at < end ? s[at] & 0x3F : 0; }

/* First (or second) UTF-16 code unit of the character at `at`; 0 where there is none. */
static uint32_t unit_at(const uint8_t *s, int64_t at, int64_t end, int second)
{
    if (at >= end)
        return 0;
    if (s[at] < 0x80)
        return s[at];
    if (s[at] < 0xE0)
        return (uint32_t)(s[at] & 0x1F) << 6 | more_at(s, at + 1, end);
    if (s[at] < 0xF0)
        return (uint32_t)(s[at] & 0x0F) << 12 | more_at(s, at + 1, end) << 6 | more_at(s, at + 2, end);
    const uint32_t point = (uint32_t)(s[at] & 0x07) << 18 | more_at(s, at + 1, end) << 12 |
                           more_at(s, at + 2, end) << 6 | more_at(s, at + 3, end);
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

/* Eight bytes of string i from the prefix on, padded with zeros where it may end early. */
INLINE uint64_t key_of(const list_t *list, int64_t i, int padded)
{
    const uint8_t *s = list->values + list->offsets[i] + list->prefix;
    const int64_t n = padded ? list->offsets[i + 1] - list->offsets[i] - list->prefix : 8;
    uint64_t key = 0;
    if (LIKELY(n >= 8))
        return rmq_ordered(s);
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
    list->shortest = shortest;
    while (shared == 8) {
        const int padded = shortest - list->prefix < 8;
        const uint64_t differ = padded ? differing_bits(list, 1) : differing_bits(list, 0);
        shared = differ ? rmq_leading_zeros_64(differ) / 8 : 8;
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
    list->ascii = !(ones & (uint64_t)NOT_ASCII);
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

/* Make the keys, and say whether the list is in order. */
static int in_order(list_t *list, uint64_t *keys)
{
    if (list->n <= 1) {
        list->shortest = list->n ? list->offsets[1] - list->offsets[0] : 1;
        return 1;
    }
    make_keys(list, keys);
    if (!list->ascii) {
        list->surrogates = has_surrogates(list);
        rank_bytes(keys, list->n);
    }
    else if (list->descents || !list->ties)
        return !list->descents;
    for (int64_t i = 1; i < list->n; i++)
        if (before(list, keys, i, i - 1))
            return 0;
    return 1;
}

/* Is a string empty or there twice? `order` is Java's, NULL where the list is in it. */
static int irregular(const list_t *list, const uint64_t *keys, const int32_t *order)
{
    for (int64_t k = 1; k < list->n && list->shortest; k++) {
        const int64_t i = order ? order[k] : k, j = order ? order[k - 1] : k - 1;
        if (keys[i] == keys[j] && compare(list, i, j) == 0)
            return 1;
    }
    return !list->shortest;
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
#define LANES 2 /* SSE2 or NEON */
#include "strings_body.h"

#ifdef RMQ_X86
#define ISA(name) avx2_##name
#define TARGET BUILT_FOR("avx2,bmi2")
#define LANES 4 /* eight are no faster */
#include "strings_body.h"
#include "strings_few.h"
#endif

/* What depends on the instruction set, and room to work in. */
typedef struct {
    int (*sort_keys)(const int64_t *keys, int n, int32_t *order);
    int (*sort_few)(const list_t *list, int64_t prefix, int32_t *order); /* NULL where that is no faster */
    int64_t prefix; /* of the last list that took a closer look: a guess for the next one */
    uint64_t *keys;
    int32_t *spare, *order;
    int32_t few[SMALL];
} work_t;

static work_t work_in(void *keys, int32_t *spare, int32_t *order)
{
    work_t work = {scalar_sort_keys, NULL, 0, keys, spare, order, {0}};
#ifdef RMQ_X86
    if (rmq_isa_level() >= RMQ_AVX2)
        work.sort_keys = avx2_sort_keys, work.sort_few = sort_few;
#endif
    return work;
}

/* Sort n <= SMALL strings from `first` on; keys without sign bit, in a room that is filled up with larger ones. */
static void sort_run(const list_t *list, const uint64_t *keys, int64_t first, int n, const work_t *work, int32_t *order)
{
    ALIGNED(64) int64_t room[SMALL];
    memcpy(room, keys + first, (size_t)n * sizeof *room);
    for (int i = n; i < SMALL; i++)
        room[i] = INT64_MAX;
    if (list->ascii && work->sort_keys(room, n, order)) {
        for (int i = 0; i < n; i++)
            order[i] += (int32_t)first;
        return;
    }
    number(order, first, n);
    insert(list, keys, order, n);
}

/* Sort by runs, then by merging them. */
static void sort_by_keys(const list_t *list, const work_t *work)
{
    const int64_t n = list->n;
    for (int64_t first = 0; first < n; first += SMALL)
        sort_run(list, work->keys, first, (int)(n - first < SMALL ? n - first : SMALL), work, work->order + first);
    for (int64_t width = SMALL; width < n; width *= 2) {
        for (int64_t first = 0; first < n; first += 2 * width) {
            const int64_t left = n - first < width ? n - first : width;
            const int64_t right = n - first - left < width ? n - first - left : width;
            merge(list, work->keys, work->order + first, left, right, work->spare + first);
        }
        memcpy(work->order, work->spare, (size_t)n * sizeof *work->order);
    }
}

/* Is the list out of order? `order` becomes Java's if that shows at once; else the keys are made, and it is NULL. */
static int out_of_order(list_t *list, work_t *work, uint8_t *odd, const int32_t **order)
{
    *odd = 0;
    if (work->sort_few && list->n <= SMALL && list->n > 1) {
        const int found = work->sort_few(list, work->prefix, work->few);
        *order = work->few;
        if (LIKELY(found != UNSURE))
            return found;
    }
    *order = NULL;
    const int moves = !in_order(list, work->keys);
    if (list->n > 1)
        work->prefix = list->prefix <= MOST_GUESSED ? list->prefix : 0;
    if (!moves && (list->ties || !list->shortest))
        *odd = (uint8_t)irregular(list, work->keys, NULL);
    return moves;
}

/* Sort a list. Returns its order, or NULL if it is in order. */
static const int32_t *sort_list(list_t *list, work_t *work, uint8_t *odd)
{
    const int32_t *order;
    if (!out_of_order(list, work, odd, &order))
        return NULL;
    if (order)
        return order;
    sort_by_keys(list, work);
    *odd = (uint8_t)irregular(list, work->keys, work->order);
    return work->order;
}

/* ---- lists ---- */

/* The list at `row` of n_lists. */
static list_t list_at(const uint8_t *values, const int64_t *offsets, const int64_t *list_offsets, int64_t row, int64_t n_lists)
{
    const int64_t first = list_offsets[row];
    return (list_t){.values = values, .offsets = offsets + first, .last = offsets + list_offsets[n_lists],
                    .n = list_offsets[row + 1] - first};
}

static void order_lists(const uint8_t *values, const int64_t *offsets, const int64_t *list_offsets, int64_t n_lists,
                       void *keys, int32_t *spare, uint8_t *odd, int32_t *out)
{
    work_t work = work_in(keys, spare, NULL);
    for (int64_t row = 0; row < n_lists; row++) {
        list_t list = list_at(values, offsets, list_offsets, row, n_lists);
        work.order = out + list_offsets[row];
        const int32_t *order = sort_list(&list, &work, odd + row);
        if (!order)
            number(work.order, 0, list.n);
        else if (order != work.order)
            memcpy(work.order, order, (size_t)list.n * sizeof *order);
    }
}

static int64_t lists_in_order(
    const uint8_t *values, const int64_t *offsets, const int64_t *list_offsets, int64_t n_lists, void *keys, uint8_t *odd)
{
    work_t work = work_in(keys, NULL, NULL);
    const int32_t *order;
    for (int64_t row = 0; row < n_lists; row++) {
        list_t list = list_at(values, offsets, list_offsets, row, n_lists);
        if (out_of_order(&list, &work, odd + row, &order))
            return row;
    }
    return n_lists;
}

/* Copy n bytes in blocks; up to BLOCK - 1 bytes more are read and written. */
INLINE void copy_blocks(uint8_t *to, const uint8_t *from, int64_t n)
{
    memcpy(to, from, BLOCK); /* nearly always enough, which the processor then knows */
    for (int64_t at = BLOCK; at < n; at += BLOCK)
        memcpy(to + at, from + at, BLOCK);
}

/* Write the strings of a list in their order from `put` on. The list before has ended there, the next one will begin where
   this one ends, and both columns end no sooner than `room` bytes from where each begins. */
static void write_list(const list_t *list, const int32_t *order, int64_t room, uint8_t *to, int64_t put, int64_t *out_offsets)
{
    const int64_t begin = list->offsets[0], size = list->offsets[list->n] - begin;
    if (!order) {
        memcpy(to, list->values + begin, (size_t)size);
        for (int64_t k = 0; k < list->n; k++)
            out_offsets[k + 1] = put + list->offsets[k + 1] - begin;
        return;
    }
    const int blocks = room >= size + BLOCK;
    for (int64_t k = 0; k < list->n; k++) {
        const int64_t from = list->offsets[order[k]], n = list->offsets[order[k] + 1] - from;
        if (LIKELY(blocks))
            copy_blocks(to, list->values + from, n);
        else
            memcpy(to, list->values + from, (size_t)n);
        to += n;
        out_offsets[k + 1] = put += n;
    }
}

static void sort_lists(const uint8_t *values, const int64_t *offsets, const int64_t *list_offsets, int64_t first,
                      int64_t n_lists, void *keys, int32_t *spare, int32_t *order, uint8_t *odd, uint8_t *out_values,
                      int64_t *out_offsets)
{
    work_t work = work_in(keys, spare, order);
    const int64_t begin = offsets[list_offsets[0]], end = offsets[list_offsets[n_lists]];
    out_offsets[0] = 0;
    for (int64_t row = 0; row < n_lists; row++) {
        list_t list = list_at(values, offsets, list_offsets, row, n_lists);
        const int32_t *moved = row < first ? NULL : sort_list(&list, &work, odd + row);
        const int64_t put = list.offsets[0] - begin;
        write_list(&list, moved, end - list.offsets[0], out_values + put, put,
                   out_offsets + (list_offsets[row] - list_offsets[0]));
    }
}

const rmq_strings_t *rmq_strings(void)
{
    static const rmq_strings_t STRINGS = {order_lists, lists_in_order, sort_lists};
    return rmq_isa_level() == RMQ_PLAIN ? NULL : &STRINGS;
}
#else
const rmq_strings_t *rmq_strings(void) { return NULL; }
#endif
