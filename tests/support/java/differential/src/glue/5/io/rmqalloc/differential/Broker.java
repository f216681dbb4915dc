// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import java.util.Map;
import java.util.concurrent.ConcurrentMap;
import org.apache.rocketmq.broker.client.ConsumerGroupInfo;
import org.apache.rocketmq.broker.client.ConsumerIdsChangeListener;
import org.apache.rocketmq.broker.client.ConsumerManager;
import org.apache.rocketmq.broker.out.BrokerOuterAPI;
import org.apache.rocketmq.broker.topic.TopicRouteInfoManager;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.remoting.protocol.DataVersion;
import org.apache.rocketmq.store.MessageStore;

/** What a broker of 5 has besides. */
class Broker extends QuietBroker {
    private BrokerOuterAPI nameServers;
    private TopicRouteInfoManager routes;

    static Broker made(Map<String, Object> said, BrokerWorld world) throws Exception {
        Broker broker = Stubs.blank(Broker.class);
        broker.furnish(said, world);
        broker.config.setRealTimeNotifyConsumerChange((Boolean) said.get("real time"));
        broker.config.setRejectPullConsumerEnable((Boolean) said.get("rejects pull"));
        broker.config.setEnableFastChannelEventProcess((Boolean) said.get("fast"));
        broker.config.setServerLoadBalancerEnable((Boolean) said.get("divides"));
        broker.config.setDefaultMessageRequestMode((String) said.get("mode"));
        broker.config.setDefaultPopShareQueueNum(((Long) said.get("share")).intValue());
        broker.config.setChannelExpiredTimeout((Long) said.get("expired"));
        broker.nameServers = Stubs.blank(BrokerOuterAPI.class);
        Stubs.set(broker.nameServers, BrokerOuterAPI.class, "remotingClient", Stubs.client(world));
        return broker;
    }

    ConsumerManager made(ConsumerIdsChangeListener listener) {
        consumers = new ConsumerManager(listener, null, config);
        routes = new TopicRouteInfoManager(this);
        routes.start();
        return consumers;
    }

    void isRealTime(boolean isRealTime) {
        config.setRealTimeNotifyConsumerChange(isRealTime);
    }

    ConcurrentMap<String, ConsumerGroupInfo> groups() {
        return consumers.getConsumerTable();
    }

    @Override
    public MessageStore getMessageStore() {
        return null;
    }

    @Override
    public BrokerOuterAPI getBrokerOuterAPI() {
        return nameServers;
    }

    @Override
    public TopicRouteInfoManager getTopicRouteInfoManager() {
        return routes;
    }

    @Override
    public synchronized void registerIncrementBrokerData(TopicConfig topic, DataVersion version) {
        // there is no name server
    }
}
