// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.github.rmqalloc.strategies;

import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/** Loads of slots. Each may take f queues; one that takes another lowers a pool of such places, old and new slots each their own. */
final class SlotLoads {
    private static final int LAST_DRAW = 4;

    private final int[] load;
    private final int f;
    private final int firstNew;
    private final int[] pools;

    /** One pool for all. */
    SlotLoads(int n, int f, int pool) {
        this(n, f, pool, 0, n);
    }

    /** A pool for slots below the first new one, and one for the others. */
    SlotLoads(int n, int f, int pool, int newPool, int firstNew) {
        this.load = new int[n];
        this.f = f;
        this.firstNew = firstNew;
        this.pools = new int[] {pool, newPool};
    }

    /** Counts a queue that a slot has in any case. */
    void add(int slot) {
        load[slot]++;
    }

    /** Counts queues that a slot has in any case. */
    void add(int slot, int queues) {
        load[slot] += queues;
    }

    /** Lowers the pool by one if the slot has more than f queues already. */
    void countExtra(int slot) {
        if (load[slot] > f) {
            pools[0]--;
        }
    }

    /** Whether the slot takes one more queue. */
    boolean take(int slot, boolean withPool) {
        if (load[slot] >= f) {
            int pool = slot < firstNew ? 0 : 1;
            if (load[slot] > f || !withPool || pools[pool] == 0) {
                return false;
            }
            pools[pool]--;
        }
        load[slot]++;
        return true;
    }

    /** Gives all queues without an owner (-1) to slots, in the order of the list. */
    void rounds(long[] x, int[] owners, IntPredicate present) {
        rounds(IntStream.range(0, owners.length).toArray(), x, owners, present);
    }

    /**
     * Gives those of the queues that have no owner to slots, in their order. In three rounds each asks for a draw; what is left counts
     * up from its last draw to the first slot that has room, so that the time is bounded.
     */
    void rounds(int[] queues, long[] x, int[] owners, IntPredicate present) {
        for (int t = 1; t < LAST_DRAW; t++) {
            for (int q : queues) {
                if (owners[q] < 0) {
                    int slot = draw(x[q], t);
                    owners[q] = present.test(slot) && take(slot, true) ? slot : -1;
                }
            }
        }
        for (int q : queues) {
            if (owners[q] < 0) {
                int slot = draw(x[q], LAST_DRAW);
                while (!present.test(slot) || !take(slot, true)) {
                    slot = (slot + 1) % load.length;
                }
                owners[q] = slot;
            }
        }
    }

    private int draw(long x, int t) {
        return slotOf(Mix.mix64(x + t * Mix.GOLDEN), load.length);
    }

    /** One of n slots for a random number; with n + 1 slots one draw in n + 1 changes, and then to the new slot. */
    static int slotOf(long u, int n) {
        int rest = (int) u & ((1 << (32 - Integer.numberOfLeadingZeros(n - 1))) - 1);
        while (rest != 0) {
            int top = Integer.highestOneBit(rest);
            long v = Mix.mix64(u + top);
            int slot = top + ((int) (v >>> 32) & (top - 1));
            while (slot >= top) {
                if (slot < n) {
                    return slot;
                }
                v = Mix.mix64(v);
                slot = (int) (v >>> 32) & (2 * top - 1);
            }
            rest -= top;
        }
        return 0;
    }
}
