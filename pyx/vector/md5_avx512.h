/* Vocabulary of AVX-512: 16 lanes. */
#define TARGET BUILT_FOR("avx512f,avx512bw,avx512vl,bmi2")
#define LANES 16
VECTOR(uint32_t, NAME(vector), 64);
UNALIGNED_VECTOR(uint32_t, NAME(memory), 64);

#define V NAME(vector)
#define M(x) ((__m512i)(x))
#define BARRIER(x) OPAQUE("v", x)
#define ROTATE(x, s) ((V)_mm512_rol_epi32(M(x), s))
#define F1(b, c, d) ((V)_mm512_ternarylogic_epi32(M(b), M(c), M(d), 0xca)) /* b ? c : d */
#define F2(b, c, d) ((V)_mm512_ternarylogic_epi32(M(d), M(b), M(c), 0xca)) /* d ? b : c */
#define F3(b, c, d) ((V)_mm512_ternarylogic_epi32(M(b), M(c), M(d), 0x96)) /* b ^ c ^ d */
#define F4(b, c, d) ((V)_mm512_ternarylogic_epi32(M(b), M(c), M(d), 0x39)) /* c ^ (b | ~d) */
#define TIMES(x, n) ((V)_mm512_madd_epi16(M(x), _mm512_set1_epi32(n))) /* of numbers below 32 768 */
#define ADD_WHERE(sum, x, y, w) \
    ((V)_mm512_mask_add_epi32(M(sum), _mm512_cmpeq_epi32_mask(M(x), M(y)), M(sum), M(w))) /* x == y ? sum + w : sum */
#define ABOVE(x, y) ((V)((x) > (y)))
#define WIDEN(p) ((V)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(p))))
#define PICK_INDEX(index) (index)
#define PICK(x, index) ((V)_mm512_permutexvar_epi32(M(index), M(x)))

TARGET INLINE V NAME(reverse_bytes)(V x)
{
    const __m128i order = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
    return (V)_mm512_shuffle_epi8(M(x), _mm512_broadcast_i32x4(order));
}

/* Copy n < 128 bytes; some that follow may be spoilt. */
TARGET INLINE void NAME(copy)(uint8_t *to, const uint8_t *from, int64_t n)
{
    if (n <= 32)
        _mm256_storeu_si256((__m256i *)to, _mm256_maskz_loadu_epi8(_bzhi_u32(~0u, (uint32_t)n), from));
    else {
        _mm512_storeu_si512(to, _mm512_maskz_loadu_epi8(_bzhi_u64(~0ull, (uint32_t)n), from));
        if (n > 64)
            _mm512_storeu_si512(to + 64, _mm512_maskz_loadu_epi8(_bzhi_u64(~0ull, (uint32_t)n - 64), from + 64));
    }
}

/* Copy n < 128 bytes, and zeros up to the end of the 64 in which byte n would stand. */
TARGET INLINE void NAME(put)(uint8_t *to, const uint8_t *from, int64_t n)
{
    _mm512_storeu_si512(to, _mm512_maskz_loadu_epi8(_bzhi_u64(~0ull, (uint32_t)n), from));
    if (n >= 64)
        _mm512_storeu_si512(to + 64, _mm512_maskz_loadu_epi8(_bzhi_u64(~0ull, (uint32_t)n - 64), from + 64));
}

/* Word w of block l to words[w * stride + l]. */
TARGET INLINE void NAME(transpose)(const uint8_t *const *blocks, uint32_t *words, const int stride)
{
    __m512i x[16], y[16];
    for (int i = 0; i < 16; i++)
        x[i] = _mm512_loadu_si512(blocks[i]);
    for (int i = 0; i < 16; i += 2) {
        y[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]);
        y[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
    }
    for (int i = 0; i < 16; i += 4)
        for (int j = 0; j < 2; j++) {
            x[i + 2 * j] = _mm512_unpacklo_epi64(y[i + j], y[i + 2 + j]);
            x[i + 2 * j + 1] = _mm512_unpackhi_epi64(y[i + j], y[i + 2 + j]);
        }
    for (int j = 0; j < 4; j++) { /* x[4 q + j] holds words j, 4 + j, 8 + j, 12 + j of blocks 4 q to 4 q + 3 */
        __m512i even_low = _mm512_shuffle_i32x4(x[j], x[4 + j], 0x88);
        __m512i odd_low = _mm512_shuffle_i32x4(x[j], x[4 + j], 0xdd);
        __m512i even_high = _mm512_shuffle_i32x4(x[8 + j], x[12 + j], 0x88);
        __m512i odd_high = _mm512_shuffle_i32x4(x[8 + j], x[12 + j], 0xdd);
        _mm512_storeu_si512(words + j * stride, _mm512_shuffle_i32x4(even_low, even_high, 0x88));
        _mm512_storeu_si512(words + (4 + j) * stride, _mm512_shuffle_i32x4(odd_low, odd_high, 0x88));
        _mm512_storeu_si512(words + (8 + j) * stride, _mm512_shuffle_i32x4(even_low, even_high, 0xdd));
        _mm512_storeu_si512(words + (12 + j) * stride, _mm512_shuffle_i32x4(odd_low, odd_high, 0xdd));
    }
}

#include "md5_keys.h"
