// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import io.rmqalloc.witness.Json;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.function.Supplier;
import org.apache.rocketmq.client.impl.factory.MQClientInstance;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.ChannelEventListener;
import org.apache.rocketmq.remoting.InvokeCallback;
import org.apache.rocketmq.remoting.exception.RemotingConnectException;
import org.apache.rocketmq.remoting.exception.RemotingTimeoutException;
import org.apache.rocketmq.remoting.netty.NettyClientConfig;
import org.apache.rocketmq.remoting.netty.NettyRequestProcessor;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;

/** Made by MQClientAPIImpl in place of a NettyRemotingClient: requests are written down and answered by {@link World}. */
public final class StubTransport extends QuietTransport {
    final ChannelEventListener listener;
    NettyRequestProcessor processor;

    public StubTransport(NettyClientConfig config, ChannelEventListener listener) {
        this.listener = listener;
    }

    @Override
    public void registerProcessor(int code, NettyRequestProcessor given, ExecutorService executor) {
        processor = given;
    }

    @Override
    public void invokeAsync(String address, RemotingCommand request, long timeout, InvokeCallback callback) {
        throw new IllegalStateException("request " + request.getCode() + " is not expected");
    }

    @Override
    public void invokeOneway(String address, RemotingCommand request, long timeout) throws RemotingConnectException,
        RemotingTimeoutException {
        ask(address, request, timeout, true);
    }

    @Override
    public RemotingCommand invokeSync(String address, RemotingCommand request, long timeout) throws RemotingConnectException,
        RemotingTimeoutException {
        Map<String, Object> answer = ask(address, request, timeout, false);
        RemotingCommand response = RemotingCommand.createResponseCommand(number(answer.getOrDefault("code", 0L)), "as told");
        if (answer.containsKey("offset")) {
            response.setExtFields(new HashMap<>(Map.of("offset", String.valueOf(answer.get("offset")))));
        }
        if (answer.get("v2") instanceof List<?> told) {
            response.setExtFields(new HashMap<>(Map.of("IS_SUPPORT_HEART_BEAT_V2", String.valueOf(told.get(0)), "IS_SUB_CHANGE",
                String.valueOf(told.get(1)))));
        }
        if (answer.containsKey("body")) {
            response.setBody(Json.write(answer.get("body")).getBytes(StandardCharsets.UTF_8));
        }
        response.setVersion(number(answer.getOrDefault("version", 0L)));
        return response;
    }

    private String client() {
        return ((MQClientInstance) Peek.get(processor, "mqClientFactory")).getClientId();
    }

    private Map<String, Object> ask(String address, RemotingCommand request, long timeout, boolean oneway)
        throws RemotingConnectException, RemotingTimeoutException {
        request.makeCustomHeaderToNet();
        Map<String, String> header = request.getExtFields() == null ? Map.of() : request.getExtFields();
        Map<String, Object> body = request.getBody() == null ? Map.of()
            : Sequences.object(Json.parse(new String(request.getBody(), StandardCharsets.UTF_8)));
        Asked asked = asked(address, request.getCode(), header, body, timeout, oneway);
        boolean isLost = !oneway && Delays.isLost(asked.kind, client());
        Map<String, Object> answer = asked.answer.get();
        if (isLost || answer.containsKey("lost") || World.answer("down", String.valueOf(address)).containsKey("lost")) {
            if (oneway) {
                throw new RemotingConnectException(address);
            }
            throw new RemotingTimeoutException(address, timeout);
        }
        return answer;
    }

    private Asked asked(String address, int code, Map<String, String> header, Map<String, Object> body,
        long timeout, boolean oneway) {
        String client = client();
        String group = header.get("consumerGroup");
        String queue = header.get("topic") + "|" + header.getOrDefault("brokerName", header.get("bname")) + "|"
            + header.get("queueId");
        switch (code) {
            case 105:
                World.see("route", client, header.get("topic"));
                return Asked.of("route", header.get("topic"));
            case 34:
                World.see("heartbeat", client, address, heartbeat(body));
                return Asked.of("heartbeat", address);
            case 35:
                World.see("unregister", client, address, header.get("clientID"), group);
                return Asked.of("unregister", address);
            case 38:
                World.see("clients", client, address, group);
                return Asked.of("clients", group);
            case 41:
                return locks("lock", client, address, body, timeout, oneway);
            case 42:
                return locks("unlock", client, address, body, timeout, oneway);
            case 400:
                World.see("assignment", client, address, body.get("topic"), body.get("consumerGroup"), body.get("clientId"),
                    body.get("strategyName"), body.get("messageModel"));
                return Asked.of("assignment", body.get("topic") + " " + body.get("consumerGroup"));
            case 14:
                World.see("stored", client, address, group, queue);
                return Asked.of("stored", group + " " + queue);
            case 15:
                World.see("commit", client, address, group, queue, Long.parseLong(header.get("commitOffset")), oneway);
                return Asked.of("commit", address);
            case 30:
                World.see("max", client, address, queue);
                return Asked.of("max", queue);
            case 29:
                World.see("search", client, address, queue, Long.parseLong(header.get("timestamp")));
                return Asked.of("search", queue);
            default:
                throw new IllegalStateException("request " + code + " is not expected");
        }
    }

    private static Asked locks(String kind, String client, String address, Map<String, Object> body, long timeout,
        boolean oneway) {
        List<MessageQueue> queues = new ArrayList<>();
        ((List<?>) body.get("mqSet")).forEach(json -> queues.add(Queues.ofJson(Sequences.object(json))));
        boolean isLock = kind.equals("lock");
        World.see(kind, client, address, body.get("consumerGroup"), body.get("clientId"), Queues.told(queues),
            isLock ? (Object) timeout : (Object) oneway);
        return new Asked(kind, () -> locked(address, isLock, queues));
    }

    private static Map<String, Object> locked(String address, boolean isLock, List<MessageQueue> asked) {
        Map<String, Object> answer = new HashMap<>(World.answer(isLock ? "lock" : "unlock", address));
        List<MessageQueue> queues = new ArrayList<>(asked);
        if (isLock && !answer.containsKey("code")) {
            List<?> refused = (List<?>) answer.getOrDefault("refused", List.of());
            queues.removeIf(queue -> answer.containsKey("refuses all") || refused.contains(Queues.told(queue)));
            queues.addAll(Queues.read((List<?>) answer.getOrDefault("extra", List.of())));
            List<Object> locked = new ArrayList<>();
            queues.forEach(queue -> locked.add(Queues.json(queue)));
            answer.put("body", Map.of("lockOKMQSet", locked));
        }
        return answer;
    }

    private static List<Object> heartbeat(Map<String, Object> body) {
        Map<String, Object> groups = new TreeMap<>();
        for (Object item : (List<?>) body.get("consumerDataSet")) {
            Map<String, Object> consumer = Sequences.object(item);
            Map<String, Object> topics = new TreeMap<>();
            for (Object one : (List<?>) consumer.get("subscriptionDataSet")) {
                Map<String, Object> subscription = Sequences.object(one);
                topics.put((String) subscription.get("topic"),
                    List.of(subscription.get("topic"), subscription.get("subString"), subscription.get("subVersion")));
            }
            groups.put((String) consumer.get("groupName"),
                List.of(consumer.get("groupName"), consumer.get("consumeType"), consumer.get("messageModel"),
                    consumer.get("consumeFromWhere"), consumer.get("unitMode"), new ArrayList<>(topics.values())));
        }
        return List.of(body.get("clientID"), Boolean.TRUE.equals(body.get("withoutSub")), new ArrayList<>(groups.values()));
    }

    private static int number(Object value) {
        return ((Long) value).intValue();
    }

    /** A request that was written down, and what is answered to it at the time at which that is asked. */
    private record Asked(String kind, Supplier<Map<String, Object>> answer) {
        static Asked of(String kind, String key) {
            return new Asked(kind, () -> World.answer(kind, key));
        }
    }
}
