// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import java.util.concurrent.ExecutorService;

/** What a transport of 4.9 has besides: nothing happens. */
public abstract class QuietTransport extends SilentTransport {
    @Override
    public ExecutorService getCallbackExecutor() {
        return null;
    }
}
