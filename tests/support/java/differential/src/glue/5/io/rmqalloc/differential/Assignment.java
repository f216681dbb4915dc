// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import io.netty.channel.ChannelHandlerContext;
import io.rmqalloc.witness.Json;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.rocketmq.broker.BrokerController;
import org.apache.rocketmq.broker.client.rebalance.RebalanceLockManager;
import org.apache.rocketmq.broker.loadbalance.MessageRequestModeManager;
import org.apache.rocketmq.broker.processor.QueryAssignmentProcessor;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.common.message.MessageQueueAssignment;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;
import org.apache.rocketmq.remoting.protocol.RequestCode;
import org.apache.rocketmq.remoting.protocol.ResponseCode;
import org.apache.rocketmq.remoting.protocol.body.QueryAssignmentResponseBody;

/** Queues that the broker divides. */
final class Assignment {
    private final QueryAssignmentProcessor processor;

    Assignment(Broker broker) throws ReflectiveOperationException {
        processor = new QueryAssignmentProcessor(broker);
        Stubs.set(processor, QueryAssignmentProcessor.class, "messageRequestModeManager", new Modes(broker));
    }

    Object happens(ChannelHandlerContext context, Map<String, Object> event) throws Exception {
        boolean asks = event.get("kind").equals("query");
        int code = asks ? RequestCode.QUERY_ASSIGNMENT : RequestCode.SET_MESSAGE_REQUEST_MODE;
        RemotingCommand request = RemotingCommand.createRequestCommand(code, null);
        request.setBody(Json.write(event.get("data")).getBytes(StandardCharsets.US_ASCII));
        RemotingCommand response = processor.processRequest(context, request);
        if (!asks || response.getCode() != ResponseCode.SUCCESS) {
            return (long) response.getCode();
        }
        return shown(QueryAssignmentResponseBody.decode(response.getBody(), QueryAssignmentResponseBody.class)
            .getMessageQueueAssignments());
    }

    /** A set has no order: it is shown sorted. */
    private static Object shown(Set<MessageQueueAssignment> assignments) {
        if (assignments == null) {
            return null;
        }
        Map<MessageQueue, String> modes = new HashMap<>();
        assignments.forEach(one -> modes.put(one.getMessageQueue(), one.getMode().name()));
        List<Object> shown = new ArrayList<>();
        modes.keySet().stream().sorted().forEach(queue -> shown.add(
            List.of(queue.getTopic(), queue.getBrokerName(), (long) queue.getQueueId(), modes.get(queue))));
        return shown;
    }

    static Object isLockAllExpired(RebalanceLockManager locks, String group) {
        return locks.isLockAllExpired(group);
    }

    private static final class Modes extends MessageRequestModeManager {
        Modes(BrokerController broker) {
            super(broker);
        }

        @Override
        public synchronized void persist() {
            // no disk
        }
    }
}
