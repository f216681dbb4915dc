/* Shares, compared without a division. */
#ifndef RMQALLOC_WEIGH_H
#define RMQALLOC_WEIGH_H

#include "compiler.h"

/* Is a * b less than c * d? */
static inline int rmq_is_lesser_product(int64_t a, int64_t b, int64_t c, int64_t d)
{
#ifdef RMQ_INT128
    return (rmq_signed_wide_t)a * b < (rmq_signed_wide_t)c * d;
#else
    /* The upper half of a product of signed numbers is that of the unsigned ones, less each one whose counterpart is negative. */
    const uint64_t ua = (uint64_t)a, ub = (uint64_t)b, uc = (uint64_t)c, ud = (uint64_t)d;
    const int64_t one = (int64_t)(rmq_upper_product(ua, ub) - (a < 0 ? ub : 0) - (b < 0 ? ua : 0));
    const int64_t other = (int64_t)(rmq_upper_product(uc, ud) - (c < 0 ? ud : 0) - (d < 0 ? uc : 0));
    return one != other ? one < other : ua * ub < uc * ud;
#endif
}

#endif
