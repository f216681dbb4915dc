// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** The pool in which messages are consumed: what it is asked to consume is written down. */
public final class ConsumePool extends ThreadPoolExecutor {
    public ConsumePool(int core, int maximum, long alive, TimeUnit unit, BlockingQueue<Runnable> queue, ThreadFactory factory) {
        super(0, 1, alive, unit, queue, factory);
    }

    public ConsumePool(int core, int maximum, long alive, TimeUnit unit, BlockingQueue<Runnable> queue) {
        super(0, 1, alive, unit, queue);
    }

    @Override
    public Future<?> submit(Runnable request) {
        if (isShutdown()) {
            throw new RejectedExecutionException("shut down");
        }
        World.consumes(request);
        return null;
    }
}
