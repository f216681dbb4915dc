// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import java.util.AbstractMap;
import java.util.AbstractSet;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentMap;

/**
 * Stands for a ConcurrentHashMap, whose order is that of hashes: iterates in the order of insertion. As there, whoever iterates
 * may change it; what is removed meanwhile is not met, what is added is not met either.
 */
public final class OrderedConcurrentMap<K, V> extends AbstractMap<K, V> implements ConcurrentMap<K, V> {
    private final Map<K, V> entries = new LinkedHashMap<>();

    /** An empty map of ours for an empty one of Java's. */
    public static <K, V> ConcurrentMap<K, V> insteadOf(ConcurrentMap<K, V> map) {
        return map == null || map instanceof OrderedConcurrentMap || !map.isEmpty() ? map : new OrderedConcurrentMap<>();
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
        return entries.put(key, value);
    }

    @Override
    public V remove(Object key) {
        return entries.remove(key);
    }

    @Override
    public int size() {
        return entries.size();
    }

    @Override
    public void clear() {
        entries.clear();
    }

    @Override
    public V putIfAbsent(K key, V value) {
        return entries.putIfAbsent(key, value);
    }

    @Override
    public boolean remove(Object key, Object value) {
        return entries.remove(key, value);
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

    private final class Entries implements Iterator<Entry<K, V>> {
        private final Iterator<K> keys = new ArrayList<>(entries.keySet()).iterator();
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
            entries.remove(last);
        }
    }
}
