/* Vocabulary of plain C, for any machine: one lane. */
#define TARGET
#define LANES 1
typedef uint32_t NAME(vector);
typedef uint32_t NAME(memory);

#define V NAME(vector)
#define BARRIER(x) OPAQUE("r", x)
#define ROTATE(x, s) ((x) << (s) | (x) >> (32 - (s)))
#define F1(b, c, d) ((d) ^ ((b) & ((c) ^ (d))))
#define F2(b, c, d) ((c) ^ ((d) & ((b) ^ (c))))
#define F3(b, c, d) ((b) ^ (c) ^ (d))
#define F4(b, c, d) ((c) ^ ((b) | ~(d)))
#define TIMES(x, n) ((x) * (n))
#define ADD_WHERE(sum, x, y, w) ((sum) + ((x) == (y) ? (w) : 0))
#define ABOVE(x, y) ((x) > (y) ? UINT32_MAX : 0)
#define WIDEN(p) ((V) * (p))
#define PICK_INDEX(index) (index)
#define PICK(x, index) ((void)(index), (x))

INLINE V NAME(reverse_bytes)(V x)
{
    return x << 24 | (x & 0xff00) << 8 | (x >> 8 & 0xff00) | x >> 24;
}

INLINE void NAME(copy)(uint8_t *to, const uint8_t *from, int64_t n)
{
    copy_pieces(to, from, n);
}

INLINE void NAME(put)(uint8_t *to, const uint8_t *from, int64_t n)
{
    memset(to + (n & 64), 0, 64);
    copy_pieces(to, from, n);
}

/* Word w of block l to words[w * stride + l]; the only place where bytes become words, in either byte order. */
INLINE void NAME(transpose)(const uint8_t *const *blocks, uint32_t *words, const int stride)
{
    const uint8_t *block = blocks[0];
    for (int w = 0; w < 16; w++, block += 4)
        words[w * stride] = block[0] | (uint32_t)block[1] << 8 | (uint32_t)block[2] << 16 | (uint32_t)block[3] << 24;
}

#include "md5_keys.h"
