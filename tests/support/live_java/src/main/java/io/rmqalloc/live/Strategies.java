package io.rmqalloc.live;

import com.alibaba.fastjson2.JSONObject;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import org.apache.rocketmq.client.consumer.AllocateMessageQueueStrategy;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMachineRoomNearby;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragelyByCircle;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueByConfig;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueByMachineRoom;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueConsistentHash;
import org.apache.rocketmq.common.message.MessageQueue;

/** RocketMQ's own strategies and some of a user's own, made from a command. */
final class Strategies {
    private Strategies() {
    }

    static AllocateMessageQueueStrategy of(JSONObject command) {
        switch (command.getString("strategy")) {
            case "AVG":
                return new AllocateMessageQueueAveragely();
            case "AVG_BY_CIRCLE":
                return new AllocateMessageQueueAveragelyByCircle();
            case "CONSISTENT_HASH":
                return new AllocateMessageQueueConsistentHash(command.getIntValue("virtual_nodes", 10));
            case "CONFIG":
                AllocateMessageQueueByConfig config = new AllocateMessageQueueByConfig();
                config.setMessageQueueList(queues(command));
                return config;
            case "MACHINE_ROOM":
                AllocateMessageQueueByMachineRoom room = new AllocateMessageQueueByMachineRoom();
                room.setConsumeridcs(new HashSet<>(command.getList("machine_rooms", String.class)));
                return room;
            case "MACHINE_ROOM_NEARBY":
                return new AllocateMachineRoomNearby(inner(command), new RoomByPrefix());
            case "EVEN_SHARES":
                return new io.rmqalloc.live.own.EvenShares();
            case "REVERSED":
                return new Reversed();
            case "ANONYMOUS_CIRCLE":
                return new AllocateMessageQueueAveragelyByCircle() { };
            case "NAMESAKE":
                return new io.rmqalloc.live.own.AllocateMessageQueueAveragely();
            case "ORDINAL/1":
            case "STABLE/1":
                return ours(command.getString("strategy"));
            default:
                throw new IllegalArgumentException("unknown strategy");
        }
    }

    /** A class of `java/`, which must be on the class path. */
    private static AllocateMessageQueueStrategy ours(String name) {
        String simple = name.charAt(0) + name.substring(1, name.indexOf('/')).toLowerCase(Locale.ROOT);
        try {
            Class<?> found = Class.forName("io.github.rmqalloc.strategies.Allocate" + simple);
            return (AllocateMessageQueueStrategy) found.getDeclaredConstructor().newInstance();
        } catch (ReflectiveOperationException error) {
            throw new IllegalArgumentException(error);
        }
    }

    private static AllocateMessageQueueStrategy inner(JSONObject command) {
        JSONObject inner = new JSONObject(command);
        inner.put("strategy", command.getOrDefault("inner", "AVG"));
        return of(inner);
    }

    private static List<MessageQueue> queues(JSONObject command) {
        List<MessageQueue> queues = new ArrayList<>();
        for (Object entry : command.getJSONArray("message_queues")) {
            List<?> fields = (List<?>) entry;
            queues.add(new MessageQueue((String) fields.get(0), (String) fields.get(1), ((Number) fields.get(2)).intValue()));
        }
        return queues;
    }

    /** A user's own: AVG with the queues from the last to the first. */
    private static final class Reversed implements AllocateMessageQueueStrategy {
        @Override
        public List<MessageQueue> allocate(String group, String clientId, List<MessageQueue> queues, List<String> clientIds) {
            List<MessageQueue> reversed = new ArrayList<>(queues);
            Collections.reverse(reversed);
            return new AllocateMessageQueueAveragely().allocate(group, clientId, reversed, clientIds);
        }

        @Override
        public String getName() {
            return "REVERSED";
        }
    }

    /** The room is what stands before the "@" of a broker name, and between "@" and "-" in a client id. */
    private static final class RoomByPrefix implements AllocateMachineRoomNearby.MachineRoomResolver {
        @Override
        public String brokerDeployIn(MessageQueue queue) {
            return queue.getBrokerName().split("@")[0];
        }

        @Override
        public String consumerDeployIn(String clientId) {
            return clientId.split("@")[1].split("-")[0];
        }
    }
}
