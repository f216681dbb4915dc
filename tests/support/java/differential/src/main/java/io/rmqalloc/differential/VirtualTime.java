// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import java.util.List;
import java.util.PriorityQueue;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;

/**
 * The time of RocketMQ's classes, and their timers: {@link RewritingLoader} sends them here.
 *
 * <p>Time passes by {@link #advance} and {@link #sleep} alone. All runs in the one thread that advances it; of several tasks due
 * at one time the one asked for first runs first.
 */
public final class VirtualTime {
    /** Milliseconds since the epoch at which every sequence begins; the same as the product's virtual clock. */
    public static final long EPOCH = 1_700_000_000_000L;

    private static final PriorityQueue<VirtualTask<?>> TASKS = new PriorityQueue<>();
    private static long now = EPOCH;
    private static long tasks;

    private VirtualTime() {
    }

    /** A new sequence: the time of the start, and no timers. */
    public static void reset() {
        TASKS.clear();
        now = EPOCH;
    }

    public static long currentTimeMillis() {
        return now;
    }

    public static long nanoTime() {
        return now * 1_000_000;
    }

    /** Whoever sleeps lets time pass, but no timer runs in between. */
    public static void sleep(long milliseconds) {
        now += milliseconds;
    }

    /** A lock that is not free stays so for all of the time, unless who holds it is known to release it before; no timer runs. */
    public static boolean tryLock(Lock lock, long time, TimeUnit unit) {
        if (Delays.areOn() && !lock.tryLock()) {
            Delays.cut("somebody waits for a lock, which a lane without an answer holds");
        } else if (Delays.areOn()) {
            return true;
        }
        now = Consuming.awaited(lock, now, now + unit.toMillis(time));
        return lock.tryLock();
    }

    /** Lets time pass, and all happen that is due by then. */
    public static void advance(long milliseconds) {
        long until = now + milliseconds;
        while (!TASKS.isEmpty() && TASKS.peek().at <= until) {
            VirtualTask<?> task = TASKS.poll();
            now = Math.max(now, task.at);
            if (Delays.areOn() && task.pool != null) {
                task.pool.run(task);
            } else {
                task.run();
            }
            if (Delays.cut() != null) {
                return;
            }
        }
        now = Math.max(now, until);
    }

    public static ScheduledExecutorService newScheduledThreadPool() {
        return new VirtualScheduler();
    }

    public static ScheduledExecutorService newScheduledThreadPool(ThreadFactory factory) {
        return new VirtualScheduler();
    }

    public static ScheduledExecutorService newScheduledThreadPool(int threads) {
        return new VirtualScheduler();
    }

    public static ScheduledExecutorService newScheduledThreadPool(int threads, ThreadFactory factory) {
        return new VirtualScheduler();
    }

    /** Tasks of a pool that is shut down: those that repeat do so no more, as in Java's pools. */
    static void cancelPeriodic(VirtualScheduler pool) {
        TASKS.removeIf(task -> task.pool == pool && task.isPeriodic());
    }

    /** Tasks of a pool come after all others that are due at their time, as if they had been asked for last. */
    static void postpone(VirtualScheduler pool) {
        List<VirtualTask<?>> moved = TASKS.stream().filter(task -> task.pool == pool).sorted().toList();
        moved.forEach(VirtualTime::cancel);
        moved.forEach(VirtualTime::push);
    }

    static void push(VirtualTask<?> task) {
        task.number = ++tasks;
        task.at = Delays.areOn() ? Math.max(task.due, now) : task.due;
        TASKS.add(task);
    }

    static void cancel(VirtualTask<?> task) {
        TASKS.remove(task);
    }
}
