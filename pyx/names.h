/* Names as numbers: Java's hash of a text, the slots that client ids carry, and a number for every queue. */
#ifndef RMQALLOC_NAMES_H
#define RMQALLOC_NAMES_H

#include <stdint.h>

/* String.hashCode of each text, over its UTF-16 code units; texts are UTF-8, lone surrogates in their 3-byte form. */
void rmq_hash_names(const uint8_t *values, const int64_t *offsets, int64_t n, int32_t *out);

/* A number for each text: the upper half of what is mixed from its hash. */
void rmq_number_names(const uint8_t *values, const int64_t *offsets, int64_t n, uint32_t *out);

/* The number that each client id's instance name ends in, between two texts; -1 without one. */
void rmq_find_slots(const uint8_t *values, const int64_t *offsets, int64_t n, const uint8_t *before, int64_t n_before,
                    const uint8_t *after, int64_t n_after, int32_t *out);

#endif
