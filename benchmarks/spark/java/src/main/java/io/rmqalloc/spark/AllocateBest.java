// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.spark;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.api.java.UDF4;
import scala.collection.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** An ordinary Java UDF that tries all scenarios of a group: (strategy, topic, brokers, client_ids) to the best. */
public final class AllocateBest implements UDF4<String, String, Seq<Row>, Seq<String>, Row> {
    private static final long serialVersionUID = 1;

    @Override
    public Row call(String strategy, String topic, Seq<Row> brokers, Seq<String> clientIds) {
        List<MessageQueue> queues = Allocate.queues(topic, brokers);
        List<String> clients = new ArrayList<>(CollectionConverters.asJava(clientIds));
        Collections.sort(clients);
        int[] before = Allocate.owners(strategy, queues, clients);
        for (int joined = 1; clients.size() < Best.SCENARIOS; joined++) {
            clients.add(String.format("what-if-%06d", joined));
        }
        Best best = null;
        for (int size = 1; size <= Best.SCENARIOS; size++) {
            int[] owners = Allocate.owners(strategy, queues, clients.subList(0, size));
            Figures figures = Figures.of(owners, size);
            int moved = 0;
            for (int queue = 0; queue < owners.length; queue++) {
                moved += owners[queue] == before[queue] ? 0 : 1;
            }
            Best one = new Best(owners.length, size, figures.idle(), figures.minLoad(), figures.maxLoad(), moved);
            best = one.isBetterThan(best) ? one : best;
        }
        return RowFactory.create(best.values());
    }
}
