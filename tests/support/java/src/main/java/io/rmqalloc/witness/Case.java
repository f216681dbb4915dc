// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.witness;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.rocketmq.common.message.MessageQueue;

/** One request and what RocketMQ answers to it; the fields are described in {@link Witness}. */
final class Case {
    private final Map<String, Object> request;
    private final Map<String, Object> answer = new LinkedHashMap<>();
    private final List<MessageQueue> queues;
    private final List<String> clients;

    Case(Map<String, Object> request) {
        this.request = request;
        this.queues = queues(request.get("queues"));
        this.clients = strings(request.get("clients"));
    }

    Map<String, Object> answer() {
        answer.put("id", request.get("id"));
        if (Boolean.TRUE.equals(request.get("sort"))) {
            sort();
        }
        Rule rule;
        try {
            rule = Rule.of((String) request.get("strategy"), object(request.get("params")), queues);
        } catch (IllegalArgumentException | NullPointerException refusal) {
            answer.put("error", describe(refusal));
            answer.put("error_at", "constructor");
            return answer;
        }
        answer.put("name", rule.name());
        ask(rule);
        return answer;
    }

    private void sort() {
        try {
            answer.put("sorted", Map.of("queues", order(queues), "clients", order(clients)));
        } catch (NullPointerException | IllegalArgumentException refusal) {
            answer.put("sort_error", describe(refusal));
        }
    }

    /** Where each item of the list sorted by Java's own stable sort stood before. */
    private static <T extends Comparable<T>> List<Integer> order(List<T> items) {
        List<Integer> order = new ArrayList<>(IntStream.range(0, items.size()).boxed().toList());
        order.sort(Comparator.comparing(items::get));
        return order;
    }

    private void ask(Rule rule) {
        Map<String, Object> result = new LinkedHashMap<>();
        Map<String, Object> setSize = new LinkedHashMap<>();
        Map<String, Object> errors = new LinkedHashMap<>();
        for (String probe : new LinkedHashSet<>(strings(request.get("probes")))) {
            List<MessageQueue> share;
            try {
                share = rule.share().of(probe, queues, clients);
            } catch (IllegalArgumentException | NullPointerException refusal) {
                put(probe, "error", errors, describe(refusal));
                continue;
            }
            put(probe, "result", result, share == null ? null : positions(share, rule.source()));
            setSize.put(probe, share == null ? 0 : new HashSet<>(share).size());
        }
        answer.put("result", result);
        answer.put("errors", errors);
        if (rule.name().equals("POP")) {
            setSize.remove(null);
            answer.put("set_size", setSize);
        }
    }

    private void put(String probe, String kind, Map<String, Object> map, Object value) {
        if (probe == null) {
            answer.put("null_client_" + kind, value);
        } else {
            map.put(probe, value);
        }
    }

    /**
     * Positions by identity, as equal queues may repeat. Queues that RocketMQ made itself are the i-th one's copy with
     * id -1 (POP sharing): they are checked to be that, and the answer says queue_id_minus_one.
     */
    private List<Integer> positions(List<MessageQueue> share, List<MessageQueue> source) {
        Map<MessageQueue, Integer> position = new IdentityHashMap<>();
        for (MessageQueue queue : source) {
            position.put(queue, position.size());
        }
        boolean made = share.stream().anyMatch(queue -> !position.containsKey(queue));
        if (!made) {
            return share.stream().map(position::get).collect(Collectors.toList());
        }
        List<MessageQueue> copies = source.stream()
            .map(queue -> new MessageQueue(queue.getTopic(), queue.getBrokerName(), -1)).toList();
        if (!share.equals(copies)) {
            throw new IllegalStateException("queues that were never given: " + share);
        }
        answer.put("queue_id_minus_one", true);
        return IntStream.range(0, copies.size()).boxed().toList();
    }

    private static String describe(RuntimeException refusal) {
        return refusal.getClass().getSimpleName() + ": " + refusal.getMessage();
    }

    static List<MessageQueue> queues(Object value) {
        if (value == null) {
            return null;
        }
        List<MessageQueue> queues = new ArrayList<>();
        for (Object item : (List<?>) value) {
            List<?> parts = (List<?>) item;
            int queueId = Math.toIntExact((Long) parts.get(2));
            queues.add(new MessageQueue((String) parts.get(0), (String) parts.get(1), queueId));
        }
        return queues;
    }

    static List<String> strings(Object value) {
        return value == null ? null : ((List<?>) value).stream().map(String.class::cast).collect(Collectors.toList());
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> object(Object value) {
        return (Map<String, Object>) value;
    }
}
