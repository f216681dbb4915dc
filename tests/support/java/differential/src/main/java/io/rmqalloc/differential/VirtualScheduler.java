// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import java.util.List;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;

/** Pool of no threads: what is to run at once runs at once, the rest when {@link VirtualTime} passes. */
final class VirtualScheduler extends AbstractExecutorService implements ScheduledExecutorService {
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
        return pushed(Executors.callable(action), unit.toMillis(delay), unit.toMillis(period));
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

    @Override
    public void shutdown() {
        isShutdown = true;
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
