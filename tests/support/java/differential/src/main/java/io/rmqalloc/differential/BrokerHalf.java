// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import static io.rmqalloc.differential.Sequences.object;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.embedded.EmbeddedChannel;
import io.rmqalloc.witness.Json;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.broker.client.ClientChannelInfo;
import org.apache.rocketmq.broker.client.ConsumerGroupEvent;
import org.apache.rocketmq.broker.client.ConsumerGroupInfo;
import org.apache.rocketmq.broker.client.ConsumerIdsChangeListener;
import org.apache.rocketmq.broker.client.ConsumerManager;
import org.apache.rocketmq.broker.client.DefaultConsumerIdsChangeListener;
import org.apache.rocketmq.broker.client.rebalance.RebalanceLockManager;
import org.apache.rocketmq.broker.processor.ClientManageProcessor;
import org.apache.rocketmq.broker.processor.ConsumerManageProcessor;
import org.apache.rocketmq.common.TopicConfig;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;
import ${protocol}.RequestCode;
import ${protocol}.ResponseCode;
import ${protocol}.header.GetConsumerListByGroupRequestHeader;
import ${protocol}.header.GetConsumerListByGroupResponseBody;
import ${protocol}.header.UnregisterClientRequestHeader;
import ${protocol}.heartbeat.SubscriptionData;
import ${subscription}.SubscriptionGroupConfig;

/**
 * The broker half: the real classes of who is in a group, who is told of it and who holds which lock. Stubbed are the
 * connections, what a broker writes to disk, and the name server.
 */
final class BrokerHalf implements Half, ConsumerIdsChangeListener, BrokerWorld {
    private final Map<Long, EmbeddedChannel> channels = new HashMap<>();
    private final Map<Long, ChannelHandlerContext> contexts = new HashMap<>();
    private final Map<Channel, Long> numbers = new HashMap<>();
    private final Set<Long> failing = new HashSet<>();
    private final Set<Long> seenClosed = new HashSet<>();
    private final Map<List<Object>, Map<String, Object>> armed = new HashMap<>();
    private final Map<String, Object> routes = new HashMap<>();
    private final Broker broker;
    private final ConsumerIdsChangeListener notifier;
    private final ConsumerManager consumers;
    private final RebalanceLockManager locks = new RebalanceLockManager();
    private final ClientManageProcessor clients;
    private final ConsumerManageProcessor lists;
    private final Assignment assignment;
    private final Set<String> names = new TreeSet<>();
    private Map<String, Object> lastGroups = Map.of();
    private List<Object> notices = new ArrayList<>();
    private List<Object> heard = new ArrayList<>();

    BrokerHalf(Map<String, Object> config) throws Exception {
        broker = Broker.made(config, this);
        notifier = new DefaultConsumerIdsChangeListener(broker);
        consumers = broker.made(this);
        clients = new ClientManageProcessor(broker);
        lists = new ConsumerManageProcessor(broker);
        VirtualTime.newScheduledThreadPool()
            .scheduleAtFixedRate(consumers::scanNotActiveChannel, 10_000, 10_000, TimeUnit.MILLISECONDS);
        for (Object topic : (List<?>) config.get("topics")) {
            broker.getTopicConfigManager().getTopicConfigTable().put((String) topic, new TopicConfig((String) topic));
        }
        assignment = new Assignment(broker);
    }

    @Override
    public Object after(Map<String, Object> event) throws Exception {
        notices = new ArrayList<>();
        heard = new ArrayList<>();
        Map<String, Object> seen = new TreeMap<>();
        seen.put("answer", happens(event));
        seen.put("notices", notices);
        seen.put("heard", heard);
        Map<String, Object> groups = groups();
        seen.put("groups", groups.equals(lastGroups) ? null : groups);
        lastGroups = groups;
        seen.put("closed", closed());
        return seen;
    }

    private Object happens(Map<String, Object> event) throws Exception {
        String group = (String) event.get("group");
        switch ((String) event.get("kind")) {
            case "heartbeat":
                return heartbeat(event);
            case "unregister":
                UnregisterClientRequestHeader leaving = new UnregisterClientRequestHeader();
                leaving.setClientID((String) event.get("client"));
                leaving.setConsumerGroup(group);
                RemotingCommand request = RemotingCommand.createRequestCommand(RequestCode.UNREGISTER_CLIENT, leaving);
                request.makeCustomHeaderToNet();
                return (long) clients.processRequest(context(event), request).getCode();
            case "close":
                EmbeddedChannel channel = channel((Long) event.get("channel"));
                channel.close();
                seenClosed.add((Long) event.get("channel"));
                consumers.doChannelCloseEvent("embedded", channel);
                return null;
            case "advance":
                VirtualTime.advance((Long) event.get("by"));
                return null;
            case "notices":
                broker.getBrokerConfig().setNotifyConsumerIdsChangedEnable((Boolean) event.get("on"));
                return null;
            case "real time":
                broker.isRealTime((Boolean) event.get("on"));
                return null;
            case "group flag":
                groupFlag(group, (Boolean) event.get("on"));
                return null;
            case "fail":
                return failing.add((Long) event.get("channel"));
            case "arm":
                armed.put(List.of(event.get("channel"), group), object(event.get("then")));
                return null;
            case "lists":
                return clientIds(event, group);
            case "topic groups":
                return new ArrayList<>(new TreeSet<>(consumers.queryTopicConsumeByWho((String) event.get("topic"))));
            case "topics":
                return new ArrayList<>(new TreeSet<>(retryTopics()));
            case "lock":
                return queues(locks.tryLockBatch(group, queues(event.get("queues")), (String) event.get("client")));
            case "lock one":
                MessageQueue one = queue((List<?>) ((List<?>) event.get("queues")).get(0));
                return locks.tryLock(group, one, (String) event.get("client"));
            case "unlock":
                locks.unlockBatch(group, queues(event.get("queues")), (String) event.get("client"));
                return null;
            case "all expired":
                return Assignment.isLockAllExpired(locks, group);
            case "route":
                routes.put((String) event.get("topic"), event.get("route"));
                return null;
            default:
                return assignment.happens(context(event), event);
        }
    }

    private Object heartbeat(Map<String, Object> event) throws Exception {
        for (Object consumer : (List<?>) object(event.get("data")).get("consumerDataSet")) {
            names.add((String) object(consumer).get("groupName"));
        }
        RemotingCommand request = RemotingCommand.createRequestCommand(RequestCode.HEART_BEAT, null);
        request.setBody(Json.write(event.get("data")).getBytes(StandardCharsets.US_ASCII));
        RemotingCommand response = clients.processRequest(context(event), request);
        List<Object> answer = new ArrayList<>(List.of((long) response.getCode()));
        Map<String, String> fields = response.getExtFields();
        if (fields != null) {
            answer.add(Boolean.valueOf(fields.get("IS_SUPPORT_HEART_BEAT_V2")));
            answer.add(Boolean.valueOf(fields.get("IS_SUB_CHANGE")));
        }
        return answer;
    }

    private Object clientIds(Map<String, Object> event, String group) throws Exception {
        GetConsumerListByGroupRequestHeader header = new GetConsumerListByGroupRequestHeader();
        header.setConsumerGroup(group);
        RemotingCommand request = RemotingCommand.createRequestCommand(RequestCode.GET_CONSUMER_LIST_BY_GROUP, header);
        request.makeCustomHeaderToNet();
        RemotingCommand response = lists.processRequest(context(event), request);
        if (response.getCode() != ResponseCode.SUCCESS) {
            return (long) response.getCode();
        }
        return GetConsumerListByGroupResponseBody.decode(response.getBody(), GetConsumerListByGroupResponseBody.class)
            .getConsumerIdList();
    }

    private void groupFlag(String group, boolean on) {
        SubscriptionGroupConfig config = new SubscriptionGroupConfig();
        config.setGroupName(group);
        config.setNotifyConsumerIdsChangedEnable(on);
        broker.getSubscriptionGroupManager().getSubscriptionGroupTable().put(group, config);
    }

    private Set<String> retryTopics() {
        Set<String> topics = new HashSet<>(broker.getTopicConfigManager().getTopicConfigTable().keySet());
        topics.removeIf(topic -> !topic.startsWith("%RETRY%"));
        return topics;
    }

    // --- connections ---

    private EmbeddedChannel channel(long number) {
        return channels.computeIfAbsent(number, n -> {
            EmbeddedChannel channel = new EmbeddedChannel(new Number(n), new ChannelInboundHandlerAdapter());
            numbers.put(channel, n);
            contexts.put(n, channel.pipeline().firstContext()); // a closed channel has none any longer
            return channel;
        });
    }

    private ChannelHandlerContext context(Map<String, Object> event) {
        Object number = event.get("channel");
        channel(number == null ? -1 : (Long) number);
        return contexts.get(number == null ? -1L : (Long) number);
    }

    /** Channels that the broker itself has closed since the last event, those that the event closed aside. */
    private List<Long> closed() {
        Set<Long> closed = new TreeSet<>();
        channels.forEach((number, channel) -> {
            if (!channel.isActive() && seenClosed.add(number)) {
                closed.add(number);
            }
        });
        return new ArrayList<>(closed);
    }

    @Override
    public void sent(Channel channel, String group) throws Exception {
        long number = numbers.get(channel);
        notices.add(List.of(number, group));
        Map<String, Object> event = armed.remove(List.of(number, group));
        if (event != null) {
            happens(event);
        }
        if (failing.contains(number)) {
            throw new IllegalStateException("this channel takes nothing");
        }
    }

    @Override
    public Object route(String topic) {
        return routes.get(topic);
    }

    // --- what listeners hear ---

    @Override
    public void handle(ConsumerGroupEvent event, String group, Object... arguments) {
        notifier.handle(event, group, arguments);
        List<Object> told = new ArrayList<>(List.of(event.name(), group));
        if (arguments.length > 0) {
            told.add(told(arguments[0]));
        }
        if (arguments.length > 1 && event != ConsumerGroupEvent.REGISTER) {
            told.add(new ArrayList<>(new TreeSet<>((Collection<?>) arguments[1])));
        }
        heard.add(told);
    }

    /** Since 5.0 a listener can be shut down. */
    public void shutdown() {
        throw new UnsupportedOperationException();
    }

    private Object told(Object argument) {
        if (argument instanceof ClientChannelInfo client) {
            return List.of(numbers.get(client.getChannel()), client.getClientId());
        }
        if (argument instanceof List<?> told) {
            return told.stream().map(numbers::get).toList();
        }
        Set<String> topics = new TreeSet<>();
        for (Object subscription : (Collection<?>) argument) {
            topics.add(((SubscriptionData) subscription).getTopic());
        }
        return new ArrayList<>(topics);
    }

    // --- what is known ---

    /** Who is in which group; shown where it is not what it was after the last event. */
    private Map<String, Object> groups() throws Exception {
        Map<String, Object> groups = new TreeMap<>();
        for (String name : names) { // the table itself has thousands of empty entries to go through
            ConsumerGroupInfo info = broker.groups().get(name);
            if (info == null) {
                continue;
            }
            Map<String, Object> topics = new TreeMap<>();
            info.getSubscriptionTable().forEach((topic, subscription) ->
                topics.put(topic, List.of(subscription.getSubString(), subscription.getSubVersion())));
            List<Object> members = new ArrayList<>();
            info.getChannelInfoTable().forEach((channel, client) ->
                members.add(List.of(numbers.get(channel), client.getClientId(), client.getLastUpdateTimestamp())));
            groups.put(info.getGroupName(), List.of(info.getConsumeType().name(), info.getMessageModel().name(),
                info.getConsumeFromWhere().name(), members, topics));
        }
        if (groups.size() != broker.groups().size()) {
            throw new IllegalStateException("a group that no heartbeat named: " + broker.groups().keySet());
        }
        return groups;
    }

    static Set<MessageQueue> queues(Object value) {
        Set<MessageQueue> queues = new HashSet<>();
        for (Object item : (List<?>) value) {
            queues.add(queue((List<?>) item));
        }
        return queues;
    }

    private static MessageQueue queue(List<?> parts) {
        return new MessageQueue((String) parts.get(0), (String) parts.get(1), ((Long) parts.get(2)).intValue());
    }

    /** A set has no order: it is shown sorted. */
    static List<Object> queues(Set<MessageQueue> queues) {
        List<Object> shown = new ArrayList<>();
        queues.stream().sorted(Comparator.naturalOrder()).forEach(queue ->
            shown.add(List.of(queue.getTopic(), queue.getBrokerName(), (long) queue.getQueueId())));
        return shown;
    }
}
