/* Compare products of numbers of all signs and sizes, and compare that with the same by 128 bits. */
#include "weigh.h"

#include <stdio.h>

static uint64_t state = 0x9e3779b97f4a7c15u;

/* A number of any size, often one that others are near to. */
static int64_t next(void)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    const uint64_t number = state >> (state & 63);
    return (int64_t)(state & 64 ? number : 0 - number);
}

int main(void)
{
    int failures = 0;
    for (int i = 0; i < 1000000; i++) {
        const int64_t a = next(), b = next(), c = i % 3 ? next() : b, d = i % 3 ? next() : (int64_t)((uint64_t)a + (uint64_t)(i % 5) - 2);
        failures += rmq_is_lesser_product(a, b, c, d) != ((__int128)a * b < (__int128)c * d);
    }
    if (failures)
        printf("%d products compared wrongly\n", failures);
    return failures != 0;
}
