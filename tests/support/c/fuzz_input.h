/* Bytes of a fuzzer as sizes, numbers and text, for the targets beside this file. What is taken beyond the end of the bytes is 0, so
   every input means something. All arrays are on the heap and end where their data ends. */
#ifndef FUZZ_INPUT_H
#define FUZZ_INPUT_H

#include "isa.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const uint8_t *at;
    size_t left;
    uint64_t state; /* of numbers that are drawn; 0 where the bytes themselves say each */
} input_t;

/* Strings: string i is values[offsets[i] .. offsets[i + 1]). */
typedef struct {
    uint8_t *values;
    int64_t *offsets, n;
} column_t;

#define CHECK(condition, ...) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s: ", rmq_isa()); \
            fprintf(stderr, __VA_ARGS__); \
            fputc('\n', stderr); \
            abort(); \
        } \
    } while (0)

/* What follows is done under every instruction set of the machine that has C of its own: all but the plain loops of Cython. */
#define EVERY_ISA \
    for (int isa_ = 0; rmq_isa_available(isa_) && rmq_isa_force(rmq_isa_available(isa_)) == 0; isa_++) \
        if (rmq_isa_level() != RMQ_PLAIN)

static inline uint64_t take(input_t *in, int n_bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < n_bytes && in->left; i++, in->left--)
        value |= (uint64_t)*in->at++ << 8 * i;
    return value;
}

/* From here on four bytes decide all numbers, if the next one is odd: large arrays need no large inputs. */
static inline void maybe_draw(input_t *in) { in->state = take(in, 1) & 1 ? take(in, 4) | UINT64_C(1) << 40 : 0; }

static inline uint64_t number(input_t *in, int n_bytes)
{
    if (!in->state)
        return take(in, n_bytes);
    in->state ^= in->state << 13, in->state ^= in->state >> 7, in->state ^= in->state << 17;
    return in->state * UINT64_C(0x2545F4914F6CDD1D) >> (64 - 8 * n_bytes);
}

static inline int64_t below(input_t *in, int64_t n) { return n < 2 ? 0 : (int64_t)number(in, n <= 256 ? 1 : 4) % n; }

/* A size up to a bound: small ones, those around which vectors, counters and tables end, and any share of the bound. */
static inline int64_t size_of(input_t *in, int64_t most)
{
    static const int16_t edges[] = {95, 96, 97, 127, 128, 129, 191, 192, 193, 254, 255, 256, 257, 511, 512, 513};
    const int64_t byte = (int64_t)number(in, 1);
    const int64_t n = byte < 80 ? byte : byte < 112 ? edges[byte % 16] : most * (byte - 111) / 144;
    return n < most ? n : most;
}

static inline void *room(int64_t n, size_t size) { return malloc((size_t)n * size); }

static inline void free_column(column_t column) { free(column.values), free(column.offsets); }

static inline const uint8_t *text_of(const column_t *column, int64_t i) { return column->values + column->offsets[i]; }

static inline int64_t length_of(const column_t *column, int64_t i) { return column->offsets[i + 1] - column->offsets[i]; }

/* n strings of up to `longest` bytes, any at all; the first begins behind a few bytes that are not its own. */
static inline column_t column_of(input_t *in, int64_t n, int64_t longest)
{
    column_t column = {NULL, room(n + 1, sizeof(int64_t)), n};
    column.offsets[0] = below(in, 8);
    for (int64_t i = 0; i < n; i++)
        column.offsets[i + 1] = column.offsets[i] + size_of(in, longest);
    column.values = room(column.offsets[n], 1);
    for (int64_t i = 0; i < column.offsets[n]; i++)
        column.values[i] = (uint8_t)number(in, 1);
    return column;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
