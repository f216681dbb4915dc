/* Names as numbers; see names.h. */
#include "names.h"

#include "mix.h"

#include <string.h>

#define MOST_DIGITS 9

/* Goes on over ASCII, four characters at a time, for each step of the sum waits for the one before. */
static inline uint32_t hashed_ascii(uint32_t hash, const uint8_t **text, const uint8_t *end)
{
    const uint8_t *s = *text;
    uint32_t four;
    for (; end - s >= 4; s += 4) {
        memcpy(&four, s, 4);
        if (four & 0x80808080u)
            break;
        hash = hash * (31u * 31 * 31 * 31) + s[0] * (31u * 31 * 31) + s[1] * (31u * 31) + s[2] * 31u + s[3];
    }
    for (; s < end && *s < 0x80; s++)
        hash = hash * 31 + *s;
    *text = s;
    return hash;
}

/* The code point at s, and how many bytes it takes; what is cut off is never read beyond its end. */
static inline uint32_t code_point(const uint8_t *s, const uint8_t *end, int *size)
{
    static const uint8_t SIZES[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 4};
    const int n = SIZES[*s >> 4];
    *size = n <= end - s ? n : 1;
    uint32_t code = *size == 1 ? *s : *s & (0xFFu >> (n + 1));
    for (int i = 1; i < *size; i++)
        code = code << 6 | (s[i] & 0x3F);
    return code;
}

static uint32_t hash_of(const uint8_t *s, const uint8_t *end)
{
    uint32_t hash = hashed_ascii(0, &s, end);
    while (s < end) {
        int size;
        const uint32_t code = code_point(s, end, &size);
        if (code >= 0x10000) { /* Java counts its two halves */
            hash = hash * 31 + (0xD800 + ((code - 0x10000) >> 10));
            hash = hash * 31 + (0xDC00 + (code & 0x3FF));
        } else {
            hash = hash * 31 + code;
        }
        s += size;
        hash = hashed_ascii(hash, &s, end);
    }
    return hash;
}

void rmq_hash_names(const uint8_t *values, const int64_t *offsets, int64_t n, int32_t *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = (int32_t)hash_of(values + offsets[i], values + offsets[i + 1]);
}

void rmq_number_names(const uint8_t *values, const int64_t *offsets, int64_t n, uint32_t *out)
{
    for (int64_t i = 0; i < n; i++) {
        const int32_t hash = (int32_t)hash_of(values + offsets[i], values + offsets[i + 1]);
        out[i] = (uint32_t)(rmq_mix((uint64_t)(int64_t)hash + RMQ_GOLDEN) >> 32);
    }
}

static inline int ends_in(const uint8_t *begin, const uint8_t *end, const uint8_t *text, int64_t n)
{
    return end - begin >= n && memcmp(end - n, text, (size_t)n) == 0;
}

void rmq_find_slots(const uint8_t *values, const int64_t *offsets, int64_t n, const uint8_t *before, int64_t n_before,
                    const uint8_t *after, int64_t n_after, int32_t *out)
{
    for (int64_t i = 0; i < n; i++) {
        const uint8_t *s = values + offsets[i], *end = values + offsets[i + 1];
        out[i] = -1;
        const uint8_t *at = memchr(s, '@', (size_t)(end - s));
        if (at == NULL)
            continue;
        const uint8_t *begin = at + 1, *unit = memchr(begin, '@', (size_t)(end - begin));
        const uint8_t *stop = unit == NULL ? end : unit;
        if (!ends_in(begin, stop, after, n_after))
            continue;
        stop -= n_after;
        const uint8_t *first = stop;
        while (first > begin && first[-1] >= '0' && first[-1] <= '9')
            first--;
        const int64_t n_digits = stop - first;
        if (n_digits < 1 || n_digits > MOST_DIGITS || (*first == '0' && n_digits > 1)
            || !ends_in(begin, first, before, n_before))
            continue;
        int32_t slot = 0;
        for (; first < stop; first++)
            slot = slot * 10 + (*first - '0');
        out[i] = slot;
    }
}
