/* A plain MD5, and the texts that are hashed, for whoever compares with them. */
#ifndef PLAIN_MD5_H
#define PLAIN_MD5_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t plain_sine(int i)
{
    static uint32_t sines[64];
    if (!sines[63])
        for (int k = 0; k < 64; k++)
            sines[k] = (uint32_t)(int64_t)floor(fabs(sin(k + 1)) * 4294967296.0);
    return sines[i];
}

/* The first 32 bits of MD5 as RFC 1321 words it, slowly. */
static uint32_t plain_md5(const char *text, size_t length)
{
    static const int shifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    uint32_t sum[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    size_t padded = (length + 8) / 64 * 64 + 64;
    uint8_t *bytes = calloc(padded, 1);
    memcpy(bytes, text, length);
    bytes[length] = 0x80;
    for (int i = 0; i < 8; i++)
        bytes[padded - 8 + i] = (uint8_t)((uint64_t)length * 8 >> 8 * i);
    for (size_t at = 0; at < padded; at += 64) {
        uint32_t a = sum[0], b = sum[1], c = sum[2], d = sum[3];
        for (int i = 0; i < 64; i++) {
            uint32_t f = i < 16 ? (b & c) | (~b & d) : i < 32 ? (d & b) | (~d & c) : i < 48 ? b ^ c ^ d : c ^ (b | ~d);
            int word = (i < 16 ? i : i < 32 ? 5 * i + 1 : i < 48 ? 3 * i + 5 : 7 * i) % 16, shift = shifts[i / 16][i % 4];
            const uint8_t *m = bytes + at + 4 * word;
            f += a + plain_sine(i);
            f += m[0] | (uint32_t)m[1] << 8 | (uint32_t)m[2] << 16 | (uint32_t)m[3] << 24;
            a = d, d = c, c = b, b += f << shift | f >> (32 - shift);
        }
        sum[0] += a, sum[1] += b, sum[2] += c, sum[3] += d;
    }
    free(bytes);
    return sum[0] << 24 | (sum[0] & 0xff00) << 8 | (sum[0] >> 8 & 0xff00) | sum[0] >> 24;
}

/* The hash of some text, '-' and a number; `key` has room for the text and 16 more. */
static uint32_t plain_point(const void *id, int64_t n, int32_t node, char *key)
{
    memcpy(key, id, (size_t)n);
    return plain_md5(key, (size_t)n + (size_t)sprintf(key + n, "-%d", node));
}

/* The hash of a queue; `key` has room for both names and 80 more. */
static uint32_t plain_queue(const void *topic, int64_t n_topic, const void *broker, int64_t n_broker, int32_t queue_id, char *key)
{
    char *end = key + sprintf(key, "MessageQueue [topic=");
    memcpy(end, topic, (size_t)n_topic), end += n_topic;
    end += sprintf(end, ", brokerName=");
    memcpy(end, broker, (size_t)n_broker), end += n_broker;
    end += sprintf(end, ", queueId=%d]", queue_id);
    return plain_md5(key, (size_t)(end - key));
}

#endif
