/* Java's order of text, unit by unit, for whoever compares with it. */
#ifndef PLAIN_STRINGS_H
#define PLAIN_STRINGS_H

#include <stdint.h>
#include <stdlib.h>

/* The next UTF-16 code units of some text of UTF-8, with lone surrogates in their 3-byte form; returns how many there are. */
static int next_units(const uint8_t **text, uint32_t *units)
{
    const uint8_t *s = *text;
    const int more = *s < 0x80 ? 0 : *s < 0xE0 ? 1 : *s < 0xF0 ? 2 : 3;
    uint32_t point = *s++ & (0x7Fu >> (more + (more > 0)));
    for (int k = 0; k < more; k++)
        point = point << 6 | (*s++ & 0x3F);
    *text = s;
    units[0] = point < 0x10000 ? point : 0xD7C0 + (point >> 10);
    units[1] = 0xDC00 + (point & 0x3FF);
    return point < 0x10000 ? 1 : 2;
}

/* Code units of a string, as many as returned; there is room for one for each byte. */
static int64_t units_of(const uint8_t *s, const uint8_t *end, uint32_t *units)
{
    int64_t n = 0;
    while (s < end) {
        uint32_t two[2];
        const int more = next_units(&s, two);
        for (int i = 0; i < more; i++)
            units[n++] = two[i];
    }
    return n;
}

/* Negative, 0 or positive as the first comes before the other, is the same, or comes behind. */
static int compare_text(const uint8_t *a, int64_t n_a, const uint8_t *b, int64_t n_b)
{
    uint32_t *one = malloc(((size_t)n_a + (size_t)n_b + 1) * sizeof *one), *other = one + n_a;
    const int64_t m = units_of(a, a + n_a, one), n = units_of(b, b + n_b, other);
    int64_t at = 0;
    while (at < m && at < n && one[at] == other[at])
        at++;
    const int sign = at < m && at < n ? (one[at] > other[at]) - (one[at] < other[at]) : (m > n) - (m < n);
    free(one);
    return sign;
}

#endif
