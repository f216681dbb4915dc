package io.rmqalloc.live;

import java.util.Set;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.impl.consumer.RebalanceImpl;
import org.apache.rocketmq.common.message.MessageQueue;

/** What clients of 5.x alone have: those of 4.9 have none of it. */
final class Release {
    private Release() {
    }

    static void assignByBroker(DefaultMQPushConsumer consumer) {
        throw new UnsupportedOperationException("clients of 4.9 divide the queues themselves");
    }

    static void useSecondHeartbeat(DefaultMQPushConsumer consumer) {
        throw new UnsupportedOperationException("clients of 4.9 send heartbeats of the first form");
    }

    /** Queues that are popped: none. */
    static Set<MessageQueue> popped(RebalanceImpl rebalance) {
        return Set.of();
    }
}
