// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import java.util.Collection;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.TreeSet;
import org.apache.rocketmq.common.message.MessageQueue;

/** Stands for a HashSet, whose order is that of hashes: queues come in their own order, all else as it was put in. */
public final class OrderedSet<E> extends LinkedHashSet<E> {
    private static final long serialVersionUID = 1;

    public OrderedSet() {
    }

    public OrderedSet(int capacity) {
    }

    public OrderedSet(Collection<? extends E> elements) {
        addAll(elements);
    }

    @Override
    public Iterator<E> iterator() {
        Iterator<E> given = super.iterator();
        boolean areQueues = !isEmpty() && super.iterator().next() instanceof MessageQueue;
        if (!areQueues) {
            return given;
        }
        TreeSet<E> sorted = new TreeSet<>();
        given.forEachRemaining(sorted::add);
        return sorted.iterator();
    }
}
