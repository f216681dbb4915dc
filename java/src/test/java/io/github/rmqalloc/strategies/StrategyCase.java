// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.github.rmqalloc.strategies;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.client.consumer.AllocateMessageQueueStrategy;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMachineRoomNearby.MachineRoomResolver;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragelyByCircle;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueConsistentHash;
import org.apache.rocketmq.common.message.MessageQueue;

/** One group of a file of vectors or of a comparison; tests/support/strategy_vectors.py describes the lines. */
final class StrategyCase {
    /** Brokers and clients are in the room that their first character names. */
    private static final MachineRoomResolver FIRST_CHARACTERS = new MachineRoomResolver() {
        @Override
        public String brokerDeployIn(MessageQueue queue) {
            return first(queue.getBrokerName());
        }

        @Override
        public String consumerDeployIn(String clientId) {
            return first(clientId);
        }

        private String first(String text) {
            return text.isEmpty() ? "-" : text.substring(0, 1);
        }
    };

    final AllocateMessageQueueStrategy strategy;
    final List<MessageQueue> queues = new ArrayList<>();
    final List<String> clientIds = new ArrayList<>();
    /** The owners that the line states, null if it states none. */
    final int[] stated;

    StrategyCase(String line) {
        String[] fields = line.split("\t", -1);
        Map<String, String> parameters = new HashMap<>();
        for (String parameter : fields[1].isEmpty() ? new String[0] : fields[1].split(";")) {
            String[] parts = parameter.split("=", 2);
            parameters.put(parts[0], decoded(parts[1]));
        }
        strategy = strategy(fields[0], parameters);
        for (String queue : fields[3].split(",")) {
            String[] parts = queue.split(":", -1);
            queues.add(new MessageQueue(decoded(fields[2]), decoded(parts[0]), Integer.parseInt(parts[1])));
        }
        for (String id : fields[4].split(",", -1)) {
            clientIds.add(decoded(id));
        }
        stated = fields.length < 6 ? null : Arrays.stream(fields[5].split(",")).mapToInt(Integer::parseInt).toArray();
    }

    /** The owner of each queue as a position in the client list: what clients are given who ask one by one. */
    int[] owners() {
        int[] owners = new int[queues.size()];
        Arrays.fill(owners, -1);
        for (String id : new LinkedHashSet<>(clientIds)) {
            if (id.isEmpty()) {
                continue;
            }
            int next = 0; // shares are in the order of the queue list; queues that are equal go by identity
            for (MessageQueue queue : strategy.allocate("group", id, queues, clientIds)) {
                while (queues.get(next) != queue) {
                    next++;
                }
                if (owners[next] >= 0) {
                    throw new IllegalStateException("queue " + next + " has two owners");
                }
                owners[next++] = clientIds.indexOf(id);
            }
        }
        return owners;
    }

    private static String decoded(String text) {
        StringBuilder plain = new StringBuilder();
        for (int i = 0; i < text.length(); i++) {
            if (text.charAt(i) == '\\') {
                plain.append((char) Integer.parseInt(text.substring(i + 2, i + 6), 16));
                i += 5;
            } else {
                plain.append(text.charAt(i));
            }
        }
        return plain.toString();
    }

    private static AllocateMessageQueueStrategy strategy(String name, Map<String, String> parameters) {
        String inName = parameters.get("inner");
        AllocateMessageQueueStrategy inner = inName == null ? null : strategy(inName, new HashMap<>()); // as it is by default
        switch (name) {
            case "AVG":
                return new AllocateMessageQueueAveragely();
            case "AVG_BY_CIRCLE":
                return new AllocateMessageQueueAveragelyByCircle();
            case "CONSISTENT_HASH":
                return new AllocateMessageQueueConsistentHash();
            case "ORDINAL":
                return new AllocateOrdinal(parameters.getOrDefault("pattern", "-#"), parameters.containsKey("tables"));
            case "ORDINAL/2":
                return new AllocateOrdinal2(parameters.getOrDefault("pattern", "-#"));
            case "STABLE":
                return new AllocateStable(Integer.parseInt(parameters.getOrDefault("slack", "0")));
            case "ROTATED":
                return new AllocateRotated(inner);
            case "CONSISTENT_HASH_BOUNDED":
                return new AllocateConsistentHashBounded(Double.parseDouble(parameters.getOrDefault("load_factor", "1.25")),
                    Integer.parseInt(parameters.getOrDefault("virtual_nodes", "10")));
            case "MACHINE_ROOM_NEARBY_POOLED":
                return new AllocateMachineRoomNearbyPooled(inner, FIRST_CHARACTERS);
            case "CANARY":
                return new AllocateCanary(inner, Double.parseDouble(parameters.get("share")), parameters.getOrDefault("pattern", "*@gray"));
            default:
                throw new IllegalArgumentException("unknown strategy: " + name);
        }
    }
}
