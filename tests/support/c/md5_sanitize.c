/* Hash keys of all lengths, from buffers of exactly the right size, under every instruction set, and compare with a plain
   MD5. Compiled with address and undefined-behaviour sanitizers by tests/engine/test_sanitizers.py; runs as it is under qemu:

       aarch64-linux-gnu-gcc -O2 -static -I pyx -I pyx/vector tests/support/c/md5_sanitize.c pyx/vector/md5_core.c pyx/vector/isa.c -lm -o md5_sanitize
       qemu-aarch64 ./md5_sanitize */
#include "isa.h"
#include "md5.h"
#include "pages.h"
#include "plain_md5.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 0x9e3779b97f4a7c15u;

static uint32_t next(uint32_t below)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (uint32_t)(state >> 16) % below;
}

/* Strings with nothing after the last for a vector to touch: on the heap, where sanitizers watch, or before a page that
 * cannot be read, where the processor watches. */
typedef struct {
    uint8_t *values;
    int64_t *offsets;
    void *pages;
    size_t n_bytes;
} column_t;

static column_t make_column(int n, uint32_t shortest, uint32_t longest)
{
    column_t column = {NULL, malloc(((size_t)n + 1) * sizeof(int64_t)), NULL, 0};
    column.offsets[0] = 0;
    for (int i = 0; i < n; i++)
        column.offsets[i + 1] = column.offsets[i] + shortest + next(longest - shortest + 1);
    size_t size = (size_t)column.offsets[n], page = page_size();
    if (next(2))
        column.values = malloc(size + (size == 0));
    else {
        column.n_bytes = (size / page + 2) * page;
        column.pages = guarded_pages(column.n_bytes);
        if (!column.pages)
            perror("no memory"), exit(2);
        column.values = (uint8_t *)column.pages + column.n_bytes - page - size;
    }
    for (size_t i = 0; i < size; i++)
        column.values[i] = (uint8_t)(' ' + next(95));
    return column;
}

static void free_column(column_t column)
{
    if (column.pages)
        free_pages(column.pages, column.n_bytes);
    else
        free(column.values);
    free(column.offsets);
}

static int length_of(column_t column, int i) { return (int)(column.offsets[i + 1] - column.offsets[i]); }
static const char *text_of(column_t column, int i) { return (const char *)column.values + column.offsets[i]; }

static int32_t any_number(void)
{
    static const int32_t numbers[] = {0, 7, 9, 10, 99, 998, 9999, 10000, 1234567, INT32_MAX, -1, -77, INT32_MIN};
    return next(2) ? (int32_t)next(12) : numbers[next(sizeof numbers / sizeof *numbers)];
}

static int wrong_points(int n, uint32_t shortest, uint32_t longest, int32_t v)
{
    column_t ids = make_column(n, shortest, longest);
    int32_t *starts = malloc((size_t)n * sizeof *starts);
    uint32_t *out = malloc((size_t)(n * v) * sizeof *out + !v);
    char *key = malloc(longest + 16);
    int wrong = 0, with_starts = next(2) == 0;
    for (int i = 0; i < n; i++)
        starts[i] = any_number() % (INT32_MAX - 20000);
    rmq_md5((int64_t)n * v)->points(ids.values, ids.offsets, 0, n, with_starts ? starts : NULL, v, out);
    for (int i = 0; i < n; i++)
        for (int32_t k = 0; k < v; k++) {
            uint32_t hash = plain_point(text_of(ids, i), length_of(ids, i), (with_starts ? starts[i] : 0) + k, key);
            wrong += out[i * v + k] != hash;
        }
    free(key), free(out), free(starts), free_column(ids);
    return wrong;
}

static int wrong_queues(int n, uint32_t longest, uint32_t most)
{
    column_t topics = make_column(7, 0, longest), brokers = make_column(5, 0, longest / 3);
    int32_t *topic = malloc((size_t)n * sizeof *topic), *broker = malloc((size_t)n * sizeof *broker);
    int64_t *offsets = malloc(((size_t)n + 1) * sizeof *offsets);
    char *key = malloc(2 * longest + 80);
    int wrong = 0;
    offsets[0] = 0;
    for (int r = 0; r < n; r++)
        topic[r] = (int32_t)next(7), broker[r] = (int32_t)next(5), offsets[r + 1] = offsets[r] + next(most + 1);
    int32_t *queue_ids = malloc((size_t)offsets[n] * sizeof *queue_ids + 1);
    uint32_t *out = malloc((size_t)offsets[n] * sizeof *out + 1);
    int odd = next(2) == 0;
    for (int64_t i = 0; i < offsets[n]; i++)
        queue_ids[i] = odd ? any_number() : (int32_t)(i % 10);
    rmq_md5(offsets[n])->queues(topics.values, topics.offsets, brokers.values, brokers.offsets, topic, broker, offsets, 0, n, queue_ids,
                                out);
    for (int r = 0; r < n; r++)
        for (int64_t i = offsets[r]; i < offsets[r + 1]; i++) {
            uint32_t hash = plain_queue(text_of(topics, topic[r]), length_of(topics, topic[r]), text_of(brokers, broker[r]),
                                        length_of(brokers, broker[r]), queue_ids[i], key);
            wrong += out[i] != hash;
        }
    free(out), free(queue_ids), free(key), free(offsets), free(broker), free(topic);
    free_column(topics), free_column(brokers);
    return wrong;
}

static int wrong_strings(int n, uint32_t shortest, uint32_t longest)
{
    column_t strings = make_column(n, shortest, longest);
    uint32_t *out = malloc((size_t)n * sizeof *out);
    int wrong = 0;
    rmq_md5(n)->strings(strings.values, strings.offsets, 0, n, out);
    for (int i = 0; i < n; i++)
        wrong += out[i] != plain_md5(text_of(strings, i), (size_t)length_of(strings, i));
    free(out), free_column(strings);
    return wrong;
}

static int wrong_bare(void)
{
    enum { WIDTH = 192, GROUPS = 2, LENGTH = 20 };
    uint32_t *blocks = calloc(GROUPS * 16 * WIDTH, sizeof *blocks), *out = malloc(GROUPS * WIDTH * sizeof *out);
    int wrong = 0;
    for (int i = 0; i < GROUPS * WIDTH; i++) {
        uint32_t *block = blocks + i / WIDTH * 16 * WIDTH + i % WIDTH;
        for (int word = 0; word < LENGTH / 4; word++)
            block[word * WIDTH] = 0x20202020u + next(95) * 0x01010101u;
        block[LENGTH / 4 * WIDTH] = 0x80, block[14 * WIDTH] = 8 * LENGTH;
    }
    rmq_md5(GROUPS * WIDTH)->bare(blocks, GROUPS, out);
    for (int i = 0; i < GROUPS * WIDTH; i++) {
        char text[LENGTH];
        for (int j = 0; j < LENGTH; j++)
            text[j] = (char)(blocks[i / WIDTH * 16 * WIDTH + j / 4 * WIDTH + i % WIDTH] >> 8 * (j % 4));
        wrong += out[i] != plain_md5(text, LENGTH);
    }
    free(blocks), free(out);
    return wrong;
}

int main(void)
{
    int failures = 0;
    for (int i = 0; rmq_isa_available(i); i++) {
        int before = failures;
        rmq_isa_force(rmq_isa_available(i));
        if (rmq_isa_level() == RMQ_PLAIN)
            continue;
        for (uint32_t length = 0; length < 140; length++) {
            failures += wrong_points(3, length, length, (int32_t)next(5)) + wrong_strings(3, length, length);
            failures += wrong_points(1, length, length, 10) + wrong_queues(4, length, 9);
        }
        for (int round = 0; round < 20; round++) {
            failures += wrong_points(200, 20, 45, 10) + wrong_points(100, 0, 150, 1 + (int32_t)next(40));
            failures += wrong_queues(200, 30, 16) + wrong_queues(150, 90, 4) + wrong_strings(300, 0, 100);
        }
        failures += wrong_points(5, 1000, 9000, 700) + wrong_queues(9, 5000, 700) + wrong_strings(9, 1000, 5000);
        failures += wrong_points(4, 20, 40, 12000) + wrong_bare();
        printf("%s: %d wrong\n", rmq_isa(), failures - before);
    }
    return failures != 0;
}
