// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.github.rmqalloc.strategies;

import java.util.Arrays;
import java.util.List;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * ORDINAL/1: the fewest queues move, by slot numbers that survive a restart.
 *
 * <p>The slot is the number at the end of the instance name: 7 in {@code 10.0.3.17@consumer-7}. If a client goes, its queues
 * alone move; if its slot comes back, it gets exactly these queues. Loads differ by one at most. All clients of a group must have
 * the same pattern, and all or none of them tables. Clients without slots may take part, but a group that has no slots at
 * all is better off with {@link AllocateStable}. The specification is docs/strategies/ordinal.md of rmqalloc.
 */
public final class AllocateOrdinal extends OwnersStrategy {
    private final SlotPattern pattern;
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
        this.pattern = new SlotPattern(pattern);
        this.tables = tables;
    }

    @Override
    public String getName() {
        return "ORDINAL/1";
    }

    @Override
    int[] owners(List<MessageQueue> queues, List<String> clientIds) {
        int[] clients = clients(pattern.numbers(clientIds));
        int[] owners = new int[queues.size()];
        if (clients.length == 0) {
            Arrays.fill(owners, -1);
            return owners;
        }
        int[] slots = tables
            ? OrdinalTables.tables().slots(Mix.topicHash(queues), queues.size(), clients)
            : slots(queues, clients);
        for (int q = 0; q < owners.length; q++) {
            owners[q] = clients[slots[q]];
        }
        return owners;
    }

    /** The client of each number, as a position; -1 where nobody has it. */
    private static int[] clients(int[] numbers) {
        int[] clients = new int[Arrays.stream(numbers).max().orElse(-1) + 1];
        Arrays.fill(clients, -1);
        for (int i = 0; i < numbers.length; i++) {
            if (numbers[i] >= 0) {
                clients[numbers[i]] = i;
            }
        }
        return clients;
    }

    /** The present slot of each queue: that of the base, or if it is not present one by draws. */
    private static int[] slots(List<MessageQueue> queues, int[] clients) {
        long[] x = Mix.queueNumbers(queues);
        int[] slots = new OrdinalBase(Mix.topicHash(queues), x).owners(clients.length);
        int m = x.length;
        int n = (int) Arrays.stream(clients).filter(client -> client >= 0).count();
        if (n == clients.length) {
            return slots;
        }
        SlotLoads loads = new SlotLoads(clients.length, m / n, m % n);
        for (int q = 0; q < m; q++) {
            loads.add(slots[q]);
            slots[q] = clients[slots[q]] < 0 ? -1 : slots[q];
        }
        for (int s = 0; s < clients.length; s++) {
            if (clients[s] >= 0) {
                loads.countExtra(s);
            }
        }
        loads.rounds(x, slots, s -> clients[s] >= 0);
        return slots;
    }
}
