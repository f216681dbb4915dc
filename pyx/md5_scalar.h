/* Vocabulary of plain C, for any machine: one lane, two streams. */
#define ISA scalar
#define TARGET
#define LANES 1
#define STREAMS 2
typedef uint32_t vector_scalar;
typedef uint32_t memory_scalar;

#define V vector_scalar
#ifdef __GNUC__
#define BARRIER(x) __asm__("" : "+r"(x))
#else
#define BARRIER(x)
#endif
#define ROTATE(x, s) ((x) << (s) | (x) >> (32 - (s)))
#define F1(b, c, d) ((d) ^ ((b) & ((c) ^ (d))))
#define F2(b, c, d) ((c) ^ ((d) & ((b) ^ (c))))
#define F3(b, c, d) ((b) ^ (c) ^ (d))
#define F4(b, c, d) ((c) ^ ((b) | ~(d)))
#define WHERE_EQUAL(x, y, w) ((x) == (y) ? (w) : 0)
#define ABOVE(x, y) ((x) > (y) ? UINT32_MAX : 0)
#define PICK_INDEX(index) (index)
#define PICK(x, index) ((void)(index), (x))

ALWAYS_INLINE V NAME_OF(reverse_bytes, scalar)(V x)
{
    return x << 24 | (x & 0xff00) << 8 | (x >> 8 & 0xff00) | x >> 24;
}

ALWAYS_INLINE void NAME_OF(put, scalar)(uint8_t *to, const uint8_t *from, int64_t n) { put_pieces(to, from, n); }

/* Word w of block l to words[w * stride + l]; the only place where bytes become words, in either byte order. */
ALWAYS_INLINE void NAME_OF(transpose, scalar)(const uint8_t *const *blocks, uint32_t *words, const int stride)
{
    const uint8_t *block = blocks[0];
    for (int w = 0; w < 16; w++, block += 4)
        words[w * stride] = block[0] | (uint32_t)block[1] << 8 | (uint32_t)block[2] << 16 | (uint32_t)block[3] << 24;
}

#include "md5_lanes.h"
