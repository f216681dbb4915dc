/* Java's hash and the slots of client ids as their pages word them, for whoever compares with them. */
#ifndef PLAIN_NAMES_H
#define PLAIN_NAMES_H

#include <stdint.h>
#include <string.h>

/* Write a code point, surrogates too, and go on hashing its UTF-16 code units. */
static int64_t plain_character(uint32_t code, uint8_t *to, uint32_t *hash)
{
    if (code >= 0x10000) {
        *hash = *hash * 31 + (0xD7C0 + (code >> 10));
        *hash = *hash * 31 + (0xDC00 + (code & 0x3FF));
    } else {
        *hash = *hash * 31 + code;
    }
    if (code < 0x80) {
        to[0] = (uint8_t)code;
        return 1;
    }
    const int n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const uint8_t lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (int i = n - 1; i > 0; i--, code >>= 6)
        to[i] = 0x80 | (code & 0x3F);
    to[0] = lead[n] | (uint8_t)code;
    return n;
}

static uint32_t plain_number(uint32_t hash)
{
    uint64_t z = (uint64_t)(int64_t)(int32_t)hash + UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return (uint32_t)((z ^ z >> 31) >> 32);
}

static int64_t plain_find(const uint8_t *s, int64_t from, int64_t n, uint8_t wanted)
{
    while (from < n && s[from] != wanted)
        from++;
    return from;
}

/* The part between the first '@' and the second is to end in `before`, a number of at most nine digits without leading zeros, and
   `after`; there is no digit where these two meet the number. */
static int32_t plain_slot(const uint8_t *s, int64_t n, const uint8_t *before, int64_t n_before, const uint8_t *after, int64_t n_after)
{
    const int64_t at = plain_find(s, 0, n, '@'), begin = at + 1;
    if (at == n)
        return -1;
    int64_t end = plain_find(s, begin, n, '@'), value = 0, n_digits = 0;
    for (int64_t i = n_after; i > 0; i--, end--)
        if (end <= begin || s[end - 1] != after[i - 1])
            return -1;
    for (int64_t unit = 1; end > begin && s[end - 1] >= '0' && s[end - 1] <= '9'; end--, n_digits++, unit *= 10) {
        if (n_digits == 9)
            return -1;
        value += unit * (s[end - 1] - '0');
    }
    if (n_digits == 0 || (s[end] == '0' && n_digits > 1))
        return -1;
    for (int64_t i = n_before; i > 0; i--, end--)
        if (end <= begin || s[end - 1] != before[i - 1])
            return -1;
    return (int32_t)value;
}

#endif
