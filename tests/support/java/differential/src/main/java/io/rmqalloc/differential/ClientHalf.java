// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import io.netty.channel.ChannelHandlerContext;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.apache.rocketmq.client.consumer.store.ReadOffsetType;
import org.apache.rocketmq.client.impl.MQClientManager;
import org.apache.rocketmq.client.impl.factory.MQClientInstance;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.protocol.RemotingCommand;

/** The client half: consumers by name, each with its real MQClientInstance, over a {@link StubTransport}. */
final class ClientHalf implements Half {
    private static final Path OFFSETS = offsetDirectory();
    private final Map<String, Member> members = new TreeMap<>();
    private final Map<String, Object> specs;

    ClientHalf(Map<String, Object> config) throws IOException {
        Delays.reset(Boolean.TRUE.equals(config.get("delays")));
        Loops.reset();
        World.reset();
        Consuming.reset();
        VirtualRandom.reset((Long) config.get("seed"));
        ((Map<?, ?>) Peek.get(MQClientManager.getInstance(), "factoryTable")).clear();
        try (Stream<Path> files = Files.walk(OFFSETS)) {
            files.sorted(Comparator.reverseOrder()).filter(path -> !path.equals(OFFSETS)).forEach(path -> path.toFile().delete());
        }
        for (Object answer : (List<?>) config.get("answers")) {
            Map<String, Object> given = Sequences.object(answer);
            World.answer((String) given.get("what"), (String) given.get("key"), Sequences.object(given.get("answer")));
        }
        specs = Sequences.object(config.get("consumers"));
    }

    private static Path offsetDirectory() {
        try {
            Path path = Files.createTempDirectory("offsets");
            System.setProperty("rocketmq.client.localOffsetStoreDir", path.toString());
            System.setProperty("rocketmq.client.logUseSlf4j", "true");
            path.toFile().deleteOnExit();
            return path;
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    @Override
    public Object after(Map<String, Object> event) throws Exception {
        Map<String, Object> seen = new LinkedHashMap<>();
        try {
            seen.put("answer", Delays.areOn() ? inLane(event) : happen(event));
        } catch (DriverError error) {
            throw error;
        } catch (Exception error) {
            seen.put("answer", "error");
            if (System.getenv("DIFFERENTIAL_ERRORS") != null) {
                error.printStackTrace();
            }
        }
        if (Delays.cut() != null) {
            return Map.of("cut", Delays.cut());
        }
        seen.put("seen", World.seen());
        Map<String, Object> states = new LinkedHashMap<>();
        for (Map.Entry<String, Member> entry : members.entrySet()) {
            states.put(entry.getKey(), entry.getValue().state());
        }
        seen.put("consumers", states);
        return seen;
    }

    /** What happens to consumers does so in a lane of its own; its answer is null if it waits. */
    private Object inLane(Map<String, Object> event) throws Exception {
        if (Delays.cut() != null || !event.containsKey("consumer")) {
            return Delays.cut() != null ? null : happen(event);
        }
        Member known = members.get(event.get("consumer"));
        if (known != null && Loops.isJoining(known.lane)) {
            Delays.cut("a consumer is used while its shutdown waits for a pass");
            return null;
        }
        AtomicReference<Object> answer = new AtomicReference<>();
        AtomicReference<Exception> failed = new AtomicReference<>();
        Lane lane = Delays.user(() -> {
            try {
                answer.set(happen(event));
            } catch (Exception error) {
                failed.set(error);
            }
        });
        Member member = members.get(event.get("consumer"));
        if (lane.isBusy() && Set.of("start", "shutdown").contains(event.get("kind")) && member != null) {
            member.lane = lane;
            lane.whenFree = () -> member.lane = null;
        }
        if (!lane.isBusy() && failed.get() != null) {
            throw failed.get();
        }
        return lane.isBusy() ? null : answer.get();
    }

    /** The driver itself was asked something impossible. */
    static final class DriverError extends RuntimeException {
        private static final long serialVersionUID = 1;

        DriverError(String message) {
            super(message);
        }
    }

    private Object happen(Map<String, Object> event) throws Exception {
        String kind = (String) event.get("kind");
        switch (kind) {
            case "answer":
                World.answer((String) event.get("what"), (String) event.get("key"), Sequences.object(event.get("answer")));
                return null;
            case "advance":
                VirtualTime.advance((Long) event.get("ms"));
                return null;
            case "jump":
                VirtualTime.sleep((Long) event.get("ms"));
                return null;
            case "hold":
            case "flow":
                Delays.hold((String) event.get("what"), kind.equals("hold"));
                return null;
            case "release":
                Delays.release((Long) event.get("n"), Boolean.TRUE.equals(event.get("lost")));
                return null;
            case "start":
                return start((String) event.get("consumer"));
            default:
                Member member = members.get((String) event.get("consumer"));
                return event.containsKey("queue") ? ofQueue(kind, event, member) : ofConsumer(kind, event, member);
        }
    }

    private Object start(String name) throws Exception {
        Member member = new Member(Sequences.object(specs.get(name)));
        members.put(name, member);
        member.start();
        return null;
    }

    private Object ofConsumer(String kind, Map<String, Object> event, Member member) throws Exception {
        MQClientInstance factory = member.factory();
        switch (kind) {
            case "pass":
                Object balanced = Peek.call(factory, "doRebalance");
                return balanced;
            case "try":
                return member.tryRebalance();
            case "notice":
                StubTransport transport = transport(factory);
                RemotingCommand notice = RemotingCommand.createRequestCommand(40, null);
                notice.setExtFields(new java.util.HashMap<>(Map.of("consumerGroup", "any")));
                transport.processor.processRequest(context(), notice);
                return null;
            case "active":
                boolean isEmpty = ((Map<?, ?>) Peek.get(factory, "consumerTable")).isEmpty();
                if (transport(factory).listener != null && Delays.areOn() && isEmpty) {
                    Delays.cut("a connection of a client without groups, which then keeps its lock for heartbeats");
                }
                if (transport(factory).listener != null) {
                    Peek.call(transport(factory).listener, "onChannelActive", event.get("address"), null);
                }
                return null;
            case "persist":
                member.impl.persistConsumerOffset();
                return null;
            case "persist all":
                Peek.call(factory, "persistAllConsumerOffset");
                return null;
            case "lock all":
                Peek.call(member.rebalance, "lockAll");
                return null;
            case "unlock all":
                Peek.call(member.rebalance, "unlockAll", event.get("oneway"));
                return null;
            default:
                return member.happen(kind, event);
        }
    }

    private static StubTransport transport(MQClientInstance factory) {
        return (StubTransport) factory.getMQClientAPIImpl().getRemotingClient();
    }

    private static ChannelHandlerContext context() {
        return (ChannelHandlerContext) Proxy.newProxyInstance(ChannelHandlerContext.class.getClassLoader(),
            new Class<?>[] {ChannelHandlerContext.class}, (proxy, method, arguments) -> null);
    }

    private Object ofQueue(String kind, Map<String, Object> event, Member member) throws Exception {
        MessageQueue queue = member.chosen((String) event.get("queue"), kind.equals("pop"));
        switch (kind) {
            case "update offset":
                member.store().updateOffset(queue, (Long) event.get("offset"), (Boolean) event.get("increase"));
                return null;
            case "freeze offset":
                Peek.call(member.store(), "updateAndFreezeOffset", queue, event.get("offset"));
                return null;
            case "read offset":
                return member.store().readOffset(queue, ReadOffsetType.valueOf((String) event.get("from")));
            case "remove offset":
                member.store().removeOffset(queue);
                return null;
            case "persist offset":
                member.store().persist(queue);
                return null;
            case "compute":
                return member.rebalance.computePullFromWhereWithException(queue);
            case "compute swallowing":
                return Peek.call(member.rebalance, "computePullFromWhere", queue);
            case "lock":
                return member.rebalance.lock(queue);
            case "unlock":
                member.rebalance.unlock(queue, (Boolean) event.get("oneway"));
                return null;
            case "remove":
                member.rebalance.removeProcessQueue(queue);
                return null;
            default:
                return member.ofProcessQueue(kind, event, queue);
        }
    }
}
