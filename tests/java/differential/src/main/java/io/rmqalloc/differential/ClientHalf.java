// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import java.util.Map;

/** The client half. */
final class ClientHalf implements Half {
    ClientHalf(Map<String, Object> config) {
    }

    @Override
    public Object after(Map<String, Object> event) throws Exception {
        return event.get("kind");
    }
}
