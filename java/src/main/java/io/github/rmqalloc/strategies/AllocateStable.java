// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.github.rmqalloc.strategies;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.PriorityQueue;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * STABLE/1: few queues move when clients come and go, whatever their ids are.
 *
 * <p>Loads differ by one at most; with a slack of 1 by two, which moves fewer queues still. All clients of a group must have
 * the same slack. For clients whose ids carry a slot number, {@link AllocateOrdinal} moves the least. The specification is
 * docs/reference/stable.md of rmqalloc.
 */
public final class AllocateStable extends OwnersStrategy {
    private final int slack;

    /** Loads differ by one at most. */
    public AllocateStable() {
        this(0);
    }

    /**
     * Loads differ by 1 + slack at most.
     *
     * @param slack 0 or 1
     */
    public AllocateStable(int slack) {
        Checks.require(slack == 0 || slack == 1, "slack must be 0 or 1, it is " + slack);
        this.slack = slack;
    }

    @Override
    public String getName() {
        return "STABLE/1";
    }

    @Override
    int[] owners(List<MessageQueue> queues, List<String> clientIds) {
        int[] positions = distinct(clientIds);
        int[] owners = new int[queues.size()];
        Arrays.fill(owners, -1);
        if (positions.length == 0) {
            return owners;
        }
        long[] numbers = Mix.queueNumbers(queues);
        int[] x = new int[numbers.length];
        for (int q = 0; q < x.length; q++) {
            x[q] = (int) (numbers[q] >>> 32);
        }
        int[] y = new int[positions.length];
        for (int c = 0; c < y.length; c++) {
            y[c] = (int) (Mix.mix64(clientIds.get(positions[c]).hashCode() + Mix.GOLDEN) >>> 32);
        }
        int[] clients = slack == 0 ? new Proposals(x, y).owners() : new Turns(x, y).owners();
        for (int q = 0; q < owners.length; q++) {
            owners[q] = positions[clients[q]];
        }
        return owners;
    }

    /** How a client ranks a queue, by score and then by position: the greater the better. */
    static long rank(int x, int y, int q) {
        int score = Mix.fmix32(x ^ y) ^ Integer.MIN_VALUE; // unsigned scores in the order of signed numbers
        return ((long) score << 32) | (Integer.MAX_VALUE - q);
    }

    /** The queue of a rank. */
    static int queueOf(long rank) {
        return Integer.MAX_VALUE - (int) rank;
    }

    /**
     * Every queue proposes to clients by falling score, a client keeps its best, and what is refused proposes again. Pairs are
     * ranked by the one order on both sides, so the result is that of taking all pairs in this order, without a list of them.
     */
    private static final class Proposals {
        private final int[] x;
        private final int[] y;
        private final int[] owners;
        private final int lo;
        private int pool;
        /** What each client holds, the worst first. */
        private final List<PriorityQueue<Long>> held = new ArrayList<>();

        Proposals(int[] x, int[] y) {
            this.x = x;
            this.y = y;
            this.owners = new int[x.length];
            this.lo = x.length / y.length;
            this.pool = x.length % y.length;
            for (int c = 0; c < y.length; c++) {
                held.add(new PriorityQueue<>(lo + 2));
            }
        }

        int[] owners() {
            Arrays.fill(owners, -1);
            for (int q = 0; q < x.length; q++) {
                int free = q;
                while (free >= 0) {
                    free = propose(free, best(free, owners[free]));
                }
            }
            return owners;
        }

        /** The client that a queue asks after one that refused it, or first of all (-1). */
        private int best(int q, int refused) {
            long last = refused < 0 ? Long.MAX_VALUE : key(q, refused);
            long best = Long.MIN_VALUE;
            for (int c = 0; c < y.length; c++) {
                long key = key(q, c);
                if (key < last && key > best) {
                    best = key;
                }
            }
            return queueOf(best);
        }

        /** How a queue ranks a client, by score and then by position. */
        private long key(int q, int c) {
            return rank(x[q], y[c], c);
        }

        /** The client takes the queue; returns the queue that is refused for it, -1 if there is room for all. */
        private int propose(int q, int c) {
            int load = held.get(c).size();
            held.get(c).add(rank(x[q], y[c], q));
            owners[q] = c;
            if (load < lo) {
                return -1;
            }
            if (load == lo && pool > 0) {
                pool--;
                return -1;
            }
            // A client that has an extra place gives up its own worst; else the worst goes of all that now hold one more.
            PriorityQueue<Long> from = held.get(c);
            if (load == lo) {
                for (PriorityQueue<Long> other : held) {
                    from = other.size() > lo && other.peek() < from.peek() ? other : from;
                }
            }
            return queueOf(from.poll());
        }
    }

    /** Clients choose in turn, each its favourite of what is left: how a slack of 1 divides. */
    private static final class Turns {
        private final int[] x;
        private final int[] y;

        Turns(int[] x, int[] y) {
            this.x = x;
            this.y = y;
        }

        int[] owners() {
            int m = x.length;
            int n = y.length;
            int middle = (2 * m + n) / (2 * n);
            int lo = Math.max(0, middle - 1);
            int pool = m - n * lo;
            int[] load = new int[n];
            int[] owners = new int[m];
            Arrays.fill(owners, -1);
            long[][] favourites = favourites();
            int free = m;
            for (int round = m - 1; free > 0; round--) {
                for (int c : proposers(favourites, round, owners)) {
                    int q = queueOf(favourites[c][round]);
                    if (owners[q] < 0 && (load[c] < lo || (load[c] <= middle && pool > 0))) {
                        pool -= load[c] >= lo ? 1 : 0;
                        load[c]++;
                        owners[q] = c;
                        free--;
                    }
                }
            }
            return owners;
        }

        /** The ranks of all queues for each client, the best last. */
        private long[][] favourites() {
            long[][] ranks = new long[y.length][x.length];
            for (int c = 0; c < y.length; c++) {
                for (int q = 0; q < x.length; q++) {
                    ranks[c][q] = rank(x[q], y[c], q);
                }
                Arrays.sort(ranks[c]);
            }
            return ranks;
        }

        /** The clients whose favourite of this round is free, in the order in which they are heard. */
        private int[] proposers(long[][] favourites, int round, int[] owners) {
            long[] order = new long[y.length];
            int n = 0;
            for (int c = 0; c < y.length; c++) {
                int q = queueOf(favourites[c][round]);
                if (owners[q] < 0) {
                    order[n++] = ~rank(y[c] + 0x1234567 * x[q], 0, c);
                }
            }
            Arrays.sort(order, 0, n);
            int[] clients = new int[n];
            for (int i = 0; i < n; i++) {
                clients[i] = queueOf(~order[i]);
            }
            return clients;
        }
    }
}
