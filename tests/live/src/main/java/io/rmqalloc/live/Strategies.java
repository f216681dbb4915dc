package io.rmqalloc.live;

import com.alibaba.fastjson2.JSONObject;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import org.apache.rocketmq.client.consumer.AllocateMessageQueueStrategy;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMachineRoomNearby;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragelyByCircle;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueByConfig;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueByMachineRoom;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueConsistentHash;
import org.apache.rocketmq.common.message.MessageQueue;

/** RocketMQ's own strategies, made from a command. */
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
            default:
                throw new IllegalArgumentException("unknown strategy");
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
