// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Answers that take time: requests of a kind that is held wait, each in its {@link Lane}, until they are released.
 *
 * <p>A sequence is cut where the order in which two lanes go on is not the script's.
 */
public final class Delays {
    private static final Set<String> HELD = new HashSet<>();
    private static final List<Waiting> WAITING = new ArrayList<>();
    private static final Map<Lane, Object> PASSING = new HashMap<>();
    private static Lane free;
    private static boolean on;
    private static String cut;

    private Delays() {
    }

    static void reset(boolean isOn) {
        Lane.endAll();
        HELD.clear();
        WAITING.clear();
        PASSING.clear();
        free = null;
        on = isOn;
        cut = null;
    }

    static boolean areOn() {
        return on;
    }

    /** Why the rest of a sequence is not compared; null if it is. */
    static String cut() {
        return cut;
    }

    /** From here on the script does not fix an order; the lane that says so waits for the end of the sequence. */
    static void cut(String why) {
        if (cut == null) {
            cut = why;
        }
        if (Lane.current() != null) {
            Lane.current().handOver();
        }
    }

    /** Requests of this kind are answered at once again, or no longer. */
    static void hold(String kind, boolean holds) {
        if (holds) {
            HELD.add(kind);
        } else {
            HELD.remove(kind);
        }
    }

    /** Waits for the answer to a request. */
    static boolean isLost(String kind, String client) {
        Lane lane = Lane.current();
        if (lane != null) {
            lane.check();
        }
        if (!on || !HELD.contains(kind)) {
            return false;
        }
        if (lane == null) {
            throw new ClientHalf.DriverError("nobody may wait outside of lanes");
        }
        Waiting waiting = new Waiting(lane, client);
        WAITING.add(waiting);
        WAITING.sort(Comparator.comparing(one -> one.client)); // what several clients do at one time has no order
        lane.handOver();
        return waiting.isLost;
    }

    /** Answers the n-th request that waits, or with null all of them. */
    static void release(Long number, boolean isLost) {
        if (WAITING.isEmpty()) {
            return;
        }
        List<Waiting> released = number == null ? List.copyOf(WAITING)
            : List.of(WAITING.get((int) (number % WAITING.size())));
        WAITING.removeAll(released);
        for (Waiting one : released) {
            if (cut == null) {
                one.isLost = isLost;
                one.lane.resume();
                VirtualTime.advance(0);
            }
        }
    }

    /** Does something in the thread of a user. */
    static Lane user(Runnable action) {
        Lane lane = free != null ? free : new Lane("user");
        free = null;
        lane.begin(action);
        free = lane.isBusy() ? null : lane;
        return lane;
    }

    /** A pass over a group begins, or its table is emptied. */
    public static void passes(Object rebalance) {
        if (!on) {
            return;
        }
        Object factory = Peek.get(rebalance, "mQClientFactory");
        for (Map.Entry<Lane, Object> other : PASSING.entrySet()) {
            if (other.getValue() == factory && isInPass(other.getKey())) {
                cut("a second pass of a client begins, or a group of several ends, while a pass waits");
            }
        }
        PASSING.put(Lane.current(), factory);
    }

    private static boolean isInPass(Lane lane) {
        for (StackTraceElement element : lane.stack()) {
            if (element.getMethodName().equals("doRebalance") && element.getClassName().endsWith(".RebalanceImpl")) {
                return true;
            }
        }
        return false;
    }

    private static final class Waiting {
        final Lane lane;
        final String client;
        boolean isLost;

        Waiting(Lane lane, String client) {
            this.lane = lane;
            this.client = client;
        }
    }
}
