// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import io.netty.channel.ChannelHandlerContext;
import java.util.Map;
import org.apache.rocketmq.broker.client.rebalance.RebalanceLockManager;

/** This line's brokers do not divide queues. */
final class Assignment {
    Assignment(Broker broker) {
    }

    Object happens(ChannelHandlerContext context, Map<String, Object> event) {
        throw new UnsupportedOperationException(event.get("kind") + " in 4.9");
    }

    static Object isLockAllExpired(RebalanceLockManager locks, String group) {
        throw new UnsupportedOperationException("all expired in 4.9");
    }
}
