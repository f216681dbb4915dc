/* Java's order of text: UTF-16 code units, a shorter prefix first, straight from UTF-8 with lone surrogates in their 3-byte form.

   String i is values[offsets[i] .. offsets[i + 1]). In UTF-8 Java's order is byte order but for one thing: U+E000..U+FFFF (lead
   bytes EE, EF) come after the supplementary planes (F0..F4), whose first unit is a surrogate. */
#ifndef RMQALLOC_STRINGS_H
#define RMQALLOC_STRINGS_H

#include <stdint.h>

/* The stable order of every list: out[lo + k] is the place in its list of the string that comes k-th. List r is the strings
   list_offsets[r] .. list_offsets[r + 1]; keys and spare are as long as the longest list. */
void rmq_strings_order(const uint8_t *values, const int64_t *offsets, const int64_t *list_offsets,
                       int64_t n_lists, void *keys, int32_t *spare, int32_t *out);

#endif
