// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.store.OffsetStore;
import org.apache.rocketmq.client.impl.consumer.AssignedMessageQueue;
import org.apache.rocketmq.client.impl.consumer.DefaultMQPushConsumerImpl;
import org.apache.rocketmq.client.impl.consumer.MQConsumerInner;
import org.apache.rocketmq.client.impl.consumer.ProcessQueue;
import org.apache.rocketmq.client.impl.consumer.PullRequest;
import org.apache.rocketmq.client.impl.consumer.RebalanceImpl;
import org.apache.rocketmq.client.impl.factory.MQClientInstance;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import ${protocol}.heartbeat.SubscriptionData;

/** A consumer, whichever kind it is. */
@SuppressWarnings("deprecation") // of pull consumers, which 5 deprecates
final class Member {
    final MQConsumerInner impl;
    final RebalanceImpl rebalance;
    /** In which it starts, or is shut down. */
    Lane lane;
    private final Object api;
    private final Map<String, Object> spec;
    private final Map<MessageQueue, List<MessageExt>> messages = new LinkedHashMap<>();
    private final Map<MessageQueue, ProcessQueue> known = new LinkedHashMap<>();

    Member(Map<String, Object> spec) throws Exception {
        this.spec = spec;
        api = Consumers.made(spec);
        impl = (MQConsumerInner) Peek.get(api, Consumers.IMPLS.get(spec.get("type")));
        rebalance = (RebalanceImpl) Peek.get(impl, "rebalanceImpl");
    }

    void start() throws Exception {
        try {
            Peek.call(api, "start");
        } finally {
            for (String field : List.of("consumeMessageService", "consumeMessagePopService")) {
                Object service = Peek.get(impl, field);
                Object pool = service == null ? null : Peek.get(service, "scheduledExecutorService");
                if (pool instanceof VirtualScheduler mine) {
                    VirtualTime.postpone(mine); // it races with the timers of the client, which the product starts first
                }
            }
        }
    }

    MQClientInstance factory() {
        return (MQClientInstance) Peek.get(impl, "mQClientFactory");
    }

    OffsetStore store() {
        return (OffsetStore) Peek.get(impl, "offsetStore");
    }

    boolean tryRebalance() throws Exception {
        if (Peek.has(impl, "tryRebalance")) {
            return (Boolean) Peek.call(impl, "tryRebalance");
        }
        impl.doRebalance();
        return true;
    }

    Object happen(String kind, Map<String, Object> event) throws Exception {
        switch (kind) {
            case "subscribe":
                subscribe((String) event.get("topic"));
                return null;
            case "unsubscribe":
                if (api instanceof DefaultMQPullConsumer pull) { // which has two steps where the product has one
                    pull.getRegisterTopics().remove((String) event.get("topic"));
                }
                Peek.call(impl, "unsubscribe", event.get("topic"));
                return null;
            case "pause":
                Peek.call(api, "suspend");
                return null;
            case "resume":
                Peek.call(api, "resume");
                return null;
            case "assign":
                Peek.call(api, "assign", Queues.read((List<?>) event.get("queues")));
                return null;
            case "pause queues":
                Peek.call(api, "pause", Queues.read((List<?>) event.get("queues")));
                return null;
            case "resume queues":
                Peek.call(api, "resume", Queues.read((List<?>) event.get("queues")));
                return null;
            case "from where":
                Consumers.setFromWhere(api, (String) event.get("where"));
                return null;
            case "shutdown":
                Peek.call(api, "shutdown");
                return null;
            default:
                throw new ClientHalf.DriverError("no event " + kind);
        }
    }

    private void subscribe(String topic) throws Exception {
        if (api instanceof DefaultMQPullConsumer pull) {
            pull.getRegisterTopics().add(topic);
        } else {
            Peek.call(api, "subscribe", topic, "*");
        }
    }

    /** The queue that an event is about: {@code #n} is the n-th of those that the consumer has. */
    @SuppressWarnings("unchecked")
    MessageQueue chosen(String text, boolean pops) {
        if (!text.startsWith("#")) {
            return Queues.read(text);
        }
        Object table = Peek.get(rebalance, pops ? "popProcessQueueTable" : "processQueueTable");
        List<MessageQueue> queues = table == null ? List.of() : ((Map<MessageQueue, ?>) table).keySet().stream().sorted().toList();
        return queues.isEmpty() ? new MessageQueue("T", "a", 0) : queues.get(Integer.parseInt(text.substring(1)) % queues.size());
    }

    Object ofProcessQueue(String kind, Map<String, Object> event, MessageQueue queue) throws Exception {
        ProcessQueue processQueue = rebalance.getProcessQueueTable().get(queue);
        if (processQueue == null && !kind.startsWith("p")) {
            throw new IllegalStateException("no process queue of " + queue);
        }
        switch (kind) {
            case "pull":
                return pull(queue, false);
            case "pop":
                return pull(queue, true);
            case "consuming":
                Consuming.begin(Peek.call(processQueue, "getConsumeLock"),
                    event.get("for") == null ? null : VirtualTime.currentTimeMillis() + (Long) event.get("for"));
                return null;
            case "consumed":
                Consuming.end(Peek.call(processQueue, "getConsumeLock"));
                return null;
            case "messages":
                processQueue.putMessage(messages(queue, ((Long) event.get("n")).intValue()));
                return null;
            case "no messages":
                processQueue.removeMessage(messages.getOrDefault(queue, List.of()));
                messages.remove(queue);
                return null;
            case "lock later":
                Object service = Peek.get(impl, "consumeMessageService");
                Peek.call(service, "tryLockLaterAndReconsume", queue, processQueue, 10L);
                return null;
            default:
                throw new ClientHalf.DriverError("no event " + kind);
        }
    }

    private List<MessageExt> messages(MessageQueue queue, int count) {
        List<MessageExt> all = messages.computeIfAbsent(queue, key -> new ArrayList<>());
        List<MessageExt> more = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            MessageExt message = new MessageExt();
            message.setQueueOffset(all.size());
            message.setBody(new byte[10]);
            all.add(message);
            more.add(message);
        }
        return more;
    }

    private Object pull(MessageQueue queue, boolean pop) throws Exception {
        Object request = World.requested((String) spec.get("group"), queue, pop);
        if (request == null) {
            return "nothing to pull";
        }
        Peek.call(impl, pop ? "popMessage" : "pullMessage", request);
        return pop ? null : List.of(((PullRequest) request).getNextOffset(), Peek.call(request, "isPreviouslyLocked"));
    }

    /** All that can be seen of it. */
    Object state() throws Exception {
        Map<String, Object> state = new LinkedHashMap<>();
        // The product does not wait for a pass that waits.
        state.put("state", Loops.isJoining(lane) ? "SHUTDOWN_ALREADY" : Peek.get(impl, "serviceState").toString());
        state.put("table", table());
        state.put("pop", popTable());
        Map<String, Object> views = new TreeMap<>();
        rebalance.getTopicSubscribeInfoTable().forEach((topic, queues) -> views.put(topic, Queues.told(queues)));
        state.put("views", views);
        Map<String, Object> versions = new TreeMap<>();
        for (Map.Entry<String, SubscriptionData> entry : rebalance.getSubscriptionInner().entrySet()) {
            SubscriptionData subscription = entry.getValue();
            versions.put(entry.getKey(), List.of(subscription.getSubString(), subscription.getSubVersion()));
        }
        state.put("subscriptions", versions);
        Map<String, Object> offsets = new TreeMap<>();
        if (store() != null) {
            store().cloneOffsetTable(null).forEach((queue, offset) -> offsets.put(Queues.told(queue), offset));
        }
        state.put("offsets", offsets);
        if (api instanceof DefaultMQPushConsumer push) {
            state.put("thresholds", List.of(push.getPullThresholdForQueue(), push.getPullThresholdSizeForQueue()));
            state.put("paused", ((DefaultMQPushConsumerImpl) impl).isPause());
        } else if (api instanceof DefaultLitePullConsumer) {
            state.put("assigned", assigned());
            state.put("dropped", Queues.told(known.keySet().stream().filter(queue -> known.get(queue).isDropped()).toList()));
            boolean runs = state.get("state").equals("RUNNING"); // a shutdown ends them with their pool
            state.put("tasks", Queues.told(runs ? tasks().keySet() : Set.of()));
        }
        return state;
    }

    @SuppressWarnings("unchecked")
    private Map<MessageQueue, ?> tasks() {
        return (Map<MessageQueue, ?>) Peek.get(impl, "taskTable");
    }

    private Map<String, Object> table() {
        Map<String, Object> table = new TreeMap<>();
        rebalance.getProcessQueueTable().forEach((queue, one) -> table.put(Queues.told(queue), told(one)));
        return table;
    }

    private static Object told(ProcessQueue one) {
        return List.of(one.isDropped(), one.isLocked(), one.getLastPullTimestamp() - VirtualTime.EPOCH,
            one.getLastLockTimestamp() - VirtualTime.EPOCH, one.getTryUnlockTimes(), one.isPullExpired(), one.isLockExpired(),
            one.getMsgCount().get());
    }

    @SuppressWarnings("unchecked")
    private Map<String, Object> popTable() throws Exception {
        Map<String, Object> table = new TreeMap<>();
        Map<MessageQueue, Object> popped = (Map<MessageQueue, Object>) Peek.get(rebalance, "popProcessQueueTable");
        if (popped != null) {
            for (Map.Entry<MessageQueue, Object> entry : popped.entrySet()) {
                Object one = entry.getValue();
                table.put(Queues.told(entry.getKey()), List.of(Peek.get(one, "dropped"),
                    (Long) Peek.get(one, "lastPopTimestamp") - VirtualTime.EPOCH, Peek.call(one, "isPullExpired")));
            }
        }
        return table;
    }

    private Object assigned() {
        AssignedMessageQueue assigned = (AssignedMessageQueue) Peek.get(impl, "assignedMessageQueue");
        Map<String, Object> told = new TreeMap<>();
        for (MessageQueue queue : assigned.getAssignedMessageQueues()) {
            known.put(queue, assigned.getProcessQueue(queue));
            told.put(Queues.told(queue), List.of(assigned.isPaused(queue), assigned.getPullOffset(queue),
                assigned.getConsumerOffset(queue), assigned.getSeekOffset(queue), assigned.getProcessQueue(queue).isDropped(),
                assigned.getProcessQueue(queue) == rebalance.getProcessQueueTable().get(queue)));
        }
        return told;
    }
}
