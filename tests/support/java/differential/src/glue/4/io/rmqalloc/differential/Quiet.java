// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

/** No complaints about logs that nobody asked for. */
final class Quiet {
    private Quiet() {
    }

    static void please() {
        org.apache.rocketmq.logging.inner.SysLogger.setQuietMode(true);
    }
}
