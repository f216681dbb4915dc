// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import java.util.concurrent.Callable;
import java.util.concurrent.Delayed;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RunnableScheduledFuture;
import java.util.concurrent.TimeUnit;

/** Something that {@link VirtualTime} will run, once or every {@code period} milliseconds. */
final class VirtualTask<T> extends FutureTask<T> implements RunnableScheduledFuture<T> {
    long due;
    /** When it runs if nothing else keeps it: in the order of these times tasks run that wait for time to pass. */
    long at;
    long number;
    VirtualScheduler pool;
    private final long period;

    VirtualTask(Callable<T> action, long delay, long period) {
        super(action);
        this.due = VirtualTime.currentTimeMillis() + delay;
        this.period = period;
    }

    @Override
    public void run() {
        if (period == 0) {
            super.run();
        } else if (runAndReset() && (pool == null || !pool.isShutdown())) { // as in Java's pools, one that fails runs no more
            due += period;
            if (pool != null && pool.isLate(this)) {
                pool.run(this);
            } else {
                VirtualTime.push(this);
            }
        }
    }

    @Override
    public boolean cancel(boolean interrupt) {
        VirtualTime.cancel(this);
        return super.cancel(interrupt);
    }

    @Override
    public boolean isPeriodic() {
        return period != 0;
    }

    @Override
    public long getDelay(TimeUnit unit) {
        return unit.convert(due - VirtualTime.currentTimeMillis(), TimeUnit.MILLISECONDS);
    }

    @Override
    public int compareTo(Delayed delayed) {
        VirtualTask<?> other = (VirtualTask<?>) delayed;
        return at != other.at ? Long.compare(at, other.at) : Long.compare(number, other.number);
    }

    @Override
    public boolean equals(Object other) {
        return this == other;
    }

    @Override
    public int hashCode() {
        return System.identityHashCode(this);
    }
}
