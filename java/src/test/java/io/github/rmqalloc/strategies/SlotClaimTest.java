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
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.rocketmq.client.ClientConfig;
import org.apache.rocketmq.common.message.MessageQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Claims of clients that start one by one and at once; the group is a set of ids, as a broker keeps one. */
class SlotClaimTest {
    private final Set<String> group = ConcurrentHashMap.newKeySet();

    private List<String> ids() {
        return new ArrayList<>(group);
    }

    private static ClientConfig client() {
        ClientConfig client = new ClientConfig();
        client.setClientIP("10.0.3.17"); // one address for all, as processes of one host have it
        return client;
    }

    private SlotClaim claim(ClientConfig client) {
        return SlotClaim.claim(client, "consumer", this::ids);
    }

    @ParameterizedTest
    @CsvSource(delimiter = ':', value = {
        "'':0", "a@c-1:0", "a@c-0,a@x-1-2,b:1", "a@c-0,a@c-1,a@c-9,1@2#3:2", "a@c-00,a@c-0@unit:1", "a@c-999999999,a@c-0:1",
    })
    void theLowestFreeSlotIsTaken(String ids, int lowest) {
        group.addAll(Arrays.asList(ids.split(",")));
        ClientConfig client = client();
        assertEquals(lowest, claim(client).slot());
        assertTrue(client.buildMQClientId().matches("10[.]0[.]3[.]17@consumer-[0-9a-f]{8}-" + lowest));
    }

    @Test
    void aPrefixThatWouldMoveTheSlotIsRefused() {
        assertThrows(IllegalArgumentException.class, () -> SlotClaim.claim(client(), "a@b", this::ids));
    }

    @Test
    void ofTwoClientsWithOneSlotTheFirstKeepsIt() {
        ClientConfig[] clients = {client(), client()};
        SlotClaim[] claims = {claim(clients[0]), claim(clients[1])};
        assertEquals(claims[0].slot(), claims[1].slot());
        boolean firstComesFirst = clients[0].buildMQClientId().compareTo(clients[1].buildMQClientId()) < 0;
        group.add(clients[0].buildMQClientId());
        assertTrue(claims[0].confirm(), "its rival has not started yet");
        group.add(clients[1].buildMQClientId());
        assertEquals(firstComesFirst, claims[0].confirm());
        assertEquals(!firstComesFirst, claims[1].confirm());
    }

    @Test
    void aRepeatedSlotCostsNoQueueItsOwner() {
        List<MessageQueue> queues = new ArrayList<>();
        IntStream.range(0, 24).forEach(i -> queues.add(new MessageQueue("orders", "broker-a", i)));
        List<String> ids = Arrays.asList("10.0.0.1@consumer-0", "10.0.0.2@consumer-1", "10.0.0.3@consumer-1");
        Set<MessageQueue> owned = new HashSet<>();
        for (String id : ids) {
            List<MessageQueue> own = new AllocateOrdinal().allocate("group", id, queues, ids);
            assertEquals(8, own.size());
            owned.addAll(own);
        }
        assertEquals(24, owned.size());
    }

    /** All clients read the same list; after each round those that lost try again. As many rounds as clients must do. */
    @Test
    @Timeout(60)
    void clientsThatStartAtOnceGetDistinctSlotsAfterAsManyAttemptsAtMost() throws Exception {
        int n = 12;
        ExecutorService threads = Executors.newFixedThreadPool(n);
        CyclicBarrier together = new CyclicBarrier(n);
        Callable<Integer> start = () -> {
            Integer kept = null;
            for (int attempt = 0; attempt < n; attempt++) {
                ClientConfig client = client();
                SlotClaim claim = null;
                together.await();
                if (kept == null) {
                    claim = claim(client);
                }
                together.await(); // all have read the list before anybody is in it
                if (claim != null) {
                    group.add(client.buildMQClientId());
                }
                together.await(); // the time that the documentation says to wait
                boolean lost = claim != null && !claim.confirm();
                together.await();
                if (lost) {
                    group.remove(client.buildMQClientId());
                } else if (claim != null) {
                    kept = claim.slot();
                }
            }
            return kept;
        };
        List<Integer> slots = new ArrayList<>();
        for (Future<Integer> future : threads.invokeAll(Collections.nCopies(n, start))) {
            slots.add(future.get());
        }
        threads.shutdown();
        Collections.sort(slots);
        assertEquals(IntStream.range(0, n).boxed().collect(Collectors.toList()), slots);
        assertEquals(n, group.size());
        assertFalse(group.stream().anyMatch(id -> SlotPattern.DEFAULT.slotOf(id) >= n));
    }
}
