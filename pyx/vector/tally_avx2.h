/* Words of AVX2 for tally_body.h. */
#define ISA(name) avx2_##name
#define TARGET BUILT_FOR("avx2,bmi2,popcnt")
#define LANES 8
#define OP(name) _mm256_##name
typedef __m256i avx2_vec_t;
typedef __m256i avx2_mask_t; /* of 32-bit lanes */

TARGET INLINE __m256i avx2_load(const void *from) { return _mm256_loadu_si256((const __m256i *)from); }
TARGET INLINE uint32_t avx2_greater(__m256i x, int64_t y) { return (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(x, _mm256_set1_epi64x(y)))); }
TARGET INLINE __m256i avx2_pick(__m256i where, __m256i x, __m256i y) { return _mm256_blendv_epi8(y, x, where); }

TARGET INLINE __m256i avx2_load_few(const int32_t *from, int64_t n, __m256i behind)
{
    const __m256i there = _mm256_cmpgt_epi32(_mm256_set1_epi32((int32_t)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    return avx2_pick(there, _mm256_maskload_epi32(from, there), behind);
}

TARGET INLINE void avx2_store(void *to, __m256i x) { _mm256_storeu_si256((__m256i *)to, x); }

/* 32-bit integers in memory to 64-bit lanes, and back. */
TARGET INLINE __m256i avx2_widen(const int32_t *from) { return _mm256_cvtepi32_epi64(_mm_loadu_si128((const __m128i *)from)); }

TARGET INLINE void avx2_store_low(int32_t *to, __m256i x)
{
    const __m256i low = _mm256_permutevar8x32_epi32(x, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6));
    _mm_storeu_si128((__m128i *)to, _mm256_castsi256_si128(low));
}

TARGET INLINE __m256i avx2_is_place(__m256i x)
{
    return _mm256_cmpeq_epi32(_mm256_srli_epi32(x, 3), _mm256_setzero_si256());
}

TARGET INLINE __m256i avx2_differ(__m256i x, __m256i y) { return ~_mm256_cmpeq_epi32(x, y); }
TARGET INLINE __m256i avx2_lookup(__m256i row, __m256i places) { return _mm256_permutevar8x32_epi32(row, places); }

TARGET INLINE int32_t avx2_how_many(__m256i where)
{
    return _mm_popcnt_u32((uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(where)));
}

TARGET INLINE __m256i avx2_low(__m256i x) { return _mm256_blend_epi32(x, _mm256_setzero_si256(), 0xaa); } /* halves of 64-bit lanes */
TARGET INLINE __m256i avx2_either_half(__m256i x) { return x; }

TARGET INLINE __m256i avx2_sum_pairs(__m256i x, __m256i y)
{
    return _mm256_unpacklo_epi64(x, y) + _mm256_unpackhi_epi64(x, y);
}

/* One bit, by its number; none for any other number. */
TARGET INLINE __m256i avx2_bit(__m256i number) { return _mm256_sllv_epi32(_mm256_set1_epi32(1), number); }

/* The sum of the 64-bit lanes of each of four vectors. */
TARGET INLINE __m256i avx2_sums(const __m256i *x)
{
    const __m256i a = avx2_sum_pairs(x[0], x[1]), b = avx2_sum_pairs(x[2], x[3]);
    return _mm256_permute2x128_si256(a, b, 0x20) + _mm256_permute2x128_si256(a, b, 0x31);
}
