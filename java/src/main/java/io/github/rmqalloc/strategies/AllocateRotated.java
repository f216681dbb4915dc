// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.github.rmqalloc.strategies;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import org.apache.rocketmq.client.consumer.AllocateMessageQueueStrategy;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * ROTATED/1: another client comes first in every topic.
 *
 * <p>What is left over after even shares falls to the first clients of the list, in every topic to the same ones. Here the list that
 * the inner strategy gets begins with a client that the hash of the topic chooses, so that many small topics load all
 * clients alike. Over CONSISTENT_HASH, which does not go by positions, nothing changes.
 */
public final class AllocateRotated implements AllocateMessageQueueStrategy {
    private final AllocateMessageQueueStrategy inner;

    /** Over AVG. */
    public AllocateRotated() {
        this(new AllocateMessageQueueAveragely());
    }

    /**
     * Over another strategy.
     *
     * @param inner divides the queues
     */
    public AllocateRotated(AllocateMessageQueueStrategy inner) {
        this.inner = Objects.requireNonNull(inner, "inner");
    }

    @Override
    public String getName() {
        return "ROTATED/1-" + inner.getName();
    }

    @Override
    public List<MessageQueue> allocate(String consumerGroup, String currentCID, List<MessageQueue> mqAll,
        List<String> cidAll) {
        if (!Checks.takesPart(currentCID, mqAll, cidAll)) {
            return new ArrayList<>();
        }
        List<String> rotated = new ArrayList<>(cidAll);
        Collections.rotate(rotated, -Mix.below(Mix.mix64(Mix.topicHash(mqAll)), cidAll.size()));
        return inner.allocate(consumerGroup, currentCID, mqAll, rotated);
    }
}
