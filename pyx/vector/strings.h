/* Java's order of text: UTF-16 code units, a shorter prefix first, straight from UTF-8 with lone surrogates in their 3-byte form.

   String i is values[offsets[i] .. offsets[i + 1]), list r the strings list_offsets[r] .. list_offsets[r + 1]. In UTF-8 Java's
   order is byte order but for one thing: U+E000..U+FFFF (lead bytes EE, EF) come after the supplementary planes (F0..F4), whose
   first unit is a surrogate. Bytes that are not UTF-8 have some order; none outside the strings is read.

   odd[r] becomes 1 where a string of list r is empty or there twice, else 0. keys, spare and order are as long as the longest
   list. */
#ifndef RMQALLOC_STRINGS_H
#define RMQALLOC_STRINGS_H

#include <stdint.h>

typedef struct {
    /* The stable order of every list: out[lo + k] is the place in its list of the string that comes k-th. */
    void (*order)(const uint8_t *values, const int64_t *offsets, const int64_t *list_offsets, int64_t n_lists, void *keys,
                  int32_t *spare, uint8_t *odd, int32_t *out);

    /* How many lists are in order before the first one that is not; `odd` is written for those. */
    int64_t (*in_order)(const uint8_t *values, const int64_t *offsets, const int64_t *list_offsets, int64_t n_lists, void *keys,
                        uint8_t *odd);

    /* Write all strings with each list in order, as a column that begins at 0. The lists before `first` are in order and have
       their `odd`. */
    void (*sort)(const uint8_t *values, const int64_t *offsets, const int64_t *list_offsets, int64_t first, int64_t n_lists,
                 void *keys, int32_t *spare, int32_t *order, uint8_t *odd, uint8_t *out_values, int64_t *out_offsets);
} rmq_strings_t;

/* Those of the level in use; NULL where it has none. */
const rmq_strings_t *rmq_strings(void);

#endif
