// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * The loops of RebalanceService, each in its own thread, of which one runs at a time: a loop that waits hands over to the thread
 * in which time passes, and is resumed by it when its wait is over.
 */
public final class Loops {
    private static final Map<Object, Loop> WAITING = new HashMap<>();
    private static final Map<Thread, Loop> LOOPS = new HashMap<>();

    private static final ThreadLocal<Loop> CURRENT = new ThreadLocal<>();

    private Loops() {
    }

    /** A new sequence: loops that still wait are ended. */
    static void reset() {
        for (Loop loop : LOOPS.values()) {
            loop.end();
        }
        LOOPS.clear();
        WAITING.clear();
    }

    /** Instead of Thread.start: the loop of passes runs up to its first wait, other services not at all. */
    public static void start(Thread thread) {
        if (thread.getName().contains("RebalanceService")) {
            Loop loop = new Loop(thread);
            LOOPS.put(thread, loop);
            loop.start();
        }
    }

    /** Instead of Thread.join: lets a loop that was told to stop run to its end. */
    public static void join(Thread thread, long wait) {
        Loop loop = LOOPS.remove(thread);
        if (loop != null) {
            loop.resume();
        }
    }

    /** Instead of CountDownLatch2.await. */
    public static boolean await(Object latch, long time, TimeUnit unit) {
        Loop loop = CURRENT.get();
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

    /** Thrown into a loop of a sequence that is over. */
    private static final class Over extends Error {
        private static final long serialVersionUID = 1;
    }

    private static final class Loop implements Callable<Void> {
        private final Thread service;
        private final Semaphore turn = new Semaphore(0);
        private final Semaphore back = new Semaphore(0);
        private VirtualTask<?> timer;
        private boolean over;

        Loop(Thread service) {
            this.service = service;
        }

        void start() {
            Thread thread = new Thread(this::run);
            thread.setDaemon(true);
            thread.start();
            back.acquireUninterruptibly();
        }

        private void run() {
            CURRENT.set(this);
            try {
                service.run();
            } catch (Over end) {
                CURRENT.remove();
            } finally {
                over = true;
                back.release();
            }
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
            if (!over) {
                turn.release();
                back.acquireUninterruptibly();
            }
        }

        void handOver() {
            back.release();
            turn.acquireUninterruptibly();
            if (over) {
                throw new Over();
            }
        }

        void end() {
            over = true;
            turn.release();
        }
    }
}
