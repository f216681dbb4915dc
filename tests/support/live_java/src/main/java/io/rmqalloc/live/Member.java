package io.rmqalloc.live;

import com.alibaba.fastjson2.JSONObject;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.impl.consumer.DefaultLitePullConsumerImpl;
import org.apache.rocketmq.client.impl.consumer.RebalanceImpl;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * One consumer. Of the command: name, group, topics, strategy and its parameters, instance (by default the name: two members
 * of one instance name share a client id in two processes), kind (push or lite_pull), orderly, broadcasting, tags (of all topics
 * of a push consumer; every message by default), server_assignment for a push consumer whose queues the broker assigns,
 * from_first for a push consumer that reads a queue without a stored offset from its first message, heartbeat_v2, and client_ip
 * for a push consumer whose id begins with another address than this machine's.
 */
final class Member {
    private static final int LOOK_EVERY_MS = Integer.getInteger("rmqalloc.lookEvery", 30_000);
    /** With a single one, the default on one processor, a client cannot answer what needs an answer of a broker first. */
    private static final int CALLBACK_THREADS =
        Integer.getInteger("rmqalloc.callbackThreads", Math.max(2, Runtime.getRuntime().availableProcessors()));

    private final DefaultMQPushConsumer push;
    private final DefaultLitePullConsumer pull;
    private String clientId;

    Member(String nameServer, JSONObject command) throws Exception {
        boolean isPull = "lite_pull".equals(command.getString("kind"));
        push = isPull ? null : pushConsumer(nameServer, command);
        pull = isPull ? pullConsumer(nameServer, command) : null;
    }

    private static DefaultMQPushConsumer pushConsumer(String nameServer, JSONObject command) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(command.getString("group"));
        consumer.setNamesrvAddr(nameServer);
        consumer.setInstanceName(instance(command));
        consumer.setPollNameServerInterval(LOOK_EVERY_MS);
        consumer.setHeartbeatBrokerInterval(LOOK_EVERY_MS);
        consumer.setClientCallbackExecutorThreads(CALLBACK_THREADS);
        consumer.setMessageModel(Enum.valueOf(consumer.getMessageModel().getDeclaringClass(), model(command)));
        consumer.setAllocateMessageQueueStrategy(Strategies.of(command));
        if (command.getBooleanValue("server_assignment")) {
            Release.assignByBroker(consumer);
        }
        if (command.getBooleanValue("heartbeat_v2")) {
            Release.useSecondHeartbeat(consumer);
        }
        if (command.getString("client_ip") != null) {
            consumer.setClientIP(command.getString("client_ip"));
        }
        if (command.getBooleanValue("from_first")) {
            consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        }
        consumer.setConsumeThreadMin(1);
        consumer.setConsumeThreadMax(1);
        for (String topic : command.getList("topics", String.class)) {
            consumer.subscribe(topic, command.getString("tags") == null ? "*" : command.getString("tags"));
        }
        String group = command.getString("group");
        String name = command.getString("name");
        if (command.getBooleanValue("orderly")) {
            consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
                given(group, name, messages);
                return ConsumeOrderlyStatus.SUCCESS;
            });
        } else {
            consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
                given(group, name, messages);
                return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
            });
        }
        return consumer;
    }

    private static void given(String group, String name, List<MessageExt> messages) {
        if (Deliveries.FILE != null) {
            Deliveries.FILE.note(group, name, messages);
        } else {
            messages.forEach(message -> Consumed.count(group, message));
        }
    }

    private static DefaultLitePullConsumer pullConsumer(String nameServer, JSONObject command) throws Exception {
        DefaultLitePullConsumer consumer = new DefaultLitePullConsumer(command.getString("group"));
        consumer.setNamesrvAddr(nameServer);
        consumer.setInstanceName(instance(command));
        consumer.setPollNameServerInterval(LOOK_EVERY_MS);
        consumer.setHeartbeatBrokerInterval(LOOK_EVERY_MS);
        consumer.setClientCallbackExecutorThreads(CALLBACK_THREADS);
        consumer.setMessageModel(Enum.valueOf(consumer.getMessageModel().getDeclaringClass(), model(command)));
        consumer.setAllocateMessageQueueStrategy(Strategies.of(command));
        for (String topic : command.getList("topics", String.class)) {
            consumer.subscribe(topic, "*");
        }
        return consumer;
    }

    private static String instance(JSONObject command) {
        String instance = command.getString("instance");
        return instance == null ? command.getString("name") : instance;
    }

    private static String model(JSONObject command) { // the class MessageModel has another name in 4.9
        return command.getBooleanValue("broadcasting") ? "BROADCASTING" : "CLUSTERING";
    }

    void join() throws Exception {
        if (push != null) {
            push.start();
            clientId = push.buildMQClientId();
        } else {
            pull.start();
            clientId = pull.buildMQClientId();
        }
    }

    void leave() {
        if (push != null) {
            push.shutdown();
        } else {
            pull.shutdown();
        }
    }

    String clientId() {
        return clientId;
    }

    /** The queues this consumer works on: those of its process queues that are not dropped. */
    Set<MessageQueue> queues() {
        Set<MessageQueue> queues = new TreeSet<>();
        RebalanceImpl rebalance = push != null ? push.getDefaultMQPushConsumerImpl().getRebalanceImpl() : rebalanceOf(pull);
        rebalance.getProcessQueueTable().forEach((queue, process) -> {
            if (!process.isDropped()) {
                queues.add(queue);
            }
        });
        queues.addAll(Release.popped(rebalance));
        return queues;
    }

    private static RebalanceImpl rebalanceOf(DefaultLitePullConsumer consumer) {
        try {
            var implementation = DefaultLitePullConsumer.class.getDeclaredField("defaultLitePullConsumerImpl");
            implementation.setAccessible(true);
            var rebalance = DefaultLitePullConsumerImpl.class.getDeclaredField("rebalanceImpl");
            rebalance.setAccessible(true);
            return (RebalanceImpl) rebalance.get(implementation.get(consumer));
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }
}
