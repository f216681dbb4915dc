/* The digest of a row as rows.h promises it, over numbers of 128 bits, for whoever compares with it. */
#ifndef PLAIN_ROWS_H
#define PLAIN_ROWS_H

#include <stdint.h>

typedef unsigned __int128 wide_t;

static uint64_t plain_word(const uint8_t *s, int64_t n)
{
    uint64_t word = 0;
    for (int64_t i = n - 1; i >= 0; i--)
        word = word << 8 | s[i];
    return word;
}

static wide_t plain_nh(const uint8_t *s, int64_t n, const uint64_t *secret)
{
    wide_t sum = 0;
    for (int64_t at = 0;; at += 16, secret += 2) {
        const int64_t from = at < n - 16 ? at : n - 16;
        sum += (wide_t)(plain_word(s + from, 8) + secret[0]) * (plain_word(s + from + 8, 8) + secret[1]);
        if (at >= n - 16)
            return sum;
    }
}

static wide_t plain_polynomial(const uint8_t *s, int64_t n, const uint64_t *secret)
{
    const wide_t prime = ((wide_t)1 << 61) - 1, part = ((wide_t)1 << 43) - 1;
    wide_t value = 0;
    for (int64_t start = 0; start < n; start += 1024) {
        const int64_t end = start + 1024 < n ? start + 1024 : n, first = start < end - 17 ? start : end - 17;
        const wide_t made = plain_nh(s + first, end - first, secret + 8), parts[] = {made & part, made >> 43 & part, made >> 86};
        for (int i = 0; i < 3; i++)
            value = (value * (secret[7] >> 3) + parts[i]) % prime;
    }
    return value;
}

static uint64_t plain_digest(const uint8_t *s, int64_t n, uint32_t number, const uint64_t *secret)
{
    uint64_t low, high = 0;
    if (n <= 16) {
        const int64_t half = n >= 8 ? 8 : 4;
        low = n >= 4 ? plain_word(s, half) : n ? s[0] | (uint64_t)s[n / 2] << 8 | (uint64_t)s[n - 1] << 16 : 0;
        high = n >= 4 ? plain_word(s + n - half, half) : 0;
    } else {
        const wide_t row = n <= 1024 ? plain_nh(s, n, secret + 8) : plain_polynomial(s, n, secret);
        low = (uint64_t)row, high = (uint64_t)(row >> 64);
    }
    const uint32_t six[] = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32), number, (uint32_t)n};
    uint64_t sum = secret[0];
    for (int i = 0; i < 6; i++)
        sum += secret[1 + i] * six[i];
    uint32_t mixed = (uint32_t)(sum >> 32);
    mixed = (mixed ^ mixed >> 15) * 0x2c1b3c6du;
    mixed = (mixed ^ mixed >> 13) * 0x297a2d39u;
    return (uint64_t)(mixed ^ mixed >> 15) << 32;
}

#endif
