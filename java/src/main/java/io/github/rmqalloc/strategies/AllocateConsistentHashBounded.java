// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.github.rmqalloc.strategies;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * CONSISTENT_HASH_BOUNDED/1: RocketMQ's ring, on which no client gets much more than its share.
 *
 * <p>A queue goes up the ring to the first client that has fewer queues than the load factor allows: a load factor of 1.25 means at
 * most 125 % of the mean, rounded up. All clients of a group must have the same load factor and virtual nodes.
 */
public final class AllocateConsistentHashBounded extends OwnersStrategy {
    private final int percent;
    private final int virtualNodes;

    /** A load factor of 1.25 and 10 virtual nodes. */
    public AllocateConsistentHashBounded() {
        this(1.25, 10);
    }

    /**
     * Any load factor and number of virtual nodes.
     *
     * @param loadFactor the most queues of a client over the mean; at least 1, at most two decimals
     * @param virtualNodes points of each client on the ring; with 0 nobody owns anything, as in RocketMQ
     */
    public AllocateConsistentHashBounded(double loadFactor, int virtualNodes) {
        percent = (int) Math.round(100 * loadFactor);
        boolean exact = Math.abs(100 * loadFactor - percent) < 1e-6;
        Checks.require(exact && percent >= 100, "loadFactor must be at least 1 with at most two decimals, it is " + loadFactor);
        Checks.require(virtualNodes >= 0, "illegal virtualNodeCnt :" + virtualNodes);
        this.virtualNodes = virtualNodes;
    }

    @Override
    public String getName() {
        return "CONSISTENT_HASH_BOUNDED/1";
    }

    @Override
    int[] owners(List<MessageQueue> queues, List<String> clientIds) {
        long whole = 100L * new HashSet<>(clientIds).size();
        int cap = (int) (((long) percent * queues.size() + whole - 1) / whole);
        BoundedRing ring = new BoundedRing(clientIds, virtualNodes);
        Map<String, Integer> loads = new HashMap<>();
        int[] owners = new int[queues.size()];
        for (int q = 0; q < owners.length; q++) {
            String client = ring.next(queues.get(q).toString(), loads, cap);
            loads.merge(client, 1, Integer::sum);
            owners[q] = clientIds.indexOf(client);
        }
        return owners;
    }
}
