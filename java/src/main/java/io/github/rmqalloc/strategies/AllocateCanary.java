// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.github.rmqalloc.strategies;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.rocketmq.client.consumer.AllocateMessageQueueStrategy;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * CANARY/1: a share of the queues of each broker goes to the clients of a canary, the rest to the others.
 *
 * <p>A client belongs to the canary if its whole id matches the pattern. Retry topics go to the others alone: they have one queue
 * on each broker, so that the smallest share would hand all of it to the canary. Where all clients match or none does, the inner
 * strategy divides as if there were no canary. All clients of a group must have the same share and pattern.
 */
public final class AllocateCanary implements AllocateMessageQueueStrategy {
    private static final int WHOLE = 10_000;

    private final AllocateMessageQueueStrategy inner;
    private final int share;
    private final Glob pattern;

    /**
     * Clients of the canary are those whose ids end in {@code @gray}, and AVG divides.
     *
     * @param share the part of the queues of each broker that the canary gets, rounded up; 0 to 1, at most four decimals
     */
    public AllocateCanary(double share) {
        this(new AllocateMessageQueueAveragely(), share, "*@gray");
    }

    /**
     * Any pattern and inner strategy.
     *
     * @param inner divides the queues of the canary among its clients, and the others among the others
     * @param share the part of the queues of each broker that the canary gets, rounded up; 0 to 1, at most four decimals
     * @param pattern of whole client ids: a star stands for any characters, a question mark for one
     */
    public AllocateCanary(AllocateMessageQueueStrategy inner, double share, String pattern) {
        this.inner = Objects.requireNonNull(inner, "inner");
        this.pattern = new Glob(pattern);
        this.share = (int) Math.round(WHOLE * share);
        boolean exact = Math.abs(WHOLE * share - this.share) < 1e-6;
        Checks.require(exact && share >= 0 && share <= 1, "share must be 0 to 1 with at most four decimals, it is " + share);
    }

    @Override
    public String getName() {
        return "CANARY/1-" + inner.getName();
    }

    @Override
    public List<MessageQueue> allocate(String consumerGroup, String currentCID, List<MessageQueue> mqAll,
        List<String> cidAll) {
        if (!Checks.takesPart(currentCID, mqAll, cidAll)) {
            return new ArrayList<>();
        }
        boolean inCanary = pattern.matches(currentCID);
        List<String> alike = new ArrayList<>();
        for (String id : cidAll) {
            if (id != null && pattern.matches(id) == inCanary) {
                alike.add(id);
            }
        }
        if (alike.size() == cidAll.size()) {
            return inner.allocate(consumerGroup, currentCID, mqAll, cidAll);
        }
        List<MessageQueue> queues = part(mqAll, inCanary);
        return queues.isEmpty() ? queues : inner.allocate(consumerGroup, currentCID, queues, alike);
    }

    /** The first queues of each broker for the canary, or all others. */
    private List<MessageQueue> part(List<MessageQueue> queues, boolean ofCanary) {
        String topic = queues.get(0).getTopic();
        boolean retry = topic != null && topic.startsWith("%RETRY%");
        Map<String, Integer> left = new HashMap<>();
        for (MessageQueue queue : queues) {
            left.merge(queue.getBrokerName(), 1, Integer::sum);
        }
        left.replaceAll((broker, n) -> retry ? 0 : (int) (((long) share * n + WHOLE - 1) / WHOLE));
        List<MessageQueue> part = new ArrayList<>();
        for (MessageQueue queue : queues) {
            boolean first = left.merge(queue.getBrokerName(), -1, Integer::sum) >= 0;
            if (first == ofCanary) {
                part.add(queue);
            }
        }
        return part;
    }
}
