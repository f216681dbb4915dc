/* rmq_mix can be undone: the steps backwards, with the inverses of its factors, give back the number. */
#include "fuzz_input.h"
#include "mix.h"

/* x with x * odd == 1, by Newton: each step doubles the bits that are right. */
static uint64_t inverse(uint64_t odd)
{
    uint64_t x = odd;
    for (int bits = 3; bits < 64; bits *= 2)
        x *= 2 - odd * x;
    return x;
}

static uint64_t unshifted(uint64_t z, int shift)
{
    uint64_t found = z;
    for (int known = shift; known < 64; known += shift)
        found = z ^ found >> shift;
    return found;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input_t in = {data, size, 0};
    const uint64_t asked = take(&in, 8);
    uint64_t z = unshifted(rmq_mix(asked), 31);
    z = unshifted(z * inverse(UINT64_C(0x94D049BB133111EB)), 27);
    z = unshifted(z * inverse(UINT64_C(0xBF58476D1CE4E5B9)), 30);
    CHECK(z == asked, "%llx is undone to %llx", (unsigned long long)asked, (unsigned long long)z);
    return 0;
}
