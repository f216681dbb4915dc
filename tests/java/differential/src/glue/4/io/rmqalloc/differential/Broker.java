// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import java.util.Collection;
import java.util.Map;
import java.util.concurrent.ConcurrentMap;
import org.apache.rocketmq.broker.BrokerController;
import org.apache.rocketmq.broker.client.ConsumerGroupInfo;
import org.apache.rocketmq.broker.client.ConsumerIdsChangeListener;
import org.apache.rocketmq.broker.client.ConsumerManager;
import org.apache.rocketmq.broker.client.net.Broker2Client;
import org.apache.rocketmq.broker.filter.ConsumerFilterManager;
import org.apache.rocketmq.broker.subscription.SubscriptionGroupManager;
import org.apache.rocketmq.broker.topic.TopicConfigManager;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.remoting.RemotingServer;
import org.apache.rocketmq.common.protocol.heartbeat.SubscriptionData;
import org.apache.rocketmq.store.config.MessageStoreConfig;

/** A broker that was never started: the parts that a rebalance meets. */
class Broker extends BrokerController {
    private BrokerConfig config;
    private MessageStoreConfig storeConfig;
    private RemotingServer server;
    private Broker2Client toClients;
    private Filters filters;
    private Groups groups;
    private Topics topics;
    private ConsumerManager consumers;

    private Broker() {
        super(null, null, null, null); // never called
    }

    static Broker made(Map<String, Object> said, BrokerWorld world) throws Exception {
        Broker broker = Stubs.blank(Broker.class);
        BrokerConfig config = new BrokerConfig();
        config.setBrokerName("b0");
        config.setNotifyConsumerIdsChangedEnable((Boolean) said.get("notify"));
        config.setAutoCreateSubscriptionGroup((Boolean) said.get("auto create"));
        broker.config = config;
        broker.storeConfig = new MessageStoreConfig();
        broker.storeConfig.setStorePathRootDir("/nonexistent");
        broker.server = Stubs.server(world);
        broker.toClients = new Broker2Client(broker);
        broker.filters = Stubs.blank(Filters.class);
        broker.groups = new Groups(broker);
        broker.topics = new Topics(broker);
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
    public BrokerConfig getBrokerConfig() {
        return config;
    }

    @Override
    public MessageStoreConfig getMessageStoreConfig() {
        return storeConfig;
    }

    @Override
    public RemotingServer getRemotingServer() {
        return server;
    }

    @Override
    public Broker2Client getBroker2Client() {
        return toClients;
    }

    @Override
    public ConsumerFilterManager getConsumerFilterManager() {
        return filters;
    }

    @Override
    public SubscriptionGroupManager getSubscriptionGroupManager() {
        return groups;
    }

    @Override
    public TopicConfigManager getTopicConfigManager() {
        return topics;
    }

    @Override
    public ConsumerManager getConsumerManager() {
        return consumers;
    }

    @Override
    public synchronized void registerBrokerAll(boolean checksOrder, boolean isOneway, boolean isForced) {
        // there is no name server
    }

    private static final class Filters extends ConsumerFilterManager {
        @Override
        public void register(String group, Collection<SubscriptionData> all) {
            // no filters
        }

        @Override
        public void unRegister(String group) {
            // no filters
        }
    }

    private static final class Groups extends SubscriptionGroupManager {
        Groups(BrokerController broker) {
            super(broker);
        }

        @Override
        public synchronized void persist() {
            // no disk
        }
    }

    private static final class Topics extends TopicConfigManager {
        Topics(BrokerController broker) {
            super(broker);
        }

        @Override
        public synchronized void persist() {
            // no disk
        }
    }
}
