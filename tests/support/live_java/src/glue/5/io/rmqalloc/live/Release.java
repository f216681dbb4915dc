package io.rmqalloc.live;

import java.util.HashSet;
import java.util.Set;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.impl.consumer.RebalanceImpl;
import org.apache.rocketmq.common.message.MessageQueue;

/** What clients of 5.x alone have. */
final class Release {
    private Release() {
    }

    static void assignByBroker(DefaultMQPushConsumer consumer) {
        consumer.setClientRebalance(false);
    }

    static void useSecondHeartbeat(DefaultMQPushConsumer consumer) {
        consumer.setUseHeartbeatV2(true);
    }

    /** Queues that are popped and not dropped. */
    static Set<MessageQueue> popped(RebalanceImpl rebalance) {
        Set<MessageQueue> queues = new HashSet<>();
        rebalance.getPopProcessQueueTable().forEach((queue, process) -> {
            if (!process.isDropped()) {
                queues.add(queue);
            }
        });
        return queues;
    }
}
