// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import java.util.Random;

/** Numbers that the product's side of a sequence draws too, in the same order. */
public final class VirtualRandom extends Random {
    private static final long serialVersionUID = 1;
    private static long state;

    public VirtualRandom() {
    }

    public VirtualRandom(long seed) {
    }

    static void reset(long seed) {
        state = seed & 0x7fffffffL;
    }

    @Override
    public int nextInt(int bound) {
        if (Delays.areOn()) {
            return (int) ((state >> 8) % bound); // whoever draws first draws the same
        }
        state = (state * 1103515245L + 12345L) & 0x7fffffffL;
        return (int) ((state >> 8) % bound);
    }

    @Override
    public int nextInt() {
        return nextInt(Integer.MAX_VALUE);
    }
}
