// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.movement;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

/**
 * An assignor of the classic protocol, as a consumer's coordinator drives it: each member has an assignor of its own, which
 * is given each assignment and writes the user data of the next subscription; the first member is the leader and divides.
 */
final class ClientSide implements Assignor {
    private final Supplier<ConsumerPartitionAssignor> make;
    private final Cluster cluster;
    private final int partitions;
    private Map<String, Member> members = new HashMap<>();
    private int generation;

    private static final class Member {
        final ConsumerPartitionAssignor assignor;
        List<TopicPartition> owned = List.of();
        int generation = -1;

        Member(ConsumerPartitionAssignor assignor) {
            this.assignor = assignor;
        }

        Subscription subscription() {
            ByteBuffer userData = assignor.subscriptionUserData(Set.of(TOPIC));
            return new Subscription(List.of(TOPIC), userData, owned, generation, Optional.empty());
        }
    }

    ClientSide(Supplier<ConsumerPartitionAssignor> make, int partitions) {
        this.make = make;
        this.partitions = partitions;
        Node node = new Node(0, "localhost", 9092);
        Node[] nodes = {node};
        List<PartitionInfo> infos = new ArrayList<>();
        for (int i = 0; i < partitions; i++) {
            infos.add(new PartitionInfo(TOPIC, i, node, nodes, nodes));
        }
        this.cluster = new Cluster("cluster", List.of(node), infos, Set.of(), Set.of());
    }

    @Override
    public String[] assign(List<String> memberIds) {
        String[] owners = round(memberIds);
        for (String owner : owners) {
            if (owner == null) { // revoked first: the cooperative protocol gives it away in a second rebalance
                return round(memberIds);
            }
        }
        return owners;
    }

    private String[] round(List<String> memberIds) {
        Map<String, Member> present = new HashMap<>();
        for (String id : memberIds) {
            Member known = members.get(id);
            present.put(id, known == null ? new Member(make.get()) : known);
        }
        members = present;
        generation++;
        ConsumerPartitionAssignor leader = present.get(memberIds.get(0)).assignor;
        Map<String, Assignment> assignments = leader.assign(cluster, subscriptions()).groupAssignment();
        String[] owners = new String[partitions];
        assignments.forEach((id, assignment) -> {
            Member member = present.get(id);
            member.assignor.onAssignment(assignment, metadata(id));
            member.owned = assignment.partitions();
            member.generation = generation;
            for (TopicPartition partition : member.owned) {
                owners[partition.partition()] = id;
            }
        });
        return owners;
    }

    @SuppressWarnings("removal") // nothing else makes one without a consumer that is connected
    private ConsumerGroupMetadata metadata(String id) {
        return new ConsumerGroupMetadata("group", generation, id, Optional.empty());
    }

    private GroupSubscription subscriptions() {
        Map<String, Subscription> subscriptions = new HashMap<>();
        members.forEach((id, member) -> subscriptions.put(id, member.subscription()));
        return new GroupSubscription(subscriptions);
    }

    @Override
    public Runnable repeatable(List<String> memberIds) {
        members.keySet().retainAll(memberIds);
        memberIds.forEach(id -> members.computeIfAbsent(id, absent -> new Member(make.get())));
        GroupSubscription subscriptions = subscriptions();
        List<ByteBuffer> read = subscriptions.groupSubscription().values().stream()
            .map(Subscription::userData).filter(data -> data != null).toList();
        ConsumerPartitionAssignor leader = make.get();
        return () -> {
            read.forEach(ByteBuffer::rewind);
            leader.assign(cluster, subscriptions);
        };
    }
}
