// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.github.rmqalloc.strategies;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.rocketmq.client.consumer.AllocateMessageQueueStrategy;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueConsistentHash;
import org.apache.rocketmq.common.message.MessageQueue;

/** How long a call takes once the JVM is warm, hashing of all names included: a row for each strategy and size. */
public final class Speed {
    private static final int[][] SIZES = {{24, 4}, {64, 16}, {192, 48}, {1024, 100}};

    private Speed() {
    }

    public static void main(String[] args) {
        AllocateMessageQueueStrategy[] strategies = {
            new AllocateOrdinal(), new AllocateOrdinal2(), new AllocateStable(), new AllocateStable(1),
            new AllocateMessageQueueConsistentHash(), new AllocateMessageQueueAveragely(),
        };
        System.out.println("microseconds a call, the median of 15 runs; queues/clients; hole: one slot is missing");
        for (AllocateMessageQueueStrategy strategy : strategies) {
            for (int[] size : SIZES) {
                String all = String.format("%.1f", microseconds(strategy, size[0], size[1], size[1] + 1));
                String hole = String.format("%.1f", microseconds(strategy, size[0], size[1], size[1] / 2));
                System.out.printf("%-16s %9s %9s  hole %9s%n", strategy.getName(), size[0] + "/" + size[1], all, hole);
            }
        }
    }

    private static double microseconds(AllocateMessageQueueStrategy strategy, int m, int n, int missing) {
        double[] runs = new double[15];
        for (int run = 0; run < runs.length; run++) {
            int calls = 0;
            long start = System.nanoTime();
            while (System.nanoTime() - start < 60_000_000) {
                // New strings each time: their hashes are not kept from the call before.
                List<String> ids = ids(n, missing);
                if (strategy.allocate("group", ids.get(1), queues(m), ids) == null) {
                    throw new IllegalStateException();
                }
                calls++;
            }
            runs[run] = (System.nanoTime() - start) / 1e3 / calls;
        }
        Arrays.sort(runs);
        return runs[runs.length / 2];
    }

    private static List<MessageQueue> queues(int m) {
        List<MessageQueue> queues = new ArrayList<>();
        for (int q = 0; q < m; q++) {
            queues.add(new MessageQueue("orders", "broker-" + q % 8, q / 8));
        }
        return queues;
    }

    private static List<String> ids(int n, int missing) {
        List<String> ids = new ArrayList<>();
        for (int slot = 0; slot < n; slot++) {
            if (slot != missing) {
                ids.add("10.0.3." + slot + "@consumer-" + slot);
            }
        }
        return ids;
    }
}
