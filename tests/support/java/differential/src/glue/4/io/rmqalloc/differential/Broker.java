// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import java.util.Map;
import java.util.concurrent.ConcurrentMap;
import org.apache.rocketmq.broker.client.ConsumerGroupInfo;
import org.apache.rocketmq.broker.client.ConsumerIdsChangeListener;
import org.apache.rocketmq.broker.client.ConsumerManager;

/** What a broker of 4.9 has besides. */
class Broker extends QuietBroker {
    static Broker made(Map<String, Object> said, BrokerWorld world) throws Exception {
        Broker broker = Stubs.blank(Broker.class);
        broker.furnish(said, world);
        return broker;
    }

    ConsumerManager made(ConsumerIdsChangeListener listener) {
        consumers = new ConsumerManager(listener);
        return consumers;
    }

    void isRealTime(boolean isRealTime) {
        throw new UnsupportedOperationException("notices are always sent at once in 4.9");
    }

    @SuppressWarnings("unchecked")
    ConcurrentMap<String, ConsumerGroupInfo> groups() throws ReflectiveOperationException {
        return (ConcurrentMap<String, ConsumerGroupInfo>) Stubs.get(consumers, ConsumerManager.class, "consumerTable");
    }

    @Override
    public synchronized void registerBrokerAll(boolean checksOrder, boolean isOneway, boolean isForced) {
        // there is no name server
    }
}
