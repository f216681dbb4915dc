// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.rocketmq.client.consumer.AllocateMessageQueueStrategy;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragelyByCircle;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueConsistentHash;
import org.apache.rocketmq.common.consistenthash.ConsistentHashRouter;
import org.apache.rocketmq.common.consistenthash.Node;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.api.java.UDF4;
import scala.collection.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** An ordinary Java UDF over RocketMQ's own strategies: (strategy, topic, brokers, client_ids) to a row of figures. */
public final class Allocate implements UDF4<String, String, Seq<Row>, Seq<String>, Row> {
    private static final long serialVersionUID = 1;
    private static final int VIRTUAL_NODES = 10;
    private static final AllocateMessageQueueStrategy AVG = new AllocateMessageQueueAveragely();
    private static final AllocateMessageQueueStrategy CIRCLE = new AllocateMessageQueueAveragelyByCircle();
    private static final AllocateMessageQueueStrategy CONSISTENT_HASH = new AllocateMessageQueueConsistentHash(VIRTUAL_NODES);

    /** CONSISTENT_HASH as one would do it for a whole group: RocketMQ's router, made once. */
    private static final String ONE_ROUTER = "one router";

    @Override
    public Row call(String strategy, String topic, Seq<Row> brokers, Seq<String> clientIds) {
        List<MessageQueue> queues = queues(topic, brokers);
        List<String> clients = new ArrayList<>(CollectionConverters.asJava(clientIds));
        Collections.sort(clients);
        Figures figures = Figures.of(owners(strategy, queues, clients), clients.size());
        return RowFactory.create(figures.with(figures.owners()));
    }

    /** Owners of sorted queues among sorted clients. */
    static int[] owners(String strategy, List<MessageQueue> queues, List<String> clients) {
        return strategy.equals(ONE_ROUTER) ? routed(queues, clients) : asked(named(strategy), queues, clients);
    }

    private static AllocateMessageQueueStrategy named(String name) {
        return switch (name) {
            case "AVG" -> AVG;
            case "AVG_BY_CIRCLE" -> CIRCLE;
            case "CONSISTENT_HASH" -> CONSISTENT_HASH;
            default -> throw new IllegalArgumentException("unknown strategy: " + name);
        };
    }

    /** Everyone is asked in turn, as RocketMQ's clients do: its strategies answer for one client only. */
    private static int[] asked(
            AllocateMessageQueueStrategy strategy, List<MessageQueue> queues, List<String> clients) {
        int[] owners = new int[queues.size()];
        Arrays.fill(owners, -1);
        for (int client = 0; client < clients.size(); client++) {
            for (MessageQueue queue : strategy.allocate("group", clients.get(client), queues, clients)) {
                owners[((Numbered) queue).position] = client;
            }
        }
        return owners;
    }

    private static int[] routed(List<MessageQueue> queues, List<String> clients) {
        List<Member> members = new ArrayList<>();
        for (int client = 0; client < clients.size(); client++) {
            members.add(new Member(client, clients.get(client)));
        }
        ConsistentHashRouter<Member> router = new ConsistentHashRouter<>(members, VIRTUAL_NODES);
        return queues.stream().mapToInt(queue -> router.routeNode(queue.toString()).position()).toArray();
    }

    private record Member(int position, String getKey) implements Node {
    }

    static List<MessageQueue> queues(String topic, Seq<Row> brokers) {
        List<MessageQueue> queues = new ArrayList<>();
        for (Row broker : CollectionConverters.asJava(brokers)) {
            for (int id = 0; id < broker.getInt(1); id++) {
                queues.add(new Numbered(topic, broker.getString(0), id));
            }
        }
        Collections.sort(queues);
        for (int position = 0; position < queues.size(); position++) {
            ((Numbered) queues.get(position)).position = position;
        }
        return queues;
    }

    /** A queue that knows its place, so that no map is needed to find it: the cheapest way there is. */
    private static final class Numbered extends MessageQueue {
        private static final long serialVersionUID = 1;
        private int position;

        Numbered(String topic, String brokerName, int queueId) {
            super(topic, brokerName, queueId);
        }
    }
}
