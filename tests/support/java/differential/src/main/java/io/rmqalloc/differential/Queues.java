// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.rocketmq.common.message.MessageQueue;

/** Queues as they are written: {@code "topic|broker|id"}. */
final class Queues {
    private Queues() {
    }

    static String told(MessageQueue queue) {
        return queue == null ? null : queue.getTopic() + "|" + queue.getBrokerName() + "|" + queue.getQueueId();
    }

    static List<Object> told(Collection<MessageQueue> queues) {
        if (queues == null) {
            return null;
        }
        List<Object> told = new ArrayList<>();
        for (MessageQueue queue : new TreeSet<>(queues)) {
            told.add(told(queue));
        }
        return told;
    }

    static MessageQueue read(Object text) {
        if (text == null) {
            return null;
        }
        String[] parts = ((String) text).split("\\|");
        return new MessageQueue(parts[0], parts[1], Integer.parseInt(parts[2]));
    }

    static List<MessageQueue> read(List<?> texts) {
        List<MessageQueue> queues = new ArrayList<>();
        texts.forEach(text -> queues.add(read(text)));
        return queues;
    }

    /** As RocketMQ writes a queue in JSON. */
    static MessageQueue ofJson(Map<String, Object> json) {
        return new MessageQueue((String) json.get("topic"), (String) json.get("brokerName"),
            ((Long) json.get("queueId")).intValue());
    }

    static Map<String, Object> json(MessageQueue queue) {
        return Map.of("topic", queue.getTopic(), "brokerName", queue.getBrokerName(), "queueId", (long) queue.getQueueId());
    }
}
