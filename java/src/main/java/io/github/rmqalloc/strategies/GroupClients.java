// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.github.rmqalloc.strategies;

import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.function.Supplier;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.impl.MQClientManager;
import org.apache.rocketmq.client.impl.factory.MQClientInstance;
import org.apache.rocketmq.remoting.RPCHook;
import org.apache.rocketmq.remoting.exception.RemotingException;

/**
 * The ids of the clients of a group, asked from a broker at every call. It is a client of the cluster, but a member of no group;
 * close it when the slot is confirmed.
 */
public final class GroupClients implements Supplier<List<String>>, AutoCloseable {
    private static final long TIMEOUT_MILLIS = 3_000;

    private final MQClientInstance client;
    private final String topic;
    private final String consumerGroup;

    /**
     * Connects to the cluster.
     *
     * @param config name servers and all else that is needed to connect; it stays as it is
     * @param rpcHook what signs requests, as the consumer has it; null for none
     * @param topic a topic that the group consumes: one of its brokers is asked
     * @param consumerGroup the group
     * @throws MQClientException if it cannot start
     */
    @SuppressWarnings("deprecation") // withNamespace is, from 5.x on, for clients that do not use it
    public GroupClients(ClientConfig config, RPCHook rpcHook, String topic, String consumerGroup) throws MQClientException {
        ClientConfig own = config.cloneClientConfig();
        own.setInstanceName("slot-claim-" + UUID.randomUUID());
        this.client = MQClientManager.getInstance().getOrCreateMQClientInstance(own, rpcHook);
        this.topic = config.withNamespace(topic);
        this.consumerGroup = config.withNamespace(consumerGroup);
        client.start();
    }

    /**
     * The ids that are there now; none if the group has no client.
     *
     * @throws IllegalStateException if no broker answers
     */
    @Override
    public List<String> get() {
        client.updateTopicRouteInfoFromNameServer(topic);
        String broker = client.findBrokerAddrByTopic(topic);
        if (broker == null) {
            throw new IllegalStateException("no broker has the topic " + topic);
        }
        try {
            return client.getMQClientAPIImpl().getConsumerIdListByGroup(broker, consumerGroup, TIMEOUT_MILLIS);
        } catch (MQBrokerException answer) {
            if (String.valueOf(answer.getErrorMessage()).contains("no consumer for this group")) {
                return new ArrayList<>();
            }
            throw new IllegalStateException("the broker " + broker + " does not list " + consumerGroup, answer);
        } catch (RemotingException failure) {
            throw new IllegalStateException("the broker " + broker + " does not answer", failure);
        } catch (InterruptedException interruption) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while waiting for the broker " + broker, interruption);
        }
    }

    @Override
    public void close() {
        client.shutdown();
    }
}
