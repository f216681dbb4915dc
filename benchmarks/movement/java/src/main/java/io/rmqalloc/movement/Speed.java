// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.movement;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;

/**
 * Times assignors in one thread of a warm JVM. Arguments: seconds to warm up, rounds, the assignor, and shapes
 * {@code partitions/members}. Standard output: for each shape a line with the shape and the nanoseconds of CPU time that the
 * thread needs for a call, for members that own nothing yet, and for members of whom one has just left; both are medians of
 * rounds.
 */
public final class Speed {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final long ROUND_NANOS = 20_000_000;
    private static final int BATCH = 16;

    private Speed() {
    }

    public static void main(String[] args) {
        double warm = Double.parseDouble(args[0]);
        int rounds = Integer.parseInt(args[1]);
        for (String shape : Arrays.copyOfRange(args, 3, args.length)) {
            int partitions = Integer.parseInt(shape.substring(0, shape.indexOf('/')));
            int members = Integer.parseInt(shape.substring(shape.indexOf('/') + 1));
            List<String> ids = IntStream.range(0, members).mapToObj(i -> "10.0.0." + i + "@consumer-" + i).toList();
            Runnable first = Assignor.of(args[2], partitions).repeatable(ids);
            Assignor group = Assignor.of(args[2], partitions);
            group.assign(ids);
            List<String> left = IntStream.range(0, members).filter(i -> i != members / 2).mapToObj(ids::get).toList();
            Runnable leave = group.repeatable(left);
            System.out.printf(Locale.ROOT, "%s %.1f %.1f%n", shape,
                nanos(first, warm, rounds), nanos(leave, warm, rounds));
        }
    }

    private static double nanos(Runnable call, double warmSeconds, int rounds) {
        long until = System.nanoTime() + (long) (warmSeconds * 1e9);
        while (System.nanoTime() < until) {
            call.run();
        }
        double[] found = new double[rounds];
        for (int i = 0; i < rounds; i++) {
            long calls = 0;
            long start = THREADS.getCurrentThreadCpuTime();
            long used = 0;
            while (used < ROUND_NANOS) {
                for (int j = 0; j < BATCH; j++) {
                    call.run();
                }
                calls += BATCH;
                used = THREADS.getCurrentThreadCpuTime() - start;
            }
            found[i] = (double) used / calls;
        }
        Arrays.sort(found);
        return found[rounds / 2];
    }
}
