// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.movement;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;

/** An assignor of KIP-848, as the group coordinator drives it: it is given the assignment that it made before. */
final class ServerSide implements Assignor {
    private static final Uuid TOPIC_ID = new Uuid(1, 1);

    private final ConsumerGroupPartitionAssignor assignor;
    private final SubscribedTopicDescriber describer;
    private final int partitions;
    private Map<String, MemberAssignment> target = Map.of();

    ServerSide(ConsumerGroupPartitionAssignor assignor, int partitions) {
        this.assignor = assignor;
        this.partitions = partitions;
        this.describer = new SubscribedTopicDescriber() {
            @Override
            public int numPartitions(Uuid topicId) {
                return partitions;
            }

            @Override
            public Set<String> racksForPartition(Uuid topicId, int partition) {
                return Set.of();
            }
        };
    }

    @Override
    public String[] assign(List<String> memberIds) {
        target = assignor.assign(spec(memberIds), describer).members();
        String[] owners = new String[partitions];
        target.forEach((id, assignment) -> held(assignment).forEach(partition -> owners[partition] = id));
        return owners;
    }

    private static Set<Integer> held(MemberAssignment assignment) {
        return assignment.partitions().getOrDefault(TOPIC_ID, Set.of());
    }

    private GroupSpec spec(List<String> memberIds) {
        Map<String, MemberSubscriptionAndAssignmentImpl> members = new HashMap<>();
        Map<Integer, String> owner = new HashMap<>();
        for (String id : memberIds) {
            MemberAssignment had = target.get(id);
            Assignment assignment = had == null ? Assignment.EMPTY : new Assignment(had.partitions());
            members.put(id, new MemberSubscriptionAndAssignmentImpl(
                Optional.empty(), Optional.empty(), Set.of(TOPIC_ID), assignment));
            held(assignment).forEach(partition -> owner.put(partition, id));
        }
        return new GroupSpecImpl(members, SubscriptionType.HOMOGENEOUS, Map.of(TOPIC_ID, owner));
    }

    @Override
    public Runnable repeatable(List<String> memberIds) {
        GroupSpec spec = spec(memberIds);
        return () -> assignor.assign(spec, describer);
    }
}
