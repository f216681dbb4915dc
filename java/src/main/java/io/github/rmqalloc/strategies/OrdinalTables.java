// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.github.rmqalloc.strategies;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** For up to 60 queues an order of all slots for each queue; every subset of slots is balanced by the first that are present. */
final class OrdinalTables {
    private static final String RESOURCE = "ordinal-tables.txt";
    /** The orders of so many queues give the same load to every slot of any subset. */
    private static final int EVEN = 60;

    /** The orders by number of queues. */
    private final String[][] orders = new String[EVEN + 1][];

    private OrdinalTables() throws IOException {
        try (InputStream in = OrdinalTables.class.getResourceAsStream(RESOURCE)) {
            if (in == null) {
                throw new IllegalStateException(RESOURCE + " is not beside the class " + OrdinalTables.class.getName());
            }
            BufferedReader lines = new BufferedReader(new InputStreamReader(in, StandardCharsets.US_ASCII));
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (!line.startsWith("#")) {
                    String[] words = line.split(" ");
                    orders[Integer.parseInt(words[0])] = Arrays.copyOfRange(words, 2, words.length);
                }
            }
        }
    }

    /** Read when it is first asked for. */
    private static final class Holder {
        static final OrdinalTables TABLES = read();

        private static OrdinalTables read() {
            try {
                return new OrdinalTables();
            } catch (IOException failure) {
                throw new UncheckedIOException(failure);
            }
        }
    }

    static OrdinalTables tables() {
        return Holder.TABLES;
    }

    /** The slot of each of m queues; clients[s] is negative where slot s is not present. */
    int[] slots(long seed, int m, int[] clients) {
        int rest = m % EVEN;
        int k = rest == 0 ? 6 : orders[rest][0].length();
        Checks.require(clients.length <= k,
            m + " queues have a table of " + k + " slots, the highest is " + (clients.length - 1));
        int[] labels = labels(seed, k);
        int[] slots = new int[m];
        for (int q = 0; q < m; q++) {
            slots[q] = first(q < m - rest ? orders[EVEN][q % EVEN] : orders[rest][q - (m - rest)], labels, clients);
        }
        return slots;
    }

    private static int first(String order, int[] labels, int[] clients) {
        for (int i = 0; i < order.length(); i++) {
            int digit = order.charAt(i) - '0';
            if (digit < labels.length && labels[digit] < clients.length && clients[labels[digit]] >= 0) {
                return labels[digit];
            }
        }
        throw new IllegalStateException("no slot is present in " + order);
    }

    /** Which slot each digit stands for, so that the first slots are not the fuller ones of every topic. */
    private static int[] labels(long seed, int k) {
        int[] labels = new int[k];
        for (int i = 0; i < k; i++) {
            labels[i] = i;
        }
        for (int i = k - 1; i > 0; i--) {
            int j = Mix.below(Mix.mix64(seed + i * Mix.GOLDEN), i + 1);
            int label = labels[i];
            labels[i] = labels[j];
            labels[j] = label;
        }
        return labels;
    }
}
