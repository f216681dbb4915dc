package io.rmqalloc.live;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.common.message.MessageExt;

/** How often the consumers of this process were given each message, by group. */
final class Consumed {
    private static final Map<String, Map<String, Integer>> TIMES = new ConcurrentHashMap<>();

    private Consumed() {
    }

    static void count(String group, MessageExt message) {
        String place = message.getBrokerName() + "/" + message.getQueueId() + "/" + message.getQueueOffset();
        TIMES.computeIfAbsent(group, name -> new ConcurrentHashMap<>()).merge(place, 1, Integer::sum);
    }

    /** Times by broker, queue and offset. */
    static Map<String, Integer> times(String group) {
        return TIMES.getOrDefault(group, Map.of());
    }
}
