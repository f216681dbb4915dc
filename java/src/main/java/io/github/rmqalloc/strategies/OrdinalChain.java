// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.github.rmqalloc.strategies;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;

/** The owners of ORDINAL/2 if no slot is missing: from one size to the next only queues of the slot move that leaves or joins. */
final class OrdinalChain {
    private final long seed;
    private final long[] x;
    private final int[] owners;
    /** The queues of each slot, the last one first. */
    private final List<Deque<Integer>> stacks = new ArrayList<>();

    /**
     * The chain of one topic, at its start.
     *
     * @param seed hash of the topic
     * @param x numbers of its queues
     */
    OrdinalChain(long seed, long[] x) {
        this.seed = seed;
        this.x = x;
        this.owners = new int[x.length];
        int start = start();
        Arrays.fill(owners, -1);
        new SlotLoads(start, x.length / start, x.length % start).rounds(x, owners, slot -> true);
        while (stacks.size() < start) {
            stacks.add(new ArrayDeque<>());
        }
        for (int q = 0; q < owners.length; q++) {
            stacks.get(owners[q]).push(q);
        }
    }

    private int start() {
        long sixteenths = 16 + Mix.below(Mix.mix64(seed), 16);
        while (true) {
            long size = sixteenths / 16;
            if (size * size * size >= (long) x.length * x.length) {
                return (int) size;
            }
            sixteenths *= 2;
        }
    }

    /** The slot of each queue, of n slots. */
    int[] owners(int n) {
        while (stacks.size() > n) {
            leave();
        }
        while (stacks.size() < n) {
            join();
        }
        return owners;
    }

    /** The highest slot leaves: its queues go to the others. */
    private void leave() {
        int n = stacks.size() - 1;
        int[] queues = stacks.remove(n).stream().mapToInt(q -> q).toArray();
        SlotLoads loads = new SlotLoads(n, x.length / n, x.length % n);
        for (int slot = 0; slot < n; slot++) {
            loads.add(slot, stacks.get(slot).size());
            loads.countExtra(slot);
        }
        for (int q : queues) {
            owners[q] = -1;
        }
        loads.rounds(queues, x, owners, slot -> true);
        for (int q : queues) {
            stacks.get(owners[q]).push(q);
        }
    }

    /** A slot joins: it takes queues of the fullest. */
    private void join() {
        int n = stacks.size();
        int most = (x.length + n - 1) / n;
        int withMost = x.length - n * (most - 1);
        long v = Mix.mix64(seed + (n + 1) * Mix.GOLDEN);
        Deque<Integer> taken = new ArrayDeque<>();
        for (int left = (x.length + Mix.below(v, n + 1)) / (n + 1); left > 0; left--) {
            if (withMost == 0) {
                most--;
                withMost = n;
            }
            withMost--;
            v = Mix.mix64(v + Mix.GOLDEN);
            int slot = Mix.below(v, n);
            while (stacks.get(slot).size() < most) {
                slot = (slot + 1) % n;
            }
            int q = stacks.get(slot).pop();
            taken.push(q);
            owners[q] = n;
        }
        stacks.add(taken);
    }
}
