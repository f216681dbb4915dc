// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.client.consumer.AllocateMessageQueueStrategy;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.MessageQueueListener;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragelyByCircle;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueByConfig;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueConsistentHash;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageQueue;
import ${protocol}.heartbeat.MessageModel;

/** Consumers made from their settings. */
@SuppressWarnings("deprecation") // of pull consumers, which 5 deprecates
final class Consumers {
    /** The field that holds the implementation, by kind of consumer. */
    static final Map<String, String> IMPLS = Map.of("push", "defaultMQPushConsumerImpl", "pull", "defaultMQPullConsumerImpl",
        "lite", "defaultLitePullConsumerImpl");

    private Consumers() {
    }

    static Object made(Map<String, Object> spec) throws Exception {
        ClientConfig consumer = switch ((String) spec.get("type")) {
            case "push" -> push(spec);
            case "pull" -> new DefaultMQPullConsumer((String) spec.get("group"));
            default -> new DefaultLitePullConsumer((String) spec.get("group"));
        };
        consumer.setNamesrvAddr("127.0.0.1:9876");
        consumer.setClientIP((String) spec.get("ip"));
        consumer.setInstanceName((String) spec.get("instance"));
        if (Peek.has(consumer, "setUseHeartbeatV2")) {
            Peek.call(consumer, "setUseHeartbeatV2", spec.get("heartbeat v2"));
        }
        Peek.call(consumer, "setMessageModel", MessageModel.valueOf((String) spec.get("model")));
        Peek.call(consumer, "setAllocateMessageQueueStrategy", strategy(spec));
        if (!(consumer instanceof DefaultMQPullConsumer)) {
            setFromWhere(consumer, (String) spec.get("from"));
            Peek.call(consumer, "setConsumeTimestamp", spec.get("timestamp"));
        }
        subscribe(consumer, spec);
        return consumer;
    }

    static void setFromWhere(Object consumer, String where) throws Exception {
        Peek.call(consumer, "setConsumeFromWhere", ConsumeFromWhere.valueOf(where));
    }

    private static DefaultMQPushConsumer push(Map<String, Object> spec) throws Exception {
        DefaultMQPushConsumer push = new DefaultMQPushConsumer((String) spec.get("group"));
        if (Boolean.TRUE.equals(spec.get("orderly"))) {
            push.registerMessageListener((MessageListenerOrderly) (messages, context) -> ConsumeOrderlyStatus.SUCCESS);
        } else {
            push.registerMessageListener(
                (MessageListenerConcurrently) (messages, context) -> ConsumeConcurrentlyStatus.CONSUME_SUCCESS);
        }
        List<?> thresholds = (List<?>) spec.get("thresholds");
        push.setPullThresholdForQueue(((Long) thresholds.get(0)).intValue());
        push.setPullThresholdSizeForQueue(((Long) thresholds.get(1)).intValue());
        push.setPullThresholdForTopic(((Long) thresholds.get(2)).intValue());
        push.setPullThresholdSizeForTopic(((Long) thresholds.get(3)).intValue());
        if (Peek.has(push, "setClientRebalance")) {
            Peek.call(push, "setClientRebalance", spec.get("client rebalance"));
        }
        if (Peek.has(push, "setMessageQueueListener")) {
            Peek.call(push, "setMessageQueueListener", listener(spec));
        }
        return push;
    }

    private static void subscribe(Object consumer, Map<String, Object> spec) throws Exception {
        if (consumer instanceof DefaultMQPullConsumer pull) {
            pull.setMessageQueueListener(listener(spec));
            Peek.set(pull, "registerTopics", new TreeSet<String>()); // in the order in which the product has them
            ((List<?>) spec.get("topics")).forEach(topic -> pull.getRegisterTopics().add((String) topic));
            return;
        }
        for (Object topic : (List<?>) spec.get("topics")) {
            MessageQueueListener listener = listener(spec);
            if (consumer instanceof DefaultLitePullConsumer lite && listener != null) {
                Peek.call(lite, "subscribe", topic, "*", listener);
            } else {
                Peek.call(consumer, "subscribe", topic, "*");
            }
        }
        if (consumer instanceof DefaultLitePullConsumer lite && !((List<?>) spec.get("assigned")).isEmpty()) {
            lite.assign(Queues.read((List<?>) spec.get("assigned")));
        }
    }

    private static MessageQueueListener listener(Map<String, Object> spec) {
        if (spec.get("listener") == null) {
            return null;
        }
        return (topic, all, mine) -> {
            World.see("listener", spec.get("group"), topic, Queues.told(all), Queues.told(mine));
            if (spec.get("listener").equals("throws")) {
                throw new IllegalStateException("told to throw");
            }
        };
    }

    private static AllocateMessageQueueStrategy strategy(Map<String, Object> spec) {
        String name = (String) spec.get("strategy");
        List<MessageQueue> given = Queues.read((List<?>) spec.get("given"));
        return switch (name) {
            case "AVG" -> new AllocateMessageQueueAveragely();
            case "AVG_BY_CIRCLE" -> new AllocateMessageQueueAveragelyByCircle();
            case "CONSISTENT_HASH" -> new AllocateMessageQueueConsistentHash();
            case "CONFIG" -> {
                AllocateMessageQueueByConfig config = new AllocateMessageQueueByConfig();
                config.setMessageQueueList(given);
                yield config;
            }
            default -> new Odd(name);
        };
    }

    /** A strategy that no release has. */
    private record Odd(String name) implements AllocateMessageQueueStrategy {
        @Override
        public List<MessageQueue> allocate(String group, String client, List<MessageQueue> queues, List<String> clients) {
            World.see("strategy", group, client, Queues.told(queues), clients);
            return switch (name) {
                case "THROWS" -> throw new IllegalStateException("told to throw");
                case "NULL" -> null;
                default -> queues;
            };
        }

        @Override
        public String getName() {
            return name;
        }
    }
}
