// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import java.util.Collection;
import java.util.Map;
import org.apache.rocketmq.broker.BrokerController;
import org.apache.rocketmq.broker.client.ConsumerManager;
import org.apache.rocketmq.broker.client.net.Broker2Client;
import org.apache.rocketmq.broker.filter.ConsumerFilterManager;
import org.apache.rocketmq.broker.subscription.SubscriptionGroupManager;
import org.apache.rocketmq.broker.topic.TopicConfigManager;
import org.apache.rocketmq.common.BrokerConfig;
import org.apache.rocketmq.remoting.RemotingServer;
import ${protocol}.heartbeat.SubscriptionData;
import org.apache.rocketmq.store.config.MessageStoreConfig;

/** A broker that was never started: the parts that a rebalance meets, as every release has them. */
abstract class QuietBroker extends BrokerController {
    BrokerConfig config;
    ConsumerManager consumers;
    private MessageStoreConfig storeConfig;
    private RemotingServer server;
    private Broker2Client toClients;
    private Filters filters;
    private Groups groups;
    private Topics topics;

    QuietBroker() {
        super(null, null, null, null); // never called
    }

    /** What a constructor would do; the real one is passed over. */
    void furnish(Map<String, Object> said, BrokerWorld world) throws Exception {
        config = new BrokerConfig();
        config.setBrokerName("b0");
        config.setNotifyConsumerIdsChangedEnable((Boolean) said.get("notify"));
        config.setAutoCreateSubscriptionGroup((Boolean) said.get("auto create"));
        storeConfig = new MessageStoreConfig();
        storeConfig.setStorePathRootDir("/nonexistent");
        server = Stubs.server(world);
        toClients = new Broker2Client(this);
        filters = Stubs.blank(Filters.class);
        groups = new Groups(this);
        topics = new Topics(this);
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
