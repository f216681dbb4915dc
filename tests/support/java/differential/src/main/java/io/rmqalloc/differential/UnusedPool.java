// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/** The pool in which a lite pull consumer pulls: nothing runs in it, as there are no messages. */
public final class UnusedPool extends ScheduledThreadPoolExecutor {
    public UnusedPool(int threads, ThreadFactory factory) {
        super(0, factory);
    }

    @Override
    public ScheduledFuture<?> schedule(Runnable action, long delay, TimeUnit unit) {
        return null;
    }
}
