// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.movement;

import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;

/** One group whose only topic is divided again whenever its members change. */
interface Assignor {
    String TOPIC = "topic";

    /** The owners after a change: for each partition the id of its member. */
    String[] assign(List<String> memberIds);

    /** One more division of the same members, all its inputs made beforehand: what it runs is Kafka's own call alone. */
    Runnable repeatable(List<String> memberIds);

    /** A group that has had no members yet. */
    static Assignor of(String name, int partitions) {
        Optional<Supplier<ConsumerPartitionAssignor>> client = Optional.ofNullable(switch (name) {
            case "range" -> RangeAssignor::new;
            case "roundrobin" -> RoundRobinAssignor::new;
            case "sticky" -> StickyAssignor::new;
            case "cooperative-sticky" -> CooperativeStickyAssignor::new;
            default -> null;
        });
        if (client.isPresent()) {
            return new ClientSide(client.get(), partitions);
        }
        ConsumerGroupPartitionAssignor server = switch (name) {
            case "KIP-848 uniform" -> new UniformAssignor();
            case "KIP-848 range" -> new org.apache.kafka.coordinator.group.assignor.RangeAssignor();
            default -> throw new IllegalArgumentException("no assignor " + name);
        };
        return new ServerSide(server, partitions);
    }
}
