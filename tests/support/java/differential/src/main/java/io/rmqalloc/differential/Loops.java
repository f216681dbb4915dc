// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;

/**
 * The loops of RebalanceService, each in its own thread, of which one runs at a time: a loop that waits hands over to the thread
 * in which time passes, and is resumed by it when its wait is over.
 */
public final class Loops {
    private static final Map<Object, Loop> WAITING = new HashMap<>();
    private static final Map<Thread, Loop> LOOPS = new HashMap<>();
    private static final Map<Lane, Loop> OF_LANES = new HashMap<>();
    private static final Set<Lane> JOINING = new HashSet<>();
    private static final long JOIN_TIME = 90_000;

    private Loops() {
    }

    /** A new sequence, in which there are no loops. */
    static void reset() {
        LOOPS.clear();
        OF_LANES.clear();
        JOINING.clear();
        WAITING.clear();
    }

    /** Instead of Thread.start: the loop of passes runs up to its first wait, other services not at all. */
    public static void start(Thread thread) {
        if (thread.getName().contains("RebalanceService")) {
            Loop loop = new Loop(thread);
            LOOPS.put(thread, loop);
            OF_LANES.put(loop.lane, loop);
            loop.lane.begin(thread::run);
        }
    }

    /** Instead of Thread.join: lets a loop that is to stop run to its end, and waits for a pass that waits for an answer. */
    public static void join(Thread thread, long wait) {
        Loop loop = LOOPS.remove(thread);
        if (loop != null) {
            loop.resume();
            if (loop.lane.isBusy()) {
                join(loop.lane);
            }
        }
    }

    private static void join(Lane lane) {
        Lane joining = Lane.current();
        VirtualTask<?> end = new VirtualTask<>(() -> {
            Delays.cut("a shutdown has waited 90 s for a pass");
            return null;
        }, JOIN_TIME, 0);
        VirtualTime.push(end);
        lane.whenFree = () -> {
            VirtualTime.cancel(end);
            joining.resume();
        };
        JOINING.add(joining);
        joining.handOver();
        JOINING.remove(joining);
    }

    /** Whether a lane waits for the end of a loop. */
    static boolean isJoining(Lane lane) {
        return JOINING.contains(lane);
    }

    /** Instead of CountDownLatch2.await. */
    public static boolean await(Object latch, long time, TimeUnit unit) {
        Loop loop = OF_LANES.get(Lane.current());
        loop.resumeIn(unit.toMillis(time));
        WAITING.put(latch, loop);
        loop.handOver();
        WAITING.remove(latch);
        return true;
    }

    /** Instead of CountDownLatch2.countDown: a loop that waits goes on as soon as time passes. */
    public static void countDown(Object latch) {
        Loop loop = WAITING.remove(latch);
        if (loop != null) {
            loop.resumeIn(0);
        }
    }

    private static final class Loop implements Callable<Void> {
        final Lane lane;
        private VirtualTask<?> timer;
        private boolean waits;

        Loop(Thread service) {
            lane = new Lane(service.getName());
        }

        @Override
        public Void call() {
            resume();
            return null;
        }

        void resumeIn(long delay) {
            if (timer != null) {
                VirtualTime.cancel(timer);
            }
            timer = new VirtualTask<>(this, delay, 0);
            VirtualTime.push(timer);
        }

        void resume() {
            VirtualTime.cancel(timer);
            if (waits) {
                lane.resume();
            }
        }

        void handOver() {
            waits = true;
            lane.handOver();
            waits = false;
        }
    }
}
