/* Stretches of bytes, compared and digested by eights: what tells rows apart. Nothing outside a stretch is read. */
#ifndef RMQALLOC_ROWS_H
#define RMQALLOC_ROWS_H

#include <stdint.h>
#include <string.h>

static inline uint64_t rmq_eight(const uint8_t *s)
{
    uint64_t word;
    memcpy(&word, s, sizeof word);
    return word;
}

static inline uint32_t rmq_four(const uint8_t *s)
{
    uint32_t word;
    memcpy(&word, s, sizeof word);
    return word;
}

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

/* Both halves of the product, folded. */
static inline uint64_t rmq_folded(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
    const unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
    const uint64_t product = (a ^ (b >> 32 | b << 32)) * UINT64_C(0x9E3779B97F4A7C15);
    return product ^ product >> 32;
#endif
}

#define RMQ_ODD_1 UINT64_C(0x9E3779B97F4A7C15) /* odd numbers with bits in no order */
#define RMQ_ODD_2 UINT64_C(0xD6E8FEB86659FD93)

/* Digest of a number and a stretch. Rows that collide are compared in full, so it need only be quick and even. The products
   are summed: none waits for another, and each has a key of its own, so that their order counts. */
static inline uint64_t rmq_digest(const uint8_t *s, int64_t n, uint64_t number)
{
    const uint64_t h = (number + 1) * RMQ_ODD_1 ^ (uint64_t)n * RMQ_ODD_2;
    uint64_t first, last, sum = 0, key = h;
    if (n <= 16) {
        rmq_ends(s, n, &first, &last);
        return rmq_folded(first ^ h, last ^ RMQ_ODD_2);
    }
    const uint8_t *tail = s + n - 16;
    for (; s < tail; s += 16, key += RMQ_ODD_1)
        sum += rmq_folded(rmq_eight(s) ^ key, rmq_eight(s + 8) ^ RMQ_ODD_2);
    return rmq_folded(rmq_eight(tail) ^ sum, rmq_eight(tail + 8) ^ key);
}

/* Bring a place that will be written closer. */
static inline void rmq_prefetch(const void *at) { __builtin_prefetch(at, 1); }

#endif
