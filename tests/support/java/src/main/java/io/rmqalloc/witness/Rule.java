// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.witness;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.broker.processor.QueryAssignmentProcessor;
import org.apache.rocketmq.client.consumer.AllocateMessageQueueStrategy;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMachineRoomNearby;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMachineRoomNearby.MachineRoomResolver;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragelyByCircle;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueByConfig;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueByMachineRoom;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueConsistentHash;
import org.apache.rocketmq.common.consistenthash.HashFunction;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * One of RocketMQ's own rules, made from its name and the params of a case.
 *
 * @param name what getName() says; POP sharing is no strategy in RocketMQ and is called POP here
 * @param source the list whose very objects the rule hands out: the case's queues, or the configured ones
 */
record Rule(String name, List<MessageQueue> source, Share share) {
    private static final String GROUP = "group";
    /** A broker is not needed: its absence only means that no saved request modes are loaded. */
    private static final QueryAssignmentProcessor BROKER = new QueryAssignmentProcessor(null);

    /** What one client is given. */
    interface Share {
        List<MessageQueue> of(String current, List<MessageQueue> queues, List<String> clients);
    }

    static Rule of(String name, Map<String, Object> params, List<MessageQueue> queues) {
        if (name.equals("POP")) {
            Rule inner = inner(params, queues);
            AllocateMessageQueueStrategy strategy = inner.strategy();
            int share = integer(params.get("share"));
            return new Rule(name, inner.source, (current, mqAll, cidAll) ->
                BROKER.allocate4Pop(strategy, GROUP, current, mqAll, cidAll, share));
        }
        if (name.startsWith("MACHINE_ROOM_NEARBY")) {
            Rule inner = params.get("inner") == null ? null : inner(params, queues);
            return of(new AllocateMachineRoomNearby(inner == null ? null : inner.strategy(), rooms(params, queues)),
                inner == null ? queues : inner.source);
        }
        return switch (name) {
            case "AVG" -> of(new AllocateMessageQueueAveragely(), queues);
            case "AVG_BY_CIRCLE" -> of(new AllocateMessageQueueAveragelyByCircle(), queues);
            case "CONSISTENT_HASH" -> of(consistentHash(params), queues);
            case "MACHINE_ROOM" -> of(machineRoom(params), queues);
            case "CONFIG" -> config(params);
            default -> throw new IllegalStateException("unknown strategy: " + name);
        };
    }

    private static Rule of(AllocateMessageQueueStrategy strategy, List<MessageQueue> source) {
        return new Rule(strategy.getName(), source, new Plain(strategy));
    }

    /** A share that is just a strategy's, so that a wrapper can have the strategy back. */
    private record Plain(AllocateMessageQueueStrategy strategy) implements Share {
        @Override
        public List<MessageQueue> of(String current, List<MessageQueue> queues, List<String> clients) {
            return strategy.allocate(GROUP, current, queues, clients);
        }
    }

    private AllocateMessageQueueStrategy strategy() {
        return ((Plain) share).strategy();
    }

    private static Rule inner(Map<String, Object> params, List<MessageQueue> queues) {
        Map<String, Object> inner = Case.object(params.get("inner"));
        return of((String) inner.get("strategy"), Case.object(inner.get("params")), queues);
    }

    private static AllocateMessageQueueStrategy consistentHash(Map<String, Object> params) {
        if (params.get("hash") != null) {
            return new AllocateMessageQueueConsistentHash(integer(params.getOrDefault("vnodes", 10L)),
                hash((String) params.get("hash")));
        }
        return params.containsKey("vnodes")
            ? new AllocateMessageQueueConsistentHash(integer(params.get("vnodes")))
            : new AllocateMessageQueueConsistentHash();
    }

    /** Hash functions that another language can repeat: all start from {@link String#hashCode()}. */
    private static HashFunction hash(String name) {
        return switch (name) {
            case "java_hash" -> String::hashCode;
            case "tiny" -> key -> key.hashCode() % 50;
            case "wide" -> key -> key.hashCode() * 0x9E3779B97F4A7C15L;
            default -> throw new IllegalStateException("unknown hash function: " + name);
        };
    }

    private static AllocateMessageQueueStrategy machineRoom(Map<String, Object> params) {
        AllocateMessageQueueByMachineRoom strategy = new AllocateMessageQueueByMachineRoom();
        List<String> rooms = Case.strings(params.get("idcs"));
        strategy.setConsumeridcs(rooms == null ? null : new HashSet<>(rooms));
        return strategy;
    }

    private static Rule config(Map<String, Object> params) {
        List<MessageQueue> config = Case.queues(params.get("config"));
        AllocateMessageQueueByConfig strategy = new AllocateMessageQueueByConfig();
        strategy.setMessageQueueList(config);
        return of(strategy, config == null ? new ArrayList<>() : config);
    }

    /** Rooms are looked up by the queue object itself: equal queues may stand in different rooms. */
    private static MachineRoomResolver rooms(Map<String, Object> params, List<MessageQueue> queues) {
        List<String> queueRooms = Case.strings(params.get("queue_rooms"));
        Map<String, Object> clientRooms = Case.object(params.get("client_rooms"));
        Map<MessageQueue, String> roomOf = new IdentityHashMap<>();
        for (int i = 0; queues != null && i < queues.size(); i++) {
            roomOf.put(queues.get(i), queueRooms.get(i));
        }
        return new MachineRoomResolver() {
            @Override
            public String brokerDeployIn(MessageQueue queue) {
                return roomOf.get(queue);
            }

            @Override
            public String consumerDeployIn(String clientId) {
                return (String) clientRooms.get(clientId);
            }
        };
    }

    private static int integer(Object number) {
        return Math.toIntExact((Long) number);
    }
}
