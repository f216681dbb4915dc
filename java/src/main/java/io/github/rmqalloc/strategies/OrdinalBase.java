// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.github.rmqalloc.strategies;

import java.util.Arrays;

/**
 * The owners of ORDINAL if no slot is missing. Some sizes are anchors; all others are found by going from the two anchors around
 * a size towards it. A queue that has one owner at both ends keeps it in between.
 */
final class OrdinalBase {
    private final long seed;
    private final long[] x;

    /**
     * The base of one topic.
     *
     * @param seed hash of the topic
     * @param x numbers of its queues
     */
    OrdinalBase(long seed, long[] x) {
        this.seed = seed;
        this.x = x;
    }

    /** The slot of each queue, of n slots. */
    int[] owners(int n) {
        int a = 1;
        int b = 2 + Mix.below(Mix.mix64(seed), 22);
        while (b <= n) {
            a = b;
            b *= 12;
        }
        int[] atA = anchor(a);
        int[] atB = a < n ? anchor(b) : atA;
        while (a < n) {
            int c = a + Math.max(1, 5 * (b - a) / 16);
            int[] atC = new Between(a, c, atA, atB).owners();
            if (c <= n) {
                a = c;
                atA = atC;
            } else {
                b = c;
                atB = atC;
            }
        }
        return atA;
    }

    private int[] anchor(int n) {
        return rounds(nobody(), new SlotLoads(n, x.length / n, x.length % n));
    }

    private int[] rounds(int[] owners, SlotLoads loads) {
        loads.rounds(x, owners, slot -> true);
        return owners;
    }

    private int[] nobody() {
        int[] owners = new int[x.length];
        Arrays.fill(owners, -1);
        return owners;
    }

    /** The owners at a size c between two sizes, as far as there is room those of one or the other. */
    private final class Between {
        private final int a;
        private final int c;
        private final int[] atA;
        private final int[] atB;
        private final int[] owners = nobody();
        private final char[] kinds = new char[x.length];
        private final SlotLoads loads;

        Between(int a, int c, int[] atA, int[] atB) {
            this.a = a;
            this.c = c;
            this.atA = atA;
            this.atB = atB;
            this.loads = loads();
            for (int q = 0; q < kinds.length; q++) {
                kinds[q] = kind(q);
            }
        }

        /** If there are fewer queues than slots, new slots have a pool of their own, so that they get their share. */
        private SlotLoads loads() {
            int m = x.length;
            if (m >= c) {
                return new SlotLoads(c, m / c, m % c);
            }
            int drawn = Mix.below(Mix.mix64(seed + c * Mix.GOLDEN), c);
            int forNew = (int) (((long) m * (c - a) + drawn) / c);
            return new SlotLoads(c, 0, m - forNew, forNew, a);
        }

        /** X: one owner at both ends; Y: goes to a slot that size c does not have; Z: from old to old; W: to a new slot. */
        private char kind(int q) {
            if (atA[q] == atB[q]) {
                return 'X';
            }
            return atB[q] >= c ? 'Y' : atB[q] < a ? 'Z' : 'W';
        }

        int[] owners() {
            pass('X', atA, true);
            pass('Y', atA, true);
            pass('Z', atA, false);
            pass('Z', atB, false);
            pass('W', atA, false);
            pass('Z', atA, true);
            pass('W', atB, true);
            pass('Z', atB, true);
            return rounds(owners, loads);
        }

        private void pass(char kind, int[] to, boolean withPool) {
            for (int q = 0; q < owners.length; q++) {
                if (owners[q] < 0 && kinds[q] == kind && loads.take(to[q], withPool)) {
                    owners[q] = to[q];
                }
            }
        }
    }
}
