// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.github.rmqalloc.strategies;

import java.util.List;
import org.apache.rocketmq.common.message.MessageQueue;

/** Hashes that every language has: integers that wrap. */
final class Mix {
    static final long GOLDEN = 0x9E3779B97F4A7C15L;

    private Mix() {
    }

    /** The finalizer of SplitMix64. */
    static long mix64(long z) {
        z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
        return z ^ (z >>> 31);
    }

    /** The finalizer of Murmur3, 32 bits. */
    static int fmix32(int h) {
        h = (h ^ (h >>> 16)) * 0x85EBCA6B;
        h = (h ^ (h >>> 13)) * 0xC2B2AE35;
        return h ^ (h >>> 16);
    }

    /** One of n numbers from 0 on, by the upper half of a random number. */
    static int below(long random, int n) {
        return (int) ((random >>> 32) * n >>> 32);
    }

    /** The random number of each queue of a topic. It depends on the queue alone, never on its position. */
    static long[] queueNumbers(List<MessageQueue> queues) {
        long topic = mix64(topicHash(queues));
        long[] numbers = new long[queues.size()];
        for (int q = 0; q < numbers.length; q++) {
            MessageQueue queue = queues.get(q);
            long broker = hash(queue.getBrokerName()) << 32;
            numbers[q] = mix64(topic + broker + (queue.getQueueId() & 0xFFFFFFFFL));
        }
        return numbers;
    }

    /** The hash of the topic, which all queues share. */
    static long topicHash(List<MessageQueue> queues) {
        return hash(queues.get(0).getTopic());
    }

    /** A null counts as its text, as in RocketMQ's text of a queue. */
    private static long hash(String text) {
        return String.valueOf(text).hashCode();
    }
}
