/* Vocabulary of NEON (64-bit ARM, which always has it): 4 lanes. */
#define TARGET
#define LANES 4
VECTOR(uint32_t, NAME(vector), 16);
UNALIGNED_VECTOR(uint32_t, NAME(memory), 16);

#define V NAME(vector)
#define M(x) ((uint32x4_t)(x))
#define BARRIER(x) OPAQUE("w", x)
#define ROTATE(x, s) ((V)vsriq_n_u32(vshlq_n_u32(M(x), s), M(x), 32 - (s)))
#define F1(b, c, d) ((V)vbslq_u32(M(b), M(c), M(d)))
#define F2(b, c, d) ((V)vbslq_u32(M(d), M(b), M(c)))
#define F3(b, c, d) ((b) ^ (c) ^ (d))
#define F4(b, c, d) ((c) ^ (V)vornq_u32(M(b), M(d)))
#define TIMES(x, n) ((x) * (n))
#define ADD_WHERE(sum, x, y, w) ((sum) + ((V)((x) == (y)) & (w)))
#define ABOVE(x, y) ((V)((x) > (y)))
#define WIDEN(p) ((V)vmovl_u16(vget_low_u16(vmovl_u8(vreinterpret_u8_u32(vld1_dup_u32((const uint32_t *)(p)))))))
/* The table look-up counts bytes. */
#define PICK_INDEX(index) ((index) * 0x04040404u + 0x03020100u)
#define PICK(x, index) ((V)vqtbl1q_u8((uint8x16_t)(x), (uint8x16_t)(index)))

INLINE V NAME(reverse_bytes)(V x) { return (V)vrev32q_u8((uint8x16_t)(x)); }

INLINE void NAME(copy)(uint8_t *to, const uint8_t *from, int64_t n)
{
    copy_pieces(to, from, n);
}

INLINE void NAME(put)(uint8_t *to, const uint8_t *from, int64_t n)
{
    memset(to + (n & 64), 0, 64);
    copy_pieces(to, from, n);
}

/* Word w of block l to words[w * stride + l]. */
INLINE void NAME(transpose)(const uint8_t *const *blocks, uint32_t *words, const int stride)
{
    for (int w = 0; w < 16; w += 4) {
        uint32x4_t x[4];
        for (int i = 0; i < 4; i++)
            x[i] = vreinterpretq_u32_u8(vld1q_u8(blocks[i] + 4 * w));
        uint64x2_t even_low = vreinterpretq_u64_u32(vtrn1q_u32(x[0], x[1]));
        uint64x2_t odd_low = vreinterpretq_u64_u32(vtrn2q_u32(x[0], x[1]));
        uint64x2_t even_high = vreinterpretq_u64_u32(vtrn1q_u32(x[2], x[3]));
        uint64x2_t odd_high = vreinterpretq_u64_u32(vtrn2q_u32(x[2], x[3]));
        vst1q_u32(words + w * stride, vreinterpretq_u32_u64(vtrn1q_u64(even_low, even_high)));
        vst1q_u32(words + (w + 1) * stride, vreinterpretq_u32_u64(vtrn1q_u64(odd_low, odd_high)));
        vst1q_u32(words + (w + 2) * stride, vreinterpretq_u32_u64(vtrn2q_u64(even_low, even_high)));
        vst1q_u32(words + (w + 3) * stride, vreinterpretq_u32_u64(vtrn2q_u64(odd_low, odd_high)));
    }
}

#include "md5_keys.h"
