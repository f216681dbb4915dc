// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;

/**
 * Pool of no threads: what is to run at once runs at once, the rest when {@link VirtualTime} passes. Where answers take time, it
 * has a lane, in which what is due runs when what ran before has ended.
 */
final class VirtualScheduler extends AbstractExecutorService implements ScheduledExecutorService {
    private final PriorityQueue<VirtualTask<?>> late = new PriorityQueue<>(
        Comparator.<VirtualTask<?>>comparingLong(task -> task.due).thenComparing(task -> task.number));
    private Lane lane;
    private boolean isRunning;
    private boolean isShutdown;

    @Override
    public void execute(Runnable action) {
        action.run();
    }

    @Override
    public ScheduledFuture<?> schedule(Runnable action, long delay, TimeUnit unit) {
        return pushed(Executors.callable(action), unit.toMillis(delay), 0);
    }

    @Override
    public <V> ScheduledFuture<V> schedule(Callable<V> action, long delay, TimeUnit unit) {
        return pushed(action, unit.toMillis(delay), 0);
    }

    @Override
    public ScheduledFuture<?> scheduleAtFixedRate(Runnable action, long delay, long period, TimeUnit unit) {
        long every = unit.toMillis(period);
        if (Delays.areOn() && isOfNoMatter(action.getClass().getName(), every)) {
            return new VirtualTask<>(Executors.callable(action), unit.toMillis(delay), every);
        }
        return pushed(Executors.callable(action), unit.toMillis(delay), every);
    }

    /** Statistics, and the sizes of pools: they change nothing, and the product has none to wait in a lane. */
    private static boolean isOfNoMatter(String name, long every) {
        return name.contains(".stats.") || every == 60_000 && name.contains(".MQClientInstance");
    }

    @Override
    public ScheduledFuture<?> scheduleWithFixedDelay(Runnable action, long delay, long period, TimeUnit unit) {
        return scheduleAtFixedRate(action, delay, period, unit);
    }

    private <V> ScheduledFuture<V> pushed(Callable<V> action, long delay, long period) {
        if (isShutdown) {
            throw new RejectedExecutionException("shut down");
        }
        VirtualTask<V> task = new VirtualTask<>(action, delay, period);
        task.pool = this;
        VirtualTime.push(task);
        return task;
    }

    /** Whether a task is due behind others that wait for this lane. */
    boolean isLate(VirtualTask<?> task) {
        return !late.isEmpty() && task.due <= VirtualTime.currentTimeMillis();
    }

    /** Runs a task that is due, as soon as it can. */
    void run(VirtualTask<?> task) {
        late.add(task);
        runLate();
    }

    private void runLate() {
        if (lane == null) {
            lane = new Lane("pool");
            lane.whenFree = this::runLate;
        }
        if (isRunning) {
            return;
        }
        isRunning = true;
        while (!late.isEmpty() && !lane.isBusy()) {
            lane.begin(late.poll());
        }
        isRunning = false;
    }

    @Override
    public void shutdown() {
        isShutdown = true;
        late.removeIf(VirtualTask::isPeriodic);
        VirtualTime.cancelPeriodic(this);
    }

    @Override
    public List<Runnable> shutdownNow() {
        isShutdown = true;
        return List.of();
    }

    @Override
    public boolean isShutdown() {
        return isShutdown;
    }

    @Override
    public boolean isTerminated() {
        return isShutdown;
    }

    @Override
    public boolean awaitTermination(long time, TimeUnit unit) {
        return isShutdown;
    }
}
