// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.github.rmqalloc.strategies;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.rocketmq.client.consumer.AllocateMessageQueueStrategy;
import org.apache.rocketmq.common.message.MessageQueue;

/** A strategy that finds the owners of all queues, whoever asks, and answers with the caller's own. */
abstract class OwnersStrategy implements AllocateMessageQueueStrategy {

    /** The owner of each queue, as a position in the client list; -1 is nobody. Repeated ids own at their first position. */
    abstract int[] owners(List<MessageQueue> queues, List<String> clientIds);

    @Override
    public final List<MessageQueue> allocate(String consumerGroup, String currentCID, List<MessageQueue> mqAll,
        List<String> cidAll) {
        List<MessageQueue> own = new ArrayList<>();
        if (!Checks.takesPart(currentCID, mqAll, cidAll)) {
            return own;
        }
        int self = cidAll.indexOf(currentCID);
        int[] owners = owners(mqAll, cidAll);
        for (int q = 0; q < owners.length; q++) {
            if (owners[q] == self) {
                own.add(mqAll.get(q));
            }
        }
        return own;
    }

    /** The positions of ids that take part: not empty, and not there before. */
    static int[] distinct(List<String> clientIds) {
        Set<String> seen = new HashSet<>();
        int[] positions = new int[clientIds.size()];
        int n = 0;
        for (int i = 0; i < positions.length; i++) {
            String id = clientIds.get(i);
            if (id != null && !id.isEmpty() && seen.add(id)) {
                positions[n++] = i;
            }
        }
        return Arrays.copyOf(positions, n);
    }
}
