// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

/**
 * Reads sequences of events, one a line, and says what the real classes have done after every event.
 *
 * <p>Arguments: {@code client} or {@code broker}. A line in: {@code {"seed": n, "config": {...}, "events": [...]}}. A line out:
 * {@code {"after": [what is seen after each event, ...]}}, or {@code {"failure": text}} if the driver itself could not go on.
 */
public final class Main {
    private Main() {
    }

    public static void main(String[] arguments) throws Exception {
        ClassLoader loader = new RewritingLoader(Main.class.getClassLoader());
        Thread.currentThread().setContextClassLoader(loader);
        loader.loadClass("io.rmqalloc.differential.Sequences").getMethod("main", String[].class)
            .invoke(null, (Object) arguments);
    }
}
