/* Points, queues and strings of any bytes and numbers, under every instruction set, against a plain MD5. */
#include "fuzz_input.h"
#include "md5.h"
#include "plain_md5.h"

enum { LONGEST = 300, MOST_KEYS = 300, WIDTH = 192 };

static int32_t any_number(input_t *in)
{
    static const int32_t numbers[] = {0, 7, 9, 10, 99, 998, 9999, 10000, 99999, 1234567, 999999999, INT32_MAX, -1, -77, INT32_MIN};
    const uint64_t byte = number(in, 1);
    return byte < 128 ? (int32_t)byte % 12 : byte < 200 ? numbers[byte % (sizeof numbers / sizeof *numbers)]
                                                       : (int32_t)number(in, 4);
}

static void compare(const uint32_t *out, const uint32_t *expected, int64_t n, const char *what)
{
    for (int64_t i = 0; i < n; i++)
        CHECK(out[i] == expected[i], "%s: hash %d of %d", what, (int)i, (int)n);
}

static void points(input_t *in, const column_t *ids)
{
    const int32_t v = (int32_t)size_of(in, MOST_KEYS / (ids->n + 1));
    const int64_t first = below(in, ids->n + 1), n = ids->n - first;
    int32_t *starts = take(in, 1) & 1 ? room(ids->n, sizeof *starts) : NULL;
    uint32_t *out = room(n * v, sizeof *out), *expected = room(n * v, sizeof *expected);
    char *key = room(LONGEST + 16, 1);
    for (int64_t i = 0; starts && i < ids->n; i++)
        starts[i] = any_number(in) % (INT32_MAX - MOST_KEYS);
    for (int64_t i = 0; i < n; i++)
        for (int32_t k = 0; k < v; k++)
            expected[i * v + k] = plain_point(text_of(ids, first + i), length_of(ids, first + i),
                                              (starts ? starts[first + i] : 0) + k, key);
    EVERY_ISA {
        rmq_md5((ids->n - first) * v)->points(ids->values, ids->offsets, first, ids->n, starts, v, out);
        compare(out, expected, n * v, "points");
    }
    free(starts), free(out), free(expected), free(key);
}

static void queues(input_t *in, const column_t *topics, const column_t *brokers)
{
    const int64_t n = topics->n && brokers->n ? size_of(in, 40) : 0, first = below(in, n + 1);
    int32_t *topic = room(n, sizeof *topic), *broker = room(n, sizeof *broker);
    int64_t *offsets = room(n + 1, sizeof *offsets);
    offsets[0] = 0;
    for (int64_t r = 0; r < n; r++) {
        topic[r] = (int32_t)below(in, topics->n), broker[r] = (int32_t)below(in, brokers->n);
        offsets[r + 1] = offsets[r] + size_of(in, MOST_KEYS / n);
    }
    const int64_t n_queues = offsets[n], skipped = offsets[first];
    int32_t *queue_ids = room(n_queues, sizeof *queue_ids);
    uint32_t *out = room(n_queues - skipped, sizeof *out), *expected = room(n_queues - skipped, sizeof *expected);
    char *key = room(2 * LONGEST + 80, 1);
    const int odd = take(in, 1) & 1;
    for (int64_t i = 0; i < n_queues; i++)
        queue_ids[i] = odd ? any_number(in) : (int32_t)(i % 17);
    for (int64_t r = first; r < n; r++)
        for (int64_t i = offsets[r]; i < offsets[r + 1]; i++)
            expected[i - skipped] = plain_queue(text_of(topics, topic[r]), length_of(topics, topic[r]), text_of(brokers, broker[r]),
                                                length_of(brokers, broker[r]), queue_ids[i], key);
    EVERY_ISA {
        rmq_md5(n_queues - skipped)->queues(topics->values, topics->offsets, brokers->values, brokers->offsets, topic, broker, offsets,
                                            first, n, queue_ids, out);
        compare(out, expected, n_queues - skipped, "queues");
    }
    free(topic), free(broker), free(offsets), free(queue_ids), free(out), free(expected), free(key);
}

static void strings(input_t *in, const column_t *texts)
{
    const int64_t first = below(in, texts->n + 1), n = texts->n - first;
    uint32_t *out = room(n, sizeof *out), *expected = room(n, sizeof *expected);
    for (int64_t i = 0; i < n; i++)
        expected[i] = plain_md5((const char *)text_of(texts, first + i), (size_t)length_of(texts, first + i));
    EVERY_ISA {
        rmq_md5(n)->strings(texts->values, texts->offsets, first, texts->n, out);
        compare(out, expected, n, "strings");
    }
    free(out), free(expected);
}

/* Messages of one block each, word by word. */
static void bare(input_t *in)
{
    const int64_t n_groups = below(in, 3), n = n_groups * WIDTH;
    uint32_t *blocks = calloc((size_t)n * 16 + !n, sizeof *blocks), *out = room(n, sizeof *out), *expected = room(n, sizeof *expected);
    for (int64_t i = 0; i < n; i++) {
        uint32_t *block = blocks + i / WIDTH * 16 * WIDTH + i % WIDTH;
        char text[56];
        const uint32_t length = (uint32_t)below(in, 56);
        for (uint32_t j = 0; j < length; j++) {
            text[j] = (char)number(in, 1);
            block[j / 4 * WIDTH] |= (uint32_t)(uint8_t)text[j] << 8 * (j % 4);
        }
        block[length / 4 * WIDTH] |= 0x80u << 8 * (length % 4), block[14 * WIDTH] = 8 * length;
        expected[i] = plain_md5(text, length);
    }
    EVERY_ISA {
        rmq_md5(n)->bare(blocks, n_groups, out);
        compare(out, expected, n, "bare");
    }
    free(blocks), free(out), free(expected);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input_t in = {data, size, 0};
    const int what = (int)take(&in, 1) % 4;
    maybe_draw(&in);
    if (what == 3) {
        bare(&in);
        return 0;
    }
    const column_t texts = column_of(&in, size_of(&in, 60), what == 1 ? LONGEST / 3 : LONGEST);
    if (what == 0) {
        points(&in, &texts);
    } else if (what == 1) {
        const column_t brokers = column_of(&in, size_of(&in, 9), LONGEST);
        queues(&in, &texts, &brokers);
        free_column(brokers);
    } else {
        strings(&in, &texts);
    }
    free_column(texts);
    return 0;
}
