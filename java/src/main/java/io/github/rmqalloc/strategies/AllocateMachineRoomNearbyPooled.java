// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.github.rmqalloc.strategies;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;
import org.apache.rocketmq.client.consumer.AllocateMessageQueueStrategy;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMachineRoomNearby.MachineRoomResolver;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * MACHINE_ROOM_NEARBY_POOLED/1: clients take the queues of their own machine room, and what lies in rooms without clients is
 * divided evenly.
 *
 * <p>RocketMQ's AllocateMachineRoomNearby divides every room without clients by itself, so that the first clients get the odd queue
 * of each. Here the queues of all these rooms are one list, and each goes to the client with the fewest queues so far.
 */
public final class AllocateMachineRoomNearbyPooled implements AllocateMessageQueueStrategy {
    private final AllocateMessageQueueStrategy inner;
    private final MachineRoomResolver rooms;

    /**
     * Within rooms by AVG.
     *
     * @param rooms says where brokers and clients are
     */
    public AllocateMachineRoomNearbyPooled(MachineRoomResolver rooms) {
        this(new AllocateMessageQueueAveragely(), rooms);
    }

    /**
     * Within rooms by another strategy.
     *
     * @param inner divides the queues of a room among its clients
     * @param rooms says where brokers and clients are
     */
    public AllocateMachineRoomNearbyPooled(AllocateMessageQueueStrategy inner, MachineRoomResolver rooms) {
        this.inner = Objects.requireNonNull(inner, "inner");
        this.rooms = Objects.requireNonNull(rooms, "rooms");
    }

    @Override
    public String getName() {
        return "MACHINE_ROOM_NEARBY_POOLED/1-" + inner.getName();
    }

    @Override
    public List<MessageQueue> allocate(String consumerGroup, String currentCID, List<MessageQueue> mqAll,
        List<String> cidAll) {
        if (!Checks.takesPart(currentCID, mqAll, cidAll)) {
            return new ArrayList<>();
        }
        Map<String, List<MessageQueue>> queues = byRoom(mqAll, rooms::brokerDeployIn, "mq ");
        Map<String, List<String>> clients = byRoom(cidAll, rooms::consumerDeployIn, "consumer id ");
        Function<String, List<MessageQueue>> home = id -> {
            String room = rooms.consumerDeployIn(id);
            List<MessageQueue> near = queues.get(room);
            return near == null ? new ArrayList<>() : inner.allocate(consumerGroup, id, near, clients.get(room));
        };
        Set<MessageQueue> own = Collections.newSetFromMap(new IdentityHashMap<>());
        own.addAll(home.apply(currentCID));
        List<MessageQueue> pool = new ArrayList<>(mqAll);
        pool.removeIf(queue -> clients.containsKey(rooms.brokerDeployIn(queue)));
        own.addAll(dealt(pool, currentCID, cidAll, home));
        List<MessageQueue> inOrder = new ArrayList<>(mqAll);
        inOrder.removeIf(queue -> !own.contains(queue));
        return inOrder;
    }

    /** What a client gets of the pool: each queue goes to the client that has the fewest so far, the first of these. */
    private static List<MessageQueue> dealt(List<MessageQueue> pool, String currentCID, List<String> cidAll,
        Function<String, List<MessageQueue>> home) {
        List<MessageQueue> own = new ArrayList<>();
        if (pool.isEmpty()) {
            return own;
        }
        Map<String, Integer> loads = new LinkedHashMap<>();
        for (String id : new LinkedHashSet<>(cidAll)) {
            loads.put(id, id.isEmpty() ? 0 : home.apply(id).size()); // nobody asks as the empty id, and what it gets is nobody's
        }
        for (MessageQueue queue : pool) {
            String least = Collections.min(loads.keySet(), Comparator.comparing(loads::get));
            loads.merge(least, 1, Integer::sum);
            if (least.equals(currentCID)) {
                own.add(queue);
            }
        }
        return own;
    }

    /** The items of each room in their order, in RocketMQ's words where one is nowhere. */
    private static <T> Map<String, List<T>> byRoom(List<T> items, Function<T, String> roomOf, String what) {
        Map<String, List<T>> byRoom = new HashMap<>();
        for (T item : items) {
            String room = roomOf.apply(item);
            Checks.require(room != null && !room.isEmpty(), "Machine room is null for " + what + item);
            byRoom.computeIfAbsent(room, none -> new ArrayList<>()).add(item);
        }
        return byRoom;
    }
}
