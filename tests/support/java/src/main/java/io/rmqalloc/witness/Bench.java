// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.witness;

import java.io.IOException;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Constructor;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.IntUnaryOperator;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.rocketmq.client.consumer.AllocateMessageQueueStrategy;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragelyByCircle;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueConsistentHash;
import org.apache.rocketmq.common.consistenthash.ConsistentHashRouter;
import org.apache.rocketmq.common.consistenthash.Node;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * Times the real RocketMQ classes in one thread of a warm JVM. Standard input: a JSON list of shapes
 * {@code [n_queues, n_clients, virtual_nodes]}. Standard output: a JSON list with one object for each shape and way of
 * allocating one group.
 *
 * <p>"client by client" is what RocketMQ does: every client of the group calls allocate() for itself. "one router" is
 * the fastest that the same classes could be: one ConsistentHashRouter, made as the strategy makes it, routes each queue
 * once.
 */
public final class Bench {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final double ROUND_SECONDS = 0.02;
    /** The compiler works in the background: rounds that agree too early may only agree on slow code. */
    private static final double WARM_SECONDS_LEAST = 0.5;
    private static final double WARM_SECONDS_MOST = 2.0;
    private static final double BUDGET_SECONDS = 1.0;
    private static final int STABLE_ROUNDS = 5;
    /** Beyond this, one client after the other is timed alone, and the group is that times its clients. */
    private static final double SLOW_GROUP_SECONDS = 0.5;

    /** Keeps the compiler from dropping what is timed. */
    private static volatile int sink;

    private final int virtualNodes;
    private final List<MessageQueue> queues;
    private final List<String> clients;

    private Bench(int nQueues, int nClients, int virtualNodes) {
        Random random = new Random(20240607);
        this.virtualNodes = virtualNodes;
        this.queues = IntStream.range(0, nQueues)
            .mapToObj(i -> new MessageQueue("order-events-1000000", "broker-" + (100 + i / 16), i % 16))
            .sorted().collect(Collectors.toCollection(ArrayList::new));
        this.clients = IntStream.range(0, nClients)
            .mapToObj(i -> String.format("10.%d.%d.%d@%d#%d", random.nextInt(256), random.nextInt(256),
                random.nextInt(256), 1 + random.nextInt(99_999), (long) (1e13 + random.nextDouble() * 9e15)))
            .sorted().collect(Collectors.toCollection(ArrayList::new));
    }

    public static void main(String[] args) throws IOException, ReflectiveOperationException {
        PrintStream out = System.out;
        System.setOut(System.err);
        new Bench(64, 16, 10).rows(); // for warmth only: the first figures of a JVM are not like the later ones
        List<Object> rows = new ArrayList<>();
        for (Object item : (List<?>) Json.parse(new String(System.in.readAllBytes(), StandardCharsets.US_ASCII))) {
            int[] shape = ((List<?>) item).stream().mapToInt(number -> Math.toIntExact((Long) number)).toArray();
            rows.addAll(new Bench(shape[0], shape[1], shape[2]).rows());
        }
        out.println(Json.write(rows));
        out.flush();
    }

    private List<Map<String, Object>> rows() throws ReflectiveOperationException {
        AllocateMessageQueueStrategy hashing = new AllocateMessageQueueConsistentHash(virtualNodes);
        return List.of(
            clientByClient(new AllocateMessageQueueAveragely()),
            clientByClient(new AllocateMessageQueueAveragelyByCircle()),
            clientByClient(hashing),
            oneRouter(hashing));
    }

    private Map<String, Object> clientByClient(AllocateMessageQueueStrategy strategy) {
        IntUnaryOperator one = i ->
            strategy.allocate("group", clients.get(i % clients.size()), queues, clients).size();
        long start = System.nanoTime();
        sink += one.applyAsInt(0);
        boolean slow = seconds(start) * clients.size() > SLOW_GROUP_SECONDS;
        IntUnaryOperator group = i -> IntStream.range(0, clients.size()).map(one).sum();
        return row(strategy.getName(), "client by client", slow, slow ? one : group);
    }

    private Map<String, Object> oneRouter(AllocateMessageQueueStrategy strategy) throws ReflectiveOperationException {
        Class<?> node = Class.forName(strategy.getClass().getName() + "$ClientNode");
        Constructor<?> clientNode = node.getConstructor(String.class);
        clientNode.setAccessible(true);
        IntUnaryOperator group = i -> {
            ConsistentHashRouter<Node> router = router(clientNode);
            int length = 0;
            for (MessageQueue queue : queues) {
                length += router.routeNode(queue.toString()).getKey().length();
            }
            return length;
        };
        String current = clients.get(clients.size() / 2);
        ConsistentHashRouter<Node> router = router(clientNode);
        List<MessageQueue> own = queues.stream()
            .filter(queue -> router.routeNode(queue.toString()).getKey().equals(current)).toList();
        if (!own.equals(strategy.allocate("group", current, queues, clients))) {
            throw new IllegalStateException("the router and the strategy disagree");
        }
        return row(strategy.getName(), "one router", false, group);
    }

    private ConsistentHashRouter<Node> router(Constructor<?> clientNode) {
        Collection<Node> nodes = new ArrayList<>();
        try {
            for (String client : clients) {
                nodes.add((Node) clientNode.newInstance(client));
            }
        } catch (ReflectiveOperationException impossible) {
            throw new IllegalStateException(impossible);
        }
        return new ConsistentHashRouter<>(nodes, virtualNodes);
    }

    private Map<String, Object> row(String strategy, String way, boolean extrapolated, IntUnaryOperator work) {
        List<Round> rounds = measure(work);
        int scale = extrapolated ? clients.size() : 1;
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("strategy", strategy);
        row.put("way", way);
        row.put("n_queues", queues.size());
        row.put("n_clients", clients.size());
        row.put("virtual_nodes", virtualNodes);
        row.put("median_seconds", median(rounds, Round::wall) * scale);
        row.put("min_seconds", rounds.stream().mapToDouble(Round::wall).min().orElseThrow() * scale);
        row.put("median_cpu_seconds", median(rounds, Round::cpu) * scale);
        row.put("rounds", rounds.size());
        row.put("extrapolated", extrapolated);
        return row;
    }

    /** Seconds per call: by the clock, and of this thread alone, which is steadier where others share the machine. */
    private record Round(double wall, double cpu) {
    }

    private static double median(List<Round> rounds, ToDoubleFunction<Round> seconds) {
        return rounds.stream().mapToDouble(seconds).sorted().skip(rounds.size() / 2).findFirst().orElseThrow();
    }

    /** Warm up until the last rounds agree within 5 % or the time for it is over; then the rounds that count. */
    private static List<Round> measure(IntUnaryOperator work) {
        long start = System.nanoTime();
        double once = round(work, 1).wall;
        double[] last = new double[STABLE_ROUNDS];
        double warm = 0;
        for (int i = 0; warm < WARM_SECONDS_LEAST || warm < WARM_SECONDS_MOST && !agree(last); i++) {
            once = last[i % STABLE_ROUNDS] = round(work, calls(once)).wall;
            warm = seconds(start);
        }
        int rounds = (int) Math.max(5, Math.min(101, BUDGET_SECONDS / (calls(once) * once)));
        int calls = calls(once);
        return IntStream.range(0, rounds).mapToObj(i -> round(work, calls)).toList();
    }

    private static boolean agree(double[] rounds) {
        double slowest = Arrays.stream(rounds).max().orElseThrow();
        double fastest = Arrays.stream(rounds).min().orElseThrow();
        return fastest > 0 && slowest < 1.05 * fastest;
    }

    private static int calls(double once) {
        return (int) Math.max(1, ROUND_SECONDS / once);
    }

    private static Round round(IntUnaryOperator work, int calls) {
        long cpu = THREADS.getCurrentThreadCpuTime();
        long start = System.nanoTime();
        for (int i = 0; i < calls; i++) {
            sink += work.applyAsInt(i);
        }
        return new Round(seconds(start) / calls, (THREADS.getCurrentThreadCpuTime() - cpu) / 1e9 / calls);
    }

    private static double seconds(long start) {
        return (System.nanoTime() - start) / 1e9;
    }
}
