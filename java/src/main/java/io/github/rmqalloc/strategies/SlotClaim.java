// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.github.rmqalloc.strategies;

import java.util.BitSet;
import java.util.List;
import java.util.UUID;
import java.util.function.Supplier;
import org.apache.rocketmq.client.ClientConfig;

/**
 * A slot for a client that has none, such as a pod of a Deployment: the lowest number that no client of the group has.
 *
 * <pre>{@code
 * try (GroupClients group = new GroupClients(config, null, "orders", "order-svc")) {
 *     SlotClaim claim = SlotClaim.claim(consumer, "consumer", group);
 *     consumer.start();
 *     Thread.sleep(10_000);
 *     if (!claim.confirm()) {
 *         consumer.shutdown();   // then once more, with a new consumer
 *     }
 * }
 * }</pre>
 *
 * <p>The instance name becomes {@code <prefix>-<eight random digits and letters>-<slot>}. The middle part keeps ids apart that
 * have one address (processes of one host), so that two clients never have one id.
 *
 * <h2>The race</h2>
 *
 * A claim is a read of the client list, followed by the client's first heartbeat when it starts. Nothing holds the number in
 * between, so two clients may claim the same one.
 * <ul>
 * <li>This costs moves, not correctness: {@link AllocateOrdinal} numbers repeats of a slot behind all others, in one order for
 * every client, so each queue still has one owner. The group divides as if it had holes, until one of the two goes.
 * <li>Of clients with one slot that whose id comes first keeps it, and {@link #confirm()} is false for all others. So one of
 * several always stays, and those that try again do not meet it any more: n clients that start at once have
 * distinct slots after n attempts at most.
 * <li>A client whose confirm is true may still have a rival that comes first: one that read the list before this client was in
 * it, and was not in the list itself when this client looked. It is there as soon as it has started. So wait before
 * confirming for as long as the others may take from their claim to the end of {@code start()}; or confirm once more later. A
 * confirm that is never made leaves a repeat, see above.
 * <li>A client that died without a word holds its slot until the broker misses its heartbeats, after two minutes. A client that
 * starts meanwhile takes a higher number, and the old one stays a hole until another start fills it.
 * </ul>
 */
public final class SlotClaim {
    private final ClientConfig client;
    private final Supplier<List<String>> group;
    private final int slot;

    private SlotClaim(ClientConfig client, Supplier<List<String>> group, int slot) {
        this.client = client;
        this.group = group;
        this.slot = slot;
    }

    /**
     * Claims the lowest slot that is free now and sets the instance name of a client that is yet to start.
     *
     * @param client the consumer
     * @param prefix how its instance name is to begin
     * @param group the ids of the clients of its group, asked anew at each call, such as {@link GroupClients}
     */
    public static SlotClaim claim(ClientConfig client, String prefix, Supplier<List<String>> group) {
        Checks.require(!prefix.contains("@"), "a prefix of instance names has no @; it is " + prefix);
        int slot = lowestFree(group.get());
        String different = UUID.randomUUID().toString().substring(0, 8);
        client.setInstanceName(prefix + "-" + different + "-" + slot);
        return new SlotClaim(client, group, slot);
    }

    private static int lowestFree(List<String> clientIds) {
        BitSet taken = new BitSet();
        for (String id : clientIds) {
            int slot = SlotPattern.DEFAULT.slotOf(id);
            if (slot >= 0 && slot <= clientIds.size()) { // greater ones are never the lowest that is free
                taken.set(slot);
            }
        }
        return taken.nextClearBit(0);
    }

    /** The number that was claimed. */
    public int slot() {
        return slot;
    }

    /** Whether no other client that comes first has the same slot now; to be asked after the client has started. */
    public boolean confirm() {
        String own = client.buildMQClientId();
        return group.get().stream().noneMatch(id -> SlotPattern.DEFAULT.slotOf(id) == slot && id.compareTo(own) < 0);
    }
}
