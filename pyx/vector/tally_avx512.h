/* Words of AVX-512 for tally_body.h. */
#define ISA(name) avx512_##name
#define TARGET BUILT_FOR("avx512f,avx512bw,avx512vl,avx2,bmi2,popcnt")
#define LANES 16
#define OP(name) _mm512_##name
typedef __m512i avx512_vec_t;
typedef __mmask16 avx512_mask_t; /* of 32-bit lanes */

TARGET INLINE __m512i avx512_load(const void *from) { return _mm512_loadu_si512(from); }

TARGET INLINE __m512i avx512_load_few(const int32_t *from, int64_t n, __m512i behind)
{
    return _mm512_mask_loadu_epi32(behind, (__mmask16)_bzhi_u32(0xffff, (uint32_t)n), from);
}

TARGET INLINE void avx512_store(void *to, __m512i x) { _mm512_storeu_si512(to, x); }

/* 32-bit integers in memory to 64-bit lanes, and back. */
TARGET INLINE __m512i avx512_widen(const int32_t *from)
{
    return _mm512_cvtepi32_epi64(_mm256_loadu_si256((const __m256i *)from));
}

TARGET INLINE void avx512_store_low(int32_t *to, __m512i x) { _mm256_storeu_si256((__m256i *)to, _mm512_cvtepi64_epi32(x)); }

TARGET INLINE __mmask16 avx512_is_place(__m512i x) { return _mm512_cmplt_epu32_mask(x, _mm512_set1_epi32(LANES)); }
TARGET INLINE __mmask16 avx512_differ(__m512i x, __m512i y) { return _mm512_cmpneq_epi32_mask(x, y); }
TARGET INLINE uint32_t avx512_greater(__m512i x, int64_t y) { return _mm512_cmpgt_epi64_mask(x, _mm512_set1_epi64(y)); }
TARGET INLINE __m512i avx512_pick(__mmask16 where, __m512i x, __m512i y) { return _mm512_mask_mov_epi32(y, where, x); }
TARGET INLINE __m512i avx512_lookup(__m512i row, __m512i places) { return _mm512_permutexvar_epi32(places, row); }
TARGET INLINE int32_t avx512_how_many(__mmask16 where) { return _mm_popcnt_u32(where); }
TARGET INLINE __m512i avx512_low(__m512i x) { return _mm512_maskz_mov_epi32(0x5555, x); } /* halves of 64-bit lanes */

TARGET INLINE __m256i avx512_either_half(__m512i x) { return _mm512_castsi512_si256(x) | _mm512_extracti64x4_epi64(x, 1); }

TARGET INLINE __m512i avx512_sum_pairs(__m512i x, __m512i y)
{
    return _mm512_unpacklo_epi64(x, y) + _mm512_unpackhi_epi64(x, y);
}

TARGET INLINE __m512i avx512_sum_quarters(__m512i x, __m512i y)
{
    return _mm512_shuffle_i64x2(x, y, 0x88) + _mm512_shuffle_i64x2(x, y, 0xdd);
}

/* One bit, by its number; none for any other number. */
TARGET INLINE __m512i avx512_bit(__m512i number) { return _mm512_sllv_epi32(_mm512_set1_epi32(1), number); }

/* The sum of the 64-bit lanes of each of eight vectors. */
TARGET INLINE __m512i avx512_sums(const __m512i *x)
{
    const __m512i a = avx512_sum_pairs(x[0], x[1]), b = avx512_sum_pairs(x[2], x[3]);
    const __m512i c = avx512_sum_pairs(x[4], x[5]), d = avx512_sum_pairs(x[6], x[7]);
    return avx512_sum_quarters(avx512_sum_quarters(a, b), avx512_sum_quarters(c, d));
}
