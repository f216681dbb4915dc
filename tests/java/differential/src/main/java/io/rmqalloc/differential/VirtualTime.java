// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

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

    /** A lock that is not free stays so while the one thread there is waits. */
    public static boolean tryLock(Lock lock, long time, TimeUnit unit) {
        boolean got = lock.tryLock();
        now += got ? 0 : unit.toMillis(time);
        return got;
    }

    /** Lets time pass, and all happen that is due by then. */
    public static void advance(long milliseconds) {
        long until = now + milliseconds;
        while (!TASKS.isEmpty() && TASKS.peek().due <= until) {
            VirtualTask<?> task = TASKS.poll();
            now = Math.max(now, task.due);
            task.run();
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

    static void push(VirtualTask<?> task) {
        task.number = ++tasks;
        TASKS.add(task);
    }

    static void cancel(VirtualTask<?> task) {
        TASKS.remove(task);
    }
}
