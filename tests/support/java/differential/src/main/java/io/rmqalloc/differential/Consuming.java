// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;

/** Whoever consumes in order, and so holds consume locks: one thread that does nothing else. */
final class Consuming {
    /** By the lock that whoever gives up a queue wants. */
    private static final Map<Lock, Hold> HELD = new HashMap<>();
    private static final ExecutorService THREAD = Executors.newSingleThreadExecutor(action -> {
        Thread thread = new Thread(action, "consuming");
        thread.setDaemon(true);
        return thread;
    });

    private Consuming() {
    }

    static void reset() {
        HELD.clear();
    }

    /** Takes the lock of a process queue until a time in milliseconds, or with null until it is told to end. */
    static void begin(Object consumeLock, Long until) {
        Hold hold = new Hold(lock(consumeLock), until == null ? Long.MAX_VALUE : until);
        if (HELD.put(wanted(consumeLock), hold) == null) {
            inThread(hold.lock::lock);
        }
    }

    static void end(Object consumeLock) {
        end(HELD.remove(wanted(consumeLock)));
    }

    private static void end(Hold hold) {
        if (hold != null) {
            inThread(hold.lock::unlock);
        }
    }

    /** When a lock is had, or given up, that is waited for from now to a time at the latest. */
    static long awaited(Lock wanted, long now, long latest) {
        Hold hold = HELD.get(wanted);
        if (hold == null) {
            return now;
        }
        if (hold.until <= latest) {
            end(HELD.remove(wanted));
        }
        return Math.max(now, Math.min(hold.until, latest));
    }

    private static Lock lock(Object consumeLock) {
        return consumeLock instanceof ReadWriteLock pair ? pair.readLock() : (Lock) consumeLock;
    }

    private static Lock wanted(Object consumeLock) {
        return consumeLock instanceof ReadWriteLock pair ? pair.writeLock() : (Lock) consumeLock;
    }

    private record Hold(Lock lock, long until) {
    }

    private static void inThread(Runnable action) {
        try {
            THREAD.submit(action).get();
        } catch (InterruptedException | ExecutionException error) {
            throw new IllegalStateException(error);
        }
    }
}
