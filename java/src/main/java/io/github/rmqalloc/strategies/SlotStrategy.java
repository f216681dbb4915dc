// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.github.rmqalloc.strategies;

import java.util.Arrays;
import java.util.List;
import org.apache.rocketmq.common.message.MessageQueue;

/** A strategy that finds the slot of each queue; client ids carry the numbers of slots. */
abstract class SlotStrategy extends OwnersStrategy {
    private final SlotPattern pattern;

    SlotStrategy(String pattern) {
        this.pattern = new SlotPattern(pattern);
    }

    /** The present slot of each queue, given the client of each slot, -1 where nobody has it. */
    abstract int[] slots(List<MessageQueue> queues, int[] clients);

    @Override
    final int[] owners(List<MessageQueue> queues, List<String> clientIds) {
        int[] clients = clients(pattern.numbers(clientIds));
        int[] owners = new int[queues.size()];
        if (clients.length == 0) {
            Arrays.fill(owners, -1);
            return owners;
        }
        int[] slots = slots(queues, clients);
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

    /** The slots of a base, with one by draws for each queue whose slot is not present. */
    static int[] filledHoles(long[] x, int[] slots, int[] clients) {
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
