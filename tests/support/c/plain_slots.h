/* How clients are numbered by their slots, as the page of ORDINAL words it, and whether owners are even. */
#ifndef PLAIN_SLOTS_H
#define PLAIN_SLOTS_H

#include <stdint.h>
#include <stdlib.h>

static int32_t n_present(const int32_t *slots, int32_t n)
{
    int32_t present = 0;
    for (int32_t c = 0; c < n; c++)
        present += slots[c] != -2;
    return present;
}

/* The first client of each slot below the limit has it as its number; after the highest of these come repeats, by slot and
   position, then those without a usable slot. Returns how many numbers there are. */
static int32_t plain_numbers(const int32_t *slots, int32_t n, int32_t *numbers)
{
    const int64_t limit = 4 * (int64_t)n_present(slots, n) + 64;
    int32_t next = 0;
    for (int32_t c = 0; c < n; c++) {
        int first = slots[c] >= 0 && slots[c] < limit;
        for (int32_t other = 0; other < c && first; other++)
            first = slots[other] != slots[c];
        numbers[c] = first ? slots[c] : -1;
        next = first && slots[c] >= next ? slots[c] + 1 : next;
    }
    for (int64_t slot = 0; slot < limit; slot++)
        for (int32_t c = 0; c < n; c++)
            if (slots[c] == slot && numbers[c] < 0)
                numbers[c] = next++;
    for (int32_t c = 0; c < n; c++)
        if (numbers[c] < 0 && slots[c] != -2)
            numbers[c] = next++;
    return next;
}

/* Every queue has an owner that takes part, and loads differ by one at most; nobody owns any where nobody takes part. */
static int is_even(const int32_t *owners, int32_t m, const int32_t *slots, int32_t n)
{
    int32_t *load = calloc((size_t)n, sizeof *load), present = n_present(slots, n), even = 1;
    for (int32_t q = 0; q < m && even; q++) {
        even = present ? owners[q] >= 0 && owners[q] < n && slots[owners[q]] != -2 : owners[q] == -1;
        if (present && even)
            load[owners[q]]++;
    }
    for (int32_t c = 0; c < n && present; c++)
        even &= slots[c] == -2 || (load[c] >= m / present && load[c] <= (m + present - 1) / present);
    free(load);
    return even;
}

#endif
