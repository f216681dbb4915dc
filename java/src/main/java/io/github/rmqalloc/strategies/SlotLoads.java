// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.github.rmqalloc.strategies;

import java.util.function.IntPredicate;

/** Loads of slots. Each may take f queues; one that takes another lowers a pool of such places, old and new slots each their own. */
final class SlotLoads {
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

    /** Gives all queues without an owner (-1) to slots: round by round each asks for its next draw. */
    void rounds(long[] x, int[] owners, IntPredicate present) {
        int[] free = new int[owners.length];
        int n = 0;
        for (int q = 0; q < owners.length; q++) {
            if (owners[q] < 0) {
                free[n++] = q;
            }
        }
        for (long t = 1; n > 0; t++) {
            int left = 0;
            for (int i = 0; i < n; i++) {
                int q = free[i];
                int slot = draw(Mix.mix64(x[q] + t * Mix.GOLDEN), load.length);
                if (present.test(slot) && take(slot, true)) {
                    owners[q] = slot;
                } else {
                    free[left++] = q;
                }
            }
            n = left;
        }
    }

    /** One of n slots for a random number; with n + 1 slots one draw in n + 1 changes, and then to the new slot. */
    static int draw(long u, int n) {
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
