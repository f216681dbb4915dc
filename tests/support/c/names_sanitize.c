/* Hash texts and find slots in buffers that end where the text ends, cut-off characters included. Compiled with address and
   undefined-behaviour sanitizers by tests/engine/test_sanitizers.py; the values are compared with Java's and with Python's. */
#include "names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const TEXTS[] = {
    "", "a", "orders", "10.0.0.1@web-7", "10.0.0.1@web-7@unit", "@-0", "@", "1@-", "1@x-01", "1@x-123456789", "1@x-1234567890",
    "\xd1\x82\xd0\xb5\xd0\xbc\xd0\xb0", "\xf0\x9f\x98\x80", "ab\xf0\x9f\x98", "\xe4\xb8", "\xc3", "abcd\xed\xa0\x80", "1@a-5-b",
};
static const int32_t SLOTS[] = {-1, -1, -1, 7, 7, 0, -1, -1, -1, 123456789, -1, -1, -1, -1, -1, -1, -1, -1};

int main(void)
{
    const int n = sizeof TEXTS / sizeof *TEXTS;
    int failures = 0;
    for (int i = 0; i < n; i++) {
        const int64_t size = (int64_t)strlen(TEXTS[i]), offsets[] = {0, size};
        uint8_t *text = malloc((size_t)size + !size); /* nothing after the last byte */
        int32_t hash, slot, other;
        memcpy(text, TEXTS[i], (size_t)size);
        rmq_hash_names(text, offsets, 1, &hash);
        rmq_find_slots(text, offsets, 1, (const uint8_t *)"-", 1, (const uint8_t *)"", 0, &slot);
        rmq_find_slots(text, offsets, 1, (const uint8_t *)"-", 1, (const uint8_t *)"-b", 2, &other);
        const int bad = slot != SLOTS[i] || other != (i == n - 1 ? 5 : -1) || (i == 2 && hash != (int32_t)0xc3df62e5);
        if (bad)
            printf("%s: hash %d, slot %d, other %d\n", TEXTS[i], hash, slot, other);
        failures += bad;
        free(text);
    }
    return failures;
}
