package io.rmqalloc.live.own;

import java.util.ArrayList;
import java.util.List;
import org.apache.rocketmq.client.consumer.AllocateMessageQueueStrategy;
import org.apache.rocketmq.common.message.MessageQueue;

/** A user's own strategy that bears the name of one of RocketMQ's, as copies that were changed do: the last client takes all. */
public final class AllocateMessageQueueAveragely implements AllocateMessageQueueStrategy {
    @Override
    public List<MessageQueue> allocate(String group, String clientId, List<MessageQueue> queues, List<String> clientIds) {
        return clientId.equals(clientIds.get(clientIds.size() - 1)) ? queues : new ArrayList<>();
    }

    @Override
    public String getName() {
        return "OWN_AVG";
    }
}
