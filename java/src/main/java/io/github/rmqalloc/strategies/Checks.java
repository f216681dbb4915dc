// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.github.rmqalloc.strategies;

import java.util.List;
import org.apache.rocketmq.common.message.MessageQueue;

/** RocketMQ's checks of the arguments of a strategy, with its words. Its own class differs between 4.9 and 5.x. */
final class Checks {
    private Checks() {
    }

    /** Whether the client takes part: false if it is not in the list yet, which gives it nothing. */
    static boolean takesPart(String currentCID, List<MessageQueue> mqAll, List<String> cidAll) {
        require(currentCID != null && !currentCID.isEmpty(), "currentCID is empty");
        require(mqAll != null && !mqAll.isEmpty(), "mqAll is null or mqAll empty");
        require(cidAll != null && !cidAll.isEmpty(), "cidAll is null or cidAll empty");
        return cidAll.contains(currentCID);
    }

    static void require(boolean condition, String otherwise) {
        if (!condition) {
            throw new IllegalArgumentException(otherwise);
        }
    }
}
