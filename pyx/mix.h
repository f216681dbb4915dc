/* 64-bit numbers that look drawn by lot, and slots drawn with them. */
#ifndef RMQALLOC_MIX_H
#define RMQALLOC_MIX_H

#include <stdint.h>

/* The finalizer of SplitMix64, as java.util.SplittableRandom has it. */
static inline uint64_t rmq_mix(uint64_t z)
{
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

#define RMQ_GOLDEN UINT64_C(0x9E3779B97F4A7C15)

#endif
