// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.github.rmqalloc.strategies;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.apache.rocketmq.client.consumer.AllocateMessageQueueStrategy;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMachineRoomNearby.MachineRoomResolver;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragelyByCircle;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueConsistentHash;
import org.apache.rocketmq.common.message.MessageQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What all strategies have in common, and what each says of itself, on lists that are small enough to check by hand. */
class StrategiesTest {
    private static final List<String> IDS = Arrays.asList("ip@c-0", "ip@c-1", "ip@c-2", "ip@gray");

    /** The room of a broker is its name before the hyphen, that of a client what stands before the sign @. */
    private static final MachineRoomResolver ROOMS = new MachineRoomResolver() {
        @Override
        public String brokerDeployIn(MessageQueue queue) {
            return queue.getBrokerName().split("-", 2)[0];
        }

        @Override
        public String consumerDeployIn(String clientId) {
            return clientId.split("@", 2)[0];
        }
    };

    static Stream<AllocateMessageQueueStrategy> strategies() {
        return Stream.of(new AllocateOrdinal(), new AllocateOrdinal2(), new AllocateStable(), new AllocateStable(1),
            new AllocateRotated(), new AllocateConsistentHashBounded(), new AllocateMachineRoomNearbyPooled(ROOMS), new AllocateCanary(0.1));
    }

    private static List<MessageQueue> queues(String topic, int perBroker, String... brokers) {
        List<MessageQueue> queues = new ArrayList<>();
        for (String broker : brokers) {
            for (int i = 0; i < perBroker; i++) {
                queues.add(new MessageQueue(topic, broker, i));
            }
        }
        return queues;
    }

    private static int[] loads(AllocateMessageQueueStrategy strategy, List<MessageQueue> queues, List<String> ids) {
        return ids.stream().mapToInt(id -> strategy.allocate("group", id, queues, ids).size()).toArray();
    }

    private static List<Integer> queueIds(List<MessageQueue> queues) {
        List<Integer> ids = new ArrayList<>();
        queues.forEach(queue -> ids.add(queue.getQueueId()));
        return ids;
    }

    @ParameterizedTest
    @MethodSource("strategies")
    void refusesWhatRocketMqRefusesWithItsWords(AllocateMessageQueueStrategy strategy) {
        List<MessageQueue> queues = queues("T", 4, "b");
        List<MessageQueue> none = Collections.emptyList();
        for (AllocateMessageQueueStrategy one : Arrays.asList(strategy, new AllocateMessageQueueAveragely())) {
            assertEquals("currentCID is empty", reason(one, "", queues, IDS));
            assertEquals("currentCID is empty", reason(one, null, queues, IDS));
            assertEquals("mqAll is null or mqAll empty", reason(one, "ip@c-0", none, IDS));
            assertEquals("mqAll is null or mqAll empty", reason(one, "ip@c-0", null, IDS));
            assertEquals("cidAll is null or cidAll empty", reason(one, "ip@c-0", queues, Collections.emptyList()));
            assertEquals("cidAll is null or cidAll empty", reason(one, "ip@c-0", queues, null));
            assertEquals(none, one.allocate("group", "stranger", queues, IDS));
        }
    }

    private static String reason(AllocateMessageQueueStrategy strategy, String id, List<MessageQueue> queues, List<String> ids) {
        return assertThrows(IllegalArgumentException.class, () -> strategy.allocate("group", id, queues, ids)).getMessage();
    }

    @ParameterizedTest
    @MethodSource("strategies")
    void everyQueueHasOneOwnerAndArgumentsStayAsTheyAre(AllocateMessageQueueStrategy strategy) {
        List<MessageQueue> queues = Collections.unmodifiableList(queues("T", 5, "ip-a", "ip-b", "x-c"));
        List<String> ids = Collections.unmodifiableList(IDS);
        List<MessageQueue> owned = new ArrayList<>();
        for (String id : ids) {
            List<MessageQueue> own = strategy.allocate("group", id, queues, ids);
            List<MessageQueue> sorted = new ArrayList<>(own);
            Collections.sort(sorted);
            assertEquals(sorted, own, "in the order of the list");
            owned.addAll(own);
        }
        assertEquals(queues.size(), owned.size());
        assertEquals(new HashSet<>(queues), new HashSet<>(owned));
    }

    @Test
    void namesCarryAVersion() {
        assertEquals("[ORDINAL/1, ORDINAL/2, STABLE/1, STABLE/1, ROTATED/1-AVG, CONSISTENT_HASH_BOUNDED/1, "
            + "MACHINE_ROOM_NEARBY_POOLED/1-AVG, CANARY/1-AVG]",
            Arrays.toString(strategies().map(AllocateMessageQueueStrategy::getName).toArray()));
        assertEquals("CANARY/1-ROTATED/1-AVG_BY_CIRCLE",
            new AllocateCanary(new AllocateRotated(new AllocateMessageQueueAveragelyByCircle()), 0, "*").getName());
    }

    @Test
    void aGroupThatIsTooGreatForATableIsRefused() {
        AllocateMessageQueueStrategy tables = new AllocateOrdinal("-#", true);
        List<String> ids = Arrays.asList("ip@c-0", "ip@c-4");
        assertEquals("3 queues have a table of 4 slots, the highest is 4", reason(tables, "ip@c-0", queues("T", 3, "b"), ids));
        assertEquals("[2, 3]", Arrays.toString(loads(tables, queues("T", 5, "b"), ids)));
    }

    @Test
    void rotationSpreadsTheOddQueuesOfManyTopics() {
        int[] loads = new int[4];
        for (int topic = 0; topic < 400; topic++) {
            int[] some = loads(new AllocateRotated(), queues("topic-" + topic, 1, "b"), IDS);
            Arrays.setAll(loads, c -> loads[c] + some[c]);
        }
        assertEquals(400, Arrays.stream(loads).sum());
        assertTrue(Arrays.stream(loads).allMatch(load -> load > 70), Arrays.toString(loads));
    }

    @Test
    void noClientIsAboveTheBoundOfTheRing() {
        Random random = new Random(1);
        for (int run = 0; run < 300; run++) {
            List<String> ids = new ArrayList<>();
            for (int c = random.nextInt(20); c >= 0; c--) {
                ids.add("10.0.0." + c + "@" + random.nextInt(100_000));
            }
            List<MessageQueue> queues = queues("T" + run, 1 + random.nextInt(30), "a", "b");
            int[] loads = loads(new AllocateConsistentHashBounded(1.1, 10), queues, ids);
            assertEquals(queues.size(), Arrays.stream(loads).sum());
            int most = (110 * queues.size() + 100 * ids.size() - 1) / (100 * ids.size());
            assertTrue(Arrays.stream(loads).max().getAsInt() <= most);
        }
    }

    @Test
    void aRingWithoutABoundIsThatOfRocketMq() {
        List<String> ids = new ArrayList<>(IDS);
        ids.add(IDS.get(1));
        List<MessageQueue> queues = queues("T", 40, "a", "b");
        for (String id : ids) {
            assertEquals(new AllocateMessageQueueConsistentHash(7).allocate("group", id, queues, ids),
                new AllocateConsistentHashBounded(100, 7).allocate("group", id, queues, ids));
        }
    }

    @Test
    void roomsWithoutClientsAreDealtAsOne() {
        List<String> ids = Arrays.asList("hz@1", "hz@2", "hz@3", "hz@4");
        int[] loads = loads(new AllocateMachineRoomNearbyPooled(ROOMS), queues("T", 3, "sh-a", "bj-b"), ids);
        assertEquals("[2, 2, 1, 1]", Arrays.toString(loads));
        int[] home = loads(new AllocateMachineRoomNearbyPooled(ROOMS), queues("T", 3, "hz-a", "sh-b"), ids);
        assertEquals("[2, 2, 1, 1]", Arrays.toString(home), "home queues count");
    }

    @Test
    void aRoomThatIsMissingIsAnErrorInRocketMqsWords() {
        AllocateMessageQueueStrategy strategy = new AllocateMachineRoomNearbyPooled(ROOMS);
        assertEquals("Machine room is null for mq MessageQueue [topic=T, brokerName=-a, queueId=0]",
            reason(strategy, "ip@c-0", queues("T", 1, "-a"), IDS));
        assertEquals("Machine room is null for consumer id @c-0",
            reason(strategy, "@c-0", queues("T", 1, "hz-a"), Collections.singletonList("@c-0")));
    }

    @Test
    void theCanaryGetsItsShareOfEachBroker() {
        AllocateMessageQueueStrategy strategy = new AllocateCanary(0.1);
        List<MessageQueue> queues = queues("T", 16, "a", "b");
        assertEquals(Arrays.asList(0, 1, 0, 1), queueIds(strategy.allocate("group", "ip@gray", queues, IDS)));
        assertEquals("[10, 9, 9, 4]", Arrays.toString(loads(strategy, queues, IDS)));
        List<MessageQueue> retry = queues("%RETRY%group", 1, "a", "b", "c");
        assertEquals("[1, 1, 1, 0]", Arrays.toString(loads(strategy, retry, IDS)));
        assertEquals("[11, 11, 10, 0]", Arrays.toString(loads(new AllocateCanary(0), queues("T", 16, "a", "b"), IDS)));
        List<String> canaryAlone = Collections.singletonList("ip@gray");
        assertEquals("[3]", Arrays.toString(loads(strategy, retry, canaryAlone)), "as if there were no canary");
    }

    @Test
    void globsMatchWholeTexts() {
        assertTrue(new Glob("*@gray").matches("10.0.0.1@gray"));
        assertFalse(new Glob("*@gray").matches("10.0.0.1@gray@unit"));
        assertFalse(new Glob("*@gray").matches("10.0.0.1@GRAY"));
        assertTrue(new Glob("*a*b?").matches("xaabbb"));
        assertFalse(new Glob("*a*b?").matches("xaabb@@"));
        assertTrue(new Glob("a.?[x]").matches("a.😀[x]"));
        assertTrue(new Glob("**").matches(""));
        assertFalse(new Glob("?").matches(""));
    }

    @Test
    void parametersThatCannotBeAreRefused() {
        for (String pattern : new String[] {"", "-", "##", "1#", "#9"}) {
            assertThrows(IllegalArgumentException.class, () -> new AllocateOrdinal(pattern), pattern);
        }
        assertThrows(IllegalArgumentException.class, () -> new AllocateStable(2));
        assertThrows(IllegalArgumentException.class, () -> new AllocateConsistentHashBounded(0.99, 10));
        assertThrows(IllegalArgumentException.class, () -> new AllocateConsistentHashBounded(1.255, 10));
        assertThrows(IllegalArgumentException.class, () -> new AllocateConsistentHashBounded(1.25, -1));
        assertThrows(IllegalArgumentException.class, () -> new AllocateCanary(1.1));
        assertThrows(IllegalArgumentException.class, () -> new AllocateCanary(0.00001));
    }
}
