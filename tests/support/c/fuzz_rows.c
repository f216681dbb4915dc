/* Digests of rows of any bytes under any secret against the plain meaning, and rows that differ in one place at most, compared. */
#include "fuzz_input.h"
#include "plain_rows.h"
#include "rows.h"

enum { LONGEST = 5000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input_t in = {data, size, 0};
    uint64_t secret[RMQ_SECRET];
    const int64_t n = size_of(&in, LONGEST), place = below(&in, n);
    const uint32_t key = (uint32_t)take(&in, 4);
    const uint8_t change = (uint8_t)take(&in, 1);
    uint8_t *row = room(n, 1), *other = room(n, 1);
    maybe_draw(&in);
    for (int i = 0; i < RMQ_SECRET; i++)
        secret[i] = number(&in, 8);
    maybe_draw(&in);
    for (int64_t i = 0; i < n; i++)
        row[i] = other[i] = (uint8_t)number(&in, 1);
    const uint64_t digest = rmq_digest(row, n, key, secret), expected = plain_digest(row, n, key, secret);
    CHECK(digest == expected, "%d bytes: %llx, not %llx", (int)n, (unsigned long long)digest, (unsigned long long)expected);
    if (n)
        other[place] ^= change;
    CHECK(rmq_same(row, other, n) == (n == 0 || change == 0), "%d bytes, place %d changed by %d", (int)n, (int)place, change);
    free(row), free(other);
    return 0;
}
