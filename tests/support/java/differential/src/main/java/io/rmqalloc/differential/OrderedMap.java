// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.rocketmq.common.message.MessageQueue;

/** Stands for a HashMap, whose order is that of hashes: keys that are queues come in their own order, all else as put in. */
public final class OrderedMap<K, V> extends LinkedHashMap<K, V> {
    private static final long serialVersionUID = 1;

    public OrderedMap() {
    }

    public OrderedMap(int capacity) {
    }

    public OrderedMap(int capacity, float load) {
    }

    public OrderedMap(Map<? extends K, ? extends V> entries) {
        putAll(entries);
    }

    @Override
    public Set<K> keySet() {
        boolean areQueues = !isEmpty() && super.keySet().iterator().next() instanceof MessageQueue;
        return areQueues ? new TreeSet<>(super.keySet()) : super.keySet();
    }
}
