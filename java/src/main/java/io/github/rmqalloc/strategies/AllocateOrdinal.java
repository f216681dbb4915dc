// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.github.rmqalloc.strategies;

import java.util.List;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * ORDINAL/1: the fewest queues move, by slot numbers that survive a restart.
 *
 * <p>The slot is the number at the end of the instance name: 7 in {@code 10.0.3.17@consumer-7}. If a client goes, its queues
 * alone move; if its slot comes back, it gets exactly these queues. Loads differ by one at most. All clients of a group must have
 * the same pattern, and all or none of them tables. Clients without slots may take part, but a group that has no slots at
 * all is better off with {@link AllocateStable}. The specification is docs/reference/ordinal.md of rmqalloc.
 */
public final class AllocateOrdinal extends SlotStrategy {
    private final boolean tables;

    /** The instance name ends in a hyphen and the number of the slot, as with pods of a StatefulSet. */
    public AllocateOrdinal() {
        this("-#");
    }

    /**
     * Slots by another pattern.
     *
     * @param pattern how instance names end: a text with one # where the number stands, and no digit next to it
     */
    public AllocateOrdinal(String pattern) {
        this(pattern, false);
    }

    /**
     * Slots by a pattern, and tables for small groups.
     *
     * @param pattern how instance names end: a text with one # where the number stands, and no digit next to it
     * @param tables whether to go by tables, under which no failure of any slots moves more than the least; for groups of up to
     *     four slots, or five or six with some numbers of queues. In a greater group every client refuses to allocate.
     */
    public AllocateOrdinal(String pattern, boolean tables) {
        super(pattern);
        this.tables = tables;
    }

    @Override
    public String getName() {
        return "ORDINAL/1";
    }

    @Override
    int[] slots(List<MessageQueue> queues, int[] clients) {
        if (tables) {
            return OrdinalTables.tables().slots(Mix.topicHash(queues), queues.size(), clients);
        }
        long[] x = Mix.queueNumbers(queues);
        return filledHoles(x, new OrdinalBase(Mix.topicHash(queues), x).owners(clients.length), clients);
    }
}
