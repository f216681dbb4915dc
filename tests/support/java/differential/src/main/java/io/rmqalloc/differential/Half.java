// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import java.util.Map;

/** Half of RocketMQ with its transport stubbed; one for every sequence. */
interface Half {
    /**
     * Lets one event happen.
     *
     * @return what is seen then, as {@link io.rmqalloc.witness.Json} writes it; what the real classes throw is part of it
     */
    Object after(Map<String, Object> event) throws Exception;
}
