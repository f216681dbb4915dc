// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import io.netty.channel.ChannelId;

/** The id of a stubbed connection: its hash is its number, so that tables of connections have an order that repeats. */
record Number(long number) implements ChannelId {
    private static final long serialVersionUID = 1;

    @Override
    public String asShortText() {
        return "channel-" + number;
    }

    @Override
    public String asLongText() {
        return asShortText();
    }

    @Override
    public int compareTo(ChannelId other) {
        return Long.compare(number, ((Number) other).number);
    }

    @Override
    public int hashCode() {
        return (int) number;
    }
}
