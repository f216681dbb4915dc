// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.github.rmqalloc.strategies;

import java.util.List;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * ORDINAL/2: as {@link AllocateOrdinal}, and the highest slot is as any other.
 *
 * <p>If a client goes, its queues alone move, and come back with it; if one joins, no queue moves between others. More queues move
 * than under ORDINAL/1 if brokers come and go in a group of unusual size. All clients of a group must have this class and the same
 * pattern. The specification is docs/reference/ordinal.md of rmqalloc.
 */
public final class AllocateOrdinal2 extends SlotStrategy {
    /** The instance name ends in a hyphen and the number of the slot, as with pods of a StatefulSet. */
    public AllocateOrdinal2() {
        this("-#");
    }

    /**
     * Slots by another pattern.
     *
     * @param pattern how instance names end: a text with one # where the number stands, and no digit next to it
     */
    public AllocateOrdinal2(String pattern) {
        super(pattern);
    }

    @Override
    public String getName() {
        return "ORDINAL/2";
    }

    @Override
    int[] slots(List<MessageQueue> queues, int[] clients) {
        long[] x = Mix.queueNumbers(queues);
        return filledHoles(x, new OrdinalChain(Mix.topicHash(queues), x).owners(clients.length), clients);
    }
}
