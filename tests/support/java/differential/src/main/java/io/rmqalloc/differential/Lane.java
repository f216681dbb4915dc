// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * A thread of RocketMQ's, or of a user of its consumers. Of all lanes one runs at a time, while whoever resumed it waits: until
 * its work has ended, or waits for something.
 */
final class Lane {
    private static final ThreadLocal<Lane> CURRENT = new ThreadLocal<>();
    private static final List<Lane> ALL = new ArrayList<>();
    private static final long LOOK = 5;
    private static final int LOOKS = 4;

    /** What is to happen when its work has ended. */
    Runnable whenFree = () -> { };

    private final Semaphore turn = new Semaphore(0);
    private final Semaphore back = new Semaphore(0);
    private final Thread thread;
    private volatile Runnable work;
    private volatile boolean over;

    Lane(String name) {
        thread = new Thread(this::run, name);
        thread.setDaemon(true);
        ALL.add(this);
    }

    /** The lane in which this runs; null outside of all lanes. */
    static Lane current() {
        return CURRENT.get();
    }

    static List<Lane> all() {
        return ALL;
    }

    /** A new sequence: what still waits comes to an end, one lane after the other. */
    static void endAll() {
        ALL.forEach(lane -> lane.over = true);
        for (Lane lane : ALL) {
            lane.turn.release();
            lane.ended(LOOK * LOOKS); // one that waits for a monitor goes on when the lane that holds it has ended
        }
        for (Lane lane : ALL) {
            if (!lane.ended(TimeUnit.SECONDS.toMillis(10))) {
                throw new ClientHalf.DriverError("the lane " + lane.thread.getName() + " does not end: "
                    + lane.thread.getState() + " " + java.util.Arrays.toString(lane.thread.getStackTrace()));
            }
        }
        ALL.clear();
    }

    private boolean ended(long wait) {
        try {
            thread.join(thread.getState() == Thread.State.NEW ? 1 : wait);
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
        return !thread.isAlive();
    }

    boolean isBusy() {
        return work != null;
    }

    /** What it is in, if it waits. */
    StackTraceElement[] stack() {
        return work == null || this == current() ? new StackTraceElement[0] : thread.getStackTrace();
    }

    /** Begins to work. */
    void begin(Runnable given) {
        work = given;
        if (thread.getState() == Thread.State.NEW) {
            thread.start();
        }
        resume();
    }

    private void run() {
        CURRENT.set(this);
        try {
            turn.acquireUninterruptibly();
            while (!over) {
                work.run();
                work = null;
                back.release();
                if (!over) {
                    turn.acquireUninterruptibly();
                }
            }
        } catch (Over end) {
            CURRENT.remove();
        } finally {
            work = null;
            back.release();
        }
    }

    /** Lets it go on. */
    void resume() {
        turn.release();
        if (waitedForIt() && work == null) {
            whenFree.run();
        }
    }

    private boolean waitedForIt() {
        int looks = 0;
        try {
            while (!back.tryAcquire(LOOK, TimeUnit.MILLISECONDS) && thread.isAlive()) {
                boolean isBlocked = thread.getState() == Thread.State.BLOCKED;
                looks = isBlocked ? looks + 1 : 0;
                if (looks == LOOKS) {
                    Delays.cut("somebody waits for a monitor, which a lane without an answer holds");
                    return false;
                }
            }
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
        return true;
    }

    /** Waits, in this lane, until it is resumed. */
    void handOver() {
        check(); // whatever catches all errors has caught this one, too
        back.release();
        turn.acquireUninterruptibly();
        check();
    }

    /** Ends the work of a sequence that is over. */
    void check() {
        if (over) {
            throw new Over();
        }
    }

    /** Thrown into a lane of a sequence that is over. */
    private static final class Over extends Error {
        private static final long serialVersionUID = 1;
    }
}
