/* Vocabulary of AVX2: 8 lanes. */
#define TARGET BUILT_FOR("avx2")
#define LANES 8
VECTOR(uint32_t, NAME(vector), 32);
UNALIGNED_VECTOR(uint32_t, NAME(memory), 32);

#define V NAME(vector)
#define M(x) ((__m256i)(x))
#define BARRIER(x) OPAQUE("x", x)
#define ROTATE(x, s) ((x) << (s) | (x) >> (32 - (s)))
#define F1(b, c, d) ((d) ^ ((b) & ((c) ^ (d))))
#define F2(b, c, d) ((c) ^ ((d) & ((b) ^ (c))))
#define F3(b, c, d) ((b) ^ (c) ^ (d))
#define F4(b, c, d) ((c) ^ ((b) | ~(d)))
#define TIMES(x, n) ((V)_mm256_madd_epi16(M(x), _mm256_set1_epi32(n))) /* of numbers below 32 768 */
#define ADD_WHERE(sum, x, y, w) ((sum) + ((V)((x) == (y)) & (w)))
#define ABOVE(x, y) ((V)((x) > (y)))
#define WIDEN(p) ((V)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(p))))
#define PICK_INDEX(index) (index)
#define PICK(x, index) ((V)_mm256_permutevar8x32_epi32(M(x), M(index)))

TARGET INLINE V NAME(reverse_bytes)(V x)
{
    const __m128i order = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
    return (V)_mm256_shuffle_epi8(M(x), _mm256_broadcastsi128_si256(order));
}

TARGET INLINE void NAME(copy)(uint8_t *to, const uint8_t *from, int64_t n)
{
    copy_pieces(to, from, n);
}

TARGET INLINE void NAME(put)(uint8_t *to, const uint8_t *from, int64_t n)
{
    memset(to + (n & 64), 0, 64);
    copy_pieces(to, from, n);
}

/* Word w of block l to words[w * stride + l]. */
TARGET INLINE void NAME(transpose)(const uint8_t *const *blocks, uint32_t *words, const int stride)
{
    for (int half = 0; half < 2; half++) {
        __m256i x[8], y[8];
        for (int i = 0; i < 8; i++)
            x[i] = _mm256_loadu_si256((const __m256i *)blocks[i] + half);
        for (int i = 0; i < 8; i += 2) {
            y[i] = _mm256_unpacklo_epi32(x[i], x[i + 1]);
            y[i + 1] = _mm256_unpackhi_epi32(x[i], x[i + 1]);
        }
        for (int i = 0; i < 8; i += 4)
            for (int j = 0; j < 2; j++) {
                x[i + 2 * j] = _mm256_unpacklo_epi64(y[i + j], y[i + 2 + j]);
                x[i + 2 * j + 1] = _mm256_unpackhi_epi64(y[i + j], y[i + 2 + j]);
            }
        for (int j = 0; j < 4; j++) { /* x[4 q + j] holds words j and 4 + j of blocks 4 q to 4 q + 3 */
            uint32_t *row = words + (8 * half + j) * stride;
            _mm256_storeu_si256((__m256i *)row, _mm256_permute2x128_si256(x[j], x[4 + j], 0x20));
            _mm256_storeu_si256((__m256i *)(row + 4 * stride), _mm256_permute2x128_si256(x[j], x[4 + j], 0x31));
        }
    }
}

#include "md5_keys.h"
