// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import io.netty.channel.Channel;

/** What is beyond a broker. */
interface BrokerWorld {
    /** A notice of changed clients was sent; may fail. */
    void sent(Channel channel, String group) throws Exception;

    /** What a name server says of a topic: a route as it is on the wire, null (no such topic), "error" or "timeout". */
    Object route(String topic);
}
