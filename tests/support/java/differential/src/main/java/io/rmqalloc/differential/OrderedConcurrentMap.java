// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import java.util.AbstractMap;
import java.util.AbstractSet;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentMap;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * Stands for a ConcurrentHashMap, whose order is that of hashes: iterates in the order of insertion. As there, whoever iterates
 * may change it; what is removed meanwhile is not met, what is added is not met either. A table of process queues iterates topic
 * after topic, as the product's does.
 */
public final class OrderedConcurrentMap<K, V> extends AbstractMap<K, V> implements ConcurrentMap<K, V> {
    private final Map<K, V> entries = new LinkedHashMap<>();
    private final Map<String, Set<K>> topics = new LinkedHashMap<>();
    private final boolean isByTopic;

    private OrderedConcurrentMap(boolean isByTopic) {
        this.isByTopic = isByTopic;
    }

    /** An empty map of ours for an empty one of Java's. */
    public static <K, V> ConcurrentMap<K, V> insteadOf(ConcurrentMap<K, V> map) {
        return map == null || map instanceof OrderedConcurrentMap || !map.isEmpty() ? map : new OrderedConcurrentMap<>(false);
    }

    /** The same for a table of process queues. */
    public static <K, V> ConcurrentMap<K, V> byTopicInsteadOf(ConcurrentMap<K, V> map) {
        return map == null || map instanceof OrderedConcurrentMap || !map.isEmpty() ? map : new OrderedConcurrentMap<>(true);
    }

    /** What was done may have added or removed a key. */
    @SuppressWarnings("unchecked")
    private <T> T noted(Object key, T result) {
        if (isByTopic && key instanceof MessageQueue queue) {
            Set<K> queues = topics.computeIfAbsent(queue.getTopic(), topic -> new LinkedHashSet<>());
            if (entries.containsKey(key)) {
                queues.add((K) key);
            } else {
                queues.remove(key);
            }
            if (queues.isEmpty()) {
                topics.remove(queue.getTopic());
            }
        }
        return result;
    }

    @Override
    public V get(Object key) {
        return entries.get(key);
    }

    @Override
    public boolean containsKey(Object key) {
        return entries.containsKey(key);
    }

    @Override
    public V put(K key, V value) {
        return noted(key, entries.put(key, value));
    }

    @Override
    public V remove(Object key) {
        return noted(key, entries.remove(key));
    }

    @Override
    public int size() {
        return entries.size();
    }

    @Override
    public void clear() {
        entries.clear();
        topics.clear();
    }

    @Override
    public V putIfAbsent(K key, V value) {
        return noted(key, entries.putIfAbsent(key, value));
    }

    @Override
    public boolean remove(Object key, Object value) {
        return noted(key, entries.remove(key, value));
    }

    @Override
    public boolean replace(K key, V old, V value) {
        return entries.replace(key, old, value);
    }

    @Override
    public V replace(K key, V value) {
        return entries.replace(key, value);
    }

    @Override
    public Set<Entry<K, V>> entrySet() {
        return new AbstractSet<>() {
            @Override
            public int size() {
                return entries.size();
            }

            @Override
            public Iterator<Entry<K, V>> iterator() {
                return new Entries();
            }
        };
    }

    private List<K> inOrder() {
        return isByTopic ? topics.values().stream().flatMap(Set::stream).toList() : new ArrayList<>(entries.keySet());
    }

    private final class Entries implements Iterator<Entry<K, V>> {
        private final Iterator<K> keys = inOrder().iterator();
        private K next;
        private K last;

        @Override
        public boolean hasNext() {
            while ((next == null || !entries.containsKey(next)) && keys.hasNext()) {
                next = keys.next();
            }
            return next != null && entries.containsKey(next);
        }

        @Override
        public Entry<K, V> next() {
            if (!hasNext()) {
                throw new java.util.NoSuchElementException();
            }
            last = next;
            next = null;
            return new SimpleImmutableEntry<>(last, entries.get(last));
        }

        @Override
        public void remove() {
            noted(last, entries.remove(last));
        }
    }
}
