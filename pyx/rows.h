/* Stretches of bytes, compared and digested by eights: what tells rows apart. Nothing outside a stretch is read. */
#ifndef RMQALLOC_ROWS_H
#define RMQALLOC_ROWS_H

#include "compiler.h"

#include <stdint.h>
#include <string.h>

/* Two numbers that together tell stretches of one length of at most 16 bytes apart: their ends, which may overlap. */
static inline void rmq_ends(const uint8_t *s, int64_t n, uint64_t *first, uint64_t *last)
{
    if (n >= 8)
        *first = rmq_eight(s), *last = rmq_eight(s + n - 8);
    else if (n >= 4)
        *first = rmq_four(s), *last = rmq_four(s + n - 4);
    else
        *first = n > 0 ? s[0] | (uint64_t)s[n / 2] << 8 | (uint64_t)s[n - 1] << 16 : 0, *last = 0;
}

static inline int rmq_same(const uint8_t *a, const uint8_t *b, int64_t n)
{
    uint64_t first_a, first_b, last_a, last_b;
    if (n > 16)
        return rmq_eight(a) == rmq_eight(b) && memcmp(a + 8, b + 8, (size_t)n - 8) == 0;
    rmq_ends(a, n, &first_a, &last_a);
    rmq_ends(b, n, &first_b, &last_b);
    return first_a == first_b && last_a == last_b;
}

/* ---- digests ----

   Rows come from outside, and who knows the digest of a row can write thousands of rows that share one: each would be compared
   with all before it. So the digest has a secret, drawn by every process, and its quality rests on the secret alone: for ANY
   two rows that differ, chosen by whoever knows this file, at most about one secret in 2^32 gives them one digest. Rows that
   collide under every secret, or under many, do not exist:

   - Up to 16 bytes a row is four 32-bit numbers, with its length and its number six. Their sum, each times a
     64-bit secret of its own (multilinear hashing), has upper 32 bits that are pairwise independent.
   - Longer rows are first brought to 128 bits by NH, as in UMAC: the sum mod 2^128 of (a + k)(b + l) over their words by pairs,
     k and l being secrets of that place; one secret in 2^64 brings two rows of one length to the same sum. A row of more than a
     stripe is the values of a polynomial in one secret over what NH makes of its stripes, mod 2^61 - 1.
   - What comes out is mixed by steps that can be undone, which bring no two digests together, but tear neighbours apart: in
     a table that is probed from place to place, runs of neighbours would make long ways.

   Only the upper half of a digest is filled. */
#define RMQ_STRIPE 1024 /* bytes */
#define RMQ_PLACES 8    /* where in the secret NH's words begin: after one number that is added, six factors and the polynomial's */
#define RMQ_SECRET (RMQ_PLACES + RMQ_STRIPE / 8)

typedef struct {
    uint64_t low, high;
} rmq_pair_t;

/* sum + a * b, mod 2^128. */
static inline rmq_pair_t rmq_add_product(rmq_pair_t sum, uint64_t a, uint64_t b)
{
#ifdef RMQ_INT128
    const rmq_wide_t all = ((rmq_wide_t)sum.high << 64 | sum.low) + (rmq_wide_t)a * b;
    return (rmq_pair_t){(uint64_t)all, (uint64_t)(all >> 64)};
#else
    const uint64_t low = sum.low + a * b;
    return (rmq_pair_t){low, sum.high + rmq_upper_product(a, b) + (low < sum.low)};
#endif
}

/* NH of 16 < n <= RMQ_STRIPE bytes; of the last 16 some may have been there before. */
static inline rmq_pair_t rmq_nh(const uint8_t *s, int64_t n, const uint64_t *secret)
{
    const uint8_t *tail = s + n - 16;
    rmq_pair_t even = {0, 0}, odd = {0, 0}; /* neither sum waits for the other */
    for (; s + 16 < tail; s += 32, secret += 4) {
        even = rmq_add_product(even, rmq_eight(s) + secret[0], rmq_eight(s + 8) + secret[1]);
        odd = rmq_add_product(odd, rmq_eight(s + 16) + secret[2], rmq_eight(s + 24) + secret[3]);
    }
    if (s < tail) {
        odd = rmq_add_product(odd, rmq_eight(s) + secret[0], rmq_eight(s + 8) + secret[1]);
        secret += 2;
    }
    even = rmq_add_product(even, rmq_eight(tail) + secret[0], rmq_eight(tail + 8) + secret[1]);
    even.low += odd.low;
    even.high += odd.high + (even.low < odd.low);
    return even;
}

/* value * point + next mod 2^61 - 1, not always below it; value and point are below 2^62. */
static inline uint64_t rmq_horner(uint64_t value, uint64_t point, uint64_t next)
{
    const uint64_t prime = (UINT64_C(1) << 61) - 1;
    const rmq_pair_t product = rmq_add_product((rmq_pair_t){next, 0}, value, point);
    const uint64_t sum = (product.low & prime) + (product.low >> 61 | product.high << 3);
    return (sum & prime) + (sum >> 61);
}

/* A row of more than a stripe: each but the last is whole, and the last has more than 16 bytes and begins 16 early, if need be. */
static inline rmq_pair_t rmq_long(const uint8_t *s, int64_t n, const uint64_t *secret)
{
    const uint64_t third = (UINT64_C(1) << 43) - 1, point = secret[7] >> 3;
    uint64_t value = 0;
    for (int64_t size; n > 0; s += size, n -= size) {
        size = n < RMQ_STRIPE ? n : RMQ_STRIPE;
        const int64_t back = size > 16 ? 0 : 17 - size;
        const rmq_pair_t sum = rmq_nh(s - back, size + back, secret + RMQ_PLACES);
        value = rmq_horner(value, point, sum.low & third);
        value = rmq_horner(value, point, (sum.low >> 43 | sum.high << 21) & third);
        value = rmq_horner(value, point, sum.high >> 22);
    }
    return (rmq_pair_t){value % ((UINT64_C(1) << 61) - 1), 0};
}

/* Digest of a number and a stretch, by RMQ_SECRET words of secret. */
static inline uint64_t rmq_digest(const uint8_t *s, int64_t n, uint32_t number, const uint64_t *secret)
{
    rmq_pair_t row;
    if (n <= 16)
        rmq_ends(s, n, &row.low, &row.high);
    else
        row = n <= RMQ_STRIPE ? rmq_nh(s, n, secret + RMQ_PLACES) : rmq_long(s, n, secret);
    const uint64_t sum = secret[0] + secret[1] * (uint32_t)row.low + secret[2] * (row.low >> 32) +
                         secret[3] * (uint32_t)row.high + secret[4] * (row.high >> 32) + secret[5] * number +
                         secret[6] * (uint64_t)n;
    uint32_t mixed = (uint32_t)(sum >> 32);
    mixed = (mixed ^ mixed >> 15) * 0x2c1b3c6du;
    mixed = (mixed ^ mixed >> 13) * 0x297a2d39u;
    return (uint64_t)(mixed ^ mixed >> 15) << 32;
}

/* Bring a place that will be written closer. */
static inline void rmq_prefetch(const void *at) { ASK_TO_WRITE(at, 0); }

#endif
