/* What compilers and processors have each in its own way; the only file that names any of it.

   GCC and clang get everything. The compiler of Visual Studio, clang in its stead, and any other compiler of C11 get no loops over
   vectors (vector/isa.h): RMQ_VECTORS is 0 there. */
#ifndef RMQALLOC_COMPILER_H
#define RMQALLOC_COMPILER_H

#include <stdint.h>
#include <string.h>

#ifdef _MSC_VER
#define RMQ_BY_MSVC 1
#include <intrin.h>
#include <stdlib.h>
#elif defined(__GNUC__)
#define RMQ_BY_GCC 1
#endif

/* ---- what there is ---- */

#ifdef RMQ_BY_GCC
#define RMQ_VECTORS 1 /* vectors with operators, whatever the processor has */
#ifdef __x86_64__
#define RMQ_X86 1 /* functions for AVX2 and AVX-512, chosen at run time */
#endif
#if defined(__aarch64__) && !defined(__AARCH64EB__)
#define RMQ_ARM 1 /* NEON, which is always there */
#endif
#else
#define RMQ_VECTORS 0
#endif

/* INLINE is for functions whose arguments are constants, or which belong to one instruction set: a call of them would be wrong
   or slow. ASK_TO_WRITE asks for what lies so many bytes further on, to be written; it may be beyond the end. */
#if defined(RMQ_BY_GCC)
#define INLINE static inline __attribute__((always_inline))
#define ASK_TO_WRITE(pointer, bytes) __builtin_prefetch((const void *)((uintptr_t)(pointer) + (bytes)), 1)
#elif defined(RMQ_BY_MSVC)
#define INLINE static __forceinline
#define ASK_TO_WRITE(pointer, bytes) ((void)(pointer))
#else
#define INLINE static inline
#define ASK_TO_WRITE(pointer, bytes) ((void)(pointer))
#endif

/* ---- for loops over vectors ----

   ALIGNED(n) stands before the type, BUILT_FOR(instructions) before a function, UNROLL_4 before a loop. VECTOR names the type of a
   vector of so many bytes. It may be read from and written to memory that is declared to hold plain numbers; the second kind has the
   alignment of one of these. OPAQUE(kind, x): x is what it was, and nothing is known of it; `kind` names the register it is in. */
#if RMQ_VECTORS
#define NEVER_INLINE __attribute__((noinline))
#define ALIGNED(n) __attribute__((aligned(n)))
#define BUILT_FOR(instructions) __attribute__((target(instructions)))
#define UNROLL_4 _Pragma("GCC unroll 4")
#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define VECTOR(type, name, bytes) typedef type name __attribute__((vector_size(bytes), may_alias))
#define UNALIGNED_VECTOR(type, name, bytes) \
    typedef type name __attribute__((vector_size(bytes), may_alias, aligned(sizeof(type))))
#define CONVERT(vector, type) __builtin_convertvector(vector, type) /* as a cast does, lane by lane */
#define OPAQUE(kind, x) __asm__("" : "+" kind(x))
#define LOOK_AHEAD(pointer, bytes) __builtin_prefetch((const void *)((uintptr_t)(pointer) + (bytes)))
#endif

/* An integer that threads may read while one writes: each gets the one or the other value. */
#if defined(RMQ_BY_GCC)
typedef int rmq_shared_int_t;
#define SHARED_GET(integer) __atomic_load_n(&(integer), __ATOMIC_RELAXED)
#define SHARED_SET(integer, value) __atomic_store_n(&(integer), value, __ATOMIC_RELAXED)
#elif defined(RMQ_BY_MSVC) || defined(__STDC_NO_ATOMICS__)
typedef volatile int rmq_shared_int_t; /* Visual Studio makes every access to such one whole */
#define SHARED_GET(integer) (integer)
#define SHARED_SET(integer, value) ((void)((integer) = (value)))
#else
#include <stdatomic.h>
typedef atomic_int rmq_shared_int_t;
#define SHARED_GET(integer) atomic_load_explicit(&(integer), memory_order_relaxed)
#define SHARED_SET(integer, value) atomic_store_explicit(&(integer), value, memory_order_relaxed)
#endif

/* ---- the processor ---- */

#ifdef RMQ_X86
#define PROCESSOR_HAS(instructions) __builtin_cpu_supports(instructions)
#endif

/* ---- bits and bytes ---- */

/* Zeros above the highest bit of a number that is not 0. */
INLINE int rmq_leading_zeros(uint32_t x)
{
#ifdef RMQ_BY_GCC
    return __builtin_clz(x);
#else
    int zeros = 0;
    for (int part = 16; part; part /= 2)
        if (x >> (32 - part) == 0)
            zeros += part, x <<= part;
    return zeros;
#endif
}

#if RMQ_VECTORS
INLINE int rmq_leading_zeros_64(uint64_t x) { return __builtin_clzll(x); }
INLINE int rmq_count_bits(uint32_t x) { return __builtin_popcount(x); }
#endif

#if defined(RMQ_BY_MSVC) || (defined(RMQ_BY_GCC) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
#define RMQ_LITTLE_ENDIAN 1 /* as far as it is known */
#endif

/* Eight, four bytes as a number whose lowest byte is the first. */
INLINE uint64_t rmq_eight(const uint8_t *s)
{
#ifdef RMQ_LITTLE_ENDIAN
    uint64_t number;
    memcpy(&number, s, sizeof number);
    return number;
#else
    return (uint64_t)s[7] << 56 | (uint64_t)s[6] << 48 | (uint64_t)s[5] << 40 | (uint64_t)s[4] << 32 | (uint64_t)s[3] << 24 |
           (uint64_t)s[2] << 16 | (uint64_t)s[1] << 8 | s[0];
#endif
}

INLINE uint32_t rmq_four(const uint8_t *s)
{
#ifdef RMQ_LITTLE_ENDIAN
    uint32_t number;
    memcpy(&number, s, sizeof number);
    return number;
#else
    return (uint32_t)s[3] << 24 | (uint32_t)s[2] << 16 | (uint32_t)s[1] << 8 | s[0];
#endif
}

/* Eight bytes as a number that orders as they do; only vectors ask. */
#if RMQ_VECTORS
INLINE uint64_t rmq_ordered(const uint8_t *s) { return __builtin_bswap64(rmq_eight(s)); }
#endif

/* ---- 128 bits ---- */

#if defined(RMQ_BY_GCC) && defined(__SIZEOF_INT128__) && !defined(RMQ_NO_INT128)
#define RMQ_INT128 1
__extension__ typedef unsigned __int128 rmq_wide_t;
__extension__ typedef __int128 rmq_signed_wide_t;
#else

/* The upper 64 bits of a product. */
INLINE uint64_t rmq_upper_product(uint64_t a, uint64_t b)
{
#if defined(RMQ_BY_MSVC) && (defined(_M_X64) || defined(_M_ARM64))
    return __umulh(a, b);
#else
    const uint64_t half = 0xffffffff, a0 = a & half, a1 = a >> 32, b0 = b & half, b1 = b >> 32;
    const uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (middle & half);
    return a1 * b1 + (middle >> 32) + (other >> 32);
#endif
}
#endif

#endif
