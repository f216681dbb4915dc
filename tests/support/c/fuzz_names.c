/* Hashes, numbers and slots of texts against the plain meaning. Bytes that are no text have some hash, the same wherever they stand. */
#include "fuzz_input.h"
#include "names.h"
#include "plain_names.h"

enum { MOST_NAMES = 40, LONGEST = 200 };

/* A code point: ASCII, any other, or one beside a boundary of the encodings; surrogates stand alone. */
static uint32_t code_point(input_t *in)
{
    static const uint32_t edges[] = {0, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF};
    const uint32_t kind = (uint32_t)number(in, 1);
    return kind < 128 ? kind : kind < 200 ? edges[kind % 14] : (uint32_t)number(in, 4) % 0x110000;
}

static void texts(input_t *in)
{
    const int64_t n = below(in, MOST_NAMES);
    column_t column = {NULL, room(n + 1, sizeof(int64_t)), n};
    uint8_t *all = room(n * LONGEST * 4 + 8, 1);
    uint32_t *hashes = room(n, sizeof *hashes), *numbers = room(n, sizeof *numbers);
    int32_t *out = room(n, sizeof *out);
    memset(all, 'x', 8);
    column.offsets[0] = below(in, 8);
    for (int64_t i = 0; i < n; i++) {
        column.offsets[i + 1] = column.offsets[i];
        hashes[i] = 0;
        for (int64_t left = size_of(in, LONGEST); left > 0; left--)
            column.offsets[i + 1] += plain_character(code_point(in), all + column.offsets[i + 1], &hashes[i]);
    }
    column.values = room(column.offsets[n], 1);
    memcpy(column.values, all, (size_t)column.offsets[n]);
    rmq_hash_names(column.values, column.offsets, n, out);
    rmq_number_names(column.values, column.offsets, n, numbers);
    for (int64_t i = 0; i < n; i++) {
        CHECK(out[i] == (int32_t)hashes[i], "text %d: hash %d, not %d", (int)i, out[i], (int32_t)hashes[i]);
        CHECK(numbers[i] == plain_number(hashes[i]), "text %d: number %u", (int)i, numbers[i]);
    }
    free_column(column), free(all), free(hashes), free(numbers), free(out);
}

/* A part of a pattern, without the digits that it may not have beside the number. */
static int64_t pattern_part(input_t *in, uint8_t *part)
{
    const int64_t n = below(in, 4);
    for (int64_t i = 0; i < n; i++) {
        part[i] = (uint8_t)number(in, 1);
        part[i] = part[i] >= '0' && part[i] <= '9' ? '-' : part[i];
    }
    return n;
}

/* Ids, some with an instance name that ends as the pattern says. */
static void slots(input_t *in)
{
    uint8_t before[4], after[4];
    const int64_t n_before = pattern_part(in, before), n_after = pattern_part(in, after), n = below(in, MOST_NAMES);
    column_t column = {NULL, room(n + 1, sizeof(int64_t)), n};
    uint8_t *all = room(n * (LONGEST + 40) + 8, 1);
    int32_t *out = room(n, sizeof *out);
    memset(all, '@', 8);
    int64_t at = column.offsets[0] = below(in, 8);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t left = size_of(in, LONGEST); left > 0; left--)
            all[at++] = (uint8_t)number(in, 1);
        if (number(in, 1) & 1) {
            all[at++] = '@', all[at++] = 'w';
            memcpy(all + at, before, (size_t)n_before), at += n_before;
            at += sprintf((char *)all + at, "%0*d", (int)below(in, 4), (int)(number(in, 4) >> below(in, 32)) & INT32_MAX);
            memcpy(all + at, after, (size_t)n_after), at += n_after;
            if (number(in, 1) & 1)
                all[at++] = '@', all[at++] = (uint8_t)number(in, 1);
        }
        column.offsets[i + 1] = at;
    }
    column.values = room(at, 1);
    memcpy(column.values, all, (size_t)at);
    rmq_find_slots(column.values, column.offsets, n, before, n_before, after, n_after, out);
    for (int64_t i = 0; i < n; i++) {
        const int32_t slot = plain_slot(text_of(&column, i), length_of(&column, i), before, n_before, after, n_after);
        CHECK(out[i] == slot, "id %d, '%.*s': slot %d, not %d", (int)i, (int)length_of(&column, i), text_of(&column, i), out[i], slot);
    }
    free_column(column), free(all), free(out);
}

/* Each alone, in memory that ends with it, and all of them in a row. */
static void bytes(input_t *in)
{
    const column_t column = column_of(in, below(in, MOST_NAMES), LONGEST);
    int32_t *out = room(column.n, sizeof *out), one;
    rmq_hash_names(column.values, column.offsets, column.n, out);
    for (int64_t i = 0; i < column.n; i++) {
        const int64_t offsets[] = {0, length_of(&column, i)};
        uint8_t *alone = room(offsets[1], 1);
        memcpy(alone, text_of(&column, i), (size_t)offsets[1]);
        rmq_hash_names(alone, offsets, 1, &one);
        CHECK(one == out[i], "bytes %d: alone %d, in a row %d", (int)i, one, out[i]);
        free(alone);
    }
    free_column(column), free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const kinds[])(input_t *) = {texts, slots, bytes};
    input_t in = {data, size, 0};
    const int kind = (int)take(&in, 1) % 3;
    maybe_draw(&in);
    kinds[kind](&in);
    return 0;
}
