// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;

/** Whoever consumes in order, and so holds consume locks: one thread that does nothing else. */
final class Consuming {
    private static final Map<Lock, Long> HELD = new LinkedHashMap<>();
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
        Lock lock = lock(consumeLock);
        if (HELD.put(lock, until == null ? Long.MAX_VALUE : until) == null) {
            inThread(lock::lock);
        }
    }

    static void end(Object consumeLock) {
        Lock lock = lock(consumeLock);
        if (HELD.remove(lock) != null) {
            inThread(lock::unlock);
        }
    }

    /** Those that are known to end by a time have ended. */
    static void endBy(long time) {
        for (Iterator<Map.Entry<Lock, Long>> held = HELD.entrySet().iterator(); held.hasNext();) {
            Map.Entry<Lock, Long> entry = held.next();
            if (entry.getValue() <= time) {
                held.remove();
                inThread(entry.getKey()::unlock);
            }
        }
    }

    private static Lock lock(Object consumeLock) {
        return consumeLock instanceof ReadWriteLock pair ? pair.readLock() : (Lock) consumeLock;
    }

    private static void inThread(Runnable action) {
        try {
            THREAD.submit(action).get();
        } catch (InterruptedException | ExecutionException error) {
            throw new IllegalStateException(error);
        }
    }
}
