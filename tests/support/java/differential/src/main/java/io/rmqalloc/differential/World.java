// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.rocketmq.client.impl.consumer.PullRequest;
import org.apache.rocketmq.common.message.MessageQueue;

/** What brokers and name servers answer in a sequence, and all that is written down of it. */
public final class World {
    /** What is answered where a sequence says nothing. */
    private static final Map<String, Map<String, Object>> USUAL = Map.of("route", Map.of("code", 17L), "stored",
        Map.of("code", 22L), "clients", Map.of("code", 1L), "max", Map.of("offset", 100L), "search", Map.of("offset", 50L),
        "assignment", Map.of("code", 1L));
    private static final Map<String, Map<String, Object>> ANSWERS = new HashMap<>();
    private static final Map<String, Object> REQUESTED = new HashMap<>();
    private static List<Object> seen = new ArrayList<>();

    private World() {
    }

    static void reset() {
        ANSWERS.clear();
        REQUESTED.clear();
        seen.clear();
    }

    /** From now on, this is the answer to a kind of question about something. */
    static void answer(String what, String key, Map<String, Object> answer) {
        ANSWERS.put(what + " " + key, answer);
    }

    static Map<String, Object> answer(String what, String key) {
        return ANSWERS.getOrDefault(what + " " + key, USUAL.getOrDefault(what, Map.of()));
    }

    /** Writes down that something happened. */
    static void see(Object... what) {
        List<Object> line = new ArrayList<>();
        line.add(VirtualTime.currentTimeMillis() - VirtualTime.EPOCH);
        line.addAll(java.util.Arrays.asList(what));
        seen.add(line);
    }

    /** What has happened since this was asked last. */
    static List<Object> seen() {
        List<Object> lines = seen;
        seen = new ArrayList<>();
        return lines;
    }

    /** The last request of a group to pull or pop a queue. */
    static Object requested(String group, MessageQueue queue, boolean pop) {
        return REQUESTED.get(pop + " " + group + " " + queue);
    }

    /** Instead of executePullRequestLater and the like. */
    public static void dispatched(Object request, long delay) {
        MessageQueue queue = (MessageQueue) Peek.get(request, "messageQueue");
        String group = (String) Peek.get(request, "consumerGroup");
        boolean isPull = request instanceof PullRequest;
        REQUESTED.put(!isPull + " " + group + " " + queue, request);
        if (request instanceof PullRequest pull) {
            see("dispatch", group, Queues.told(queue), pull.getNextOffset(), delay);
        } else {
            see("dispatch pop", group, Queues.told(queue), Peek.get(request, "topic"), Peek.get(request, "initMode"), delay);
        }
    }

    /** Instead of PullAPIWrapper.pullKernelImpl and popAsync. */
    public static void pulled(Object queue, long offset) {
        see("pull", Queues.told((MessageQueue) queue), offset);
    }

    static void consumes(Object request) {
        see("consume", Queues.told((MessageQueue) Peek.get(request, "messageQueue")));
    }
}
