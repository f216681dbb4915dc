// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.github.rmqalloc.strategies;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Where the slot stands in a client id, and the numbers of a list of clients. */
final class SlotPattern {
    /** A hyphen and the number, as with pods of a StatefulSet. */
    static final SlotPattern DEFAULT = new SlotPattern("-#");

    /** A slot has at most nine digits. */
    private static final int MOST_DIGITS = 9;

    private final String before;
    private final String after;

    /**
     * A pattern of instance names.
     *
     * @param pattern a text with one # where the number stands, and no digit next to it; the instance name ends in it
     */
    SlotPattern(String pattern) {
        int at = pattern.indexOf('#');
        boolean one = at >= 0 && pattern.indexOf('#', at + 1) < 0;
        Checks.require(one, "a pattern has one # where the number of the slot stands, as in -#; it is " + pattern);
        this.before = pattern.substring(0, at);
        this.after = pattern.substring(at + 1);
        boolean digits = (at > 0 && isDigit(pattern.charAt(at - 1))) || (!after.isEmpty() && isDigit(after.charAt(0)));
        Checks.require(!digits, "a pattern has no digit next to its #; it is " + pattern);
    }

    /** The slot of a client, -1 if its id has none. */
    int slotOf(String clientId) {
        int at = clientId.indexOf('@');
        if (at < 0) {
            return -1;
        }
        int end = clientId.indexOf('@', at + 1);
        String name = clientId.substring(at + 1, end < 0 ? clientId.length() : end);
        if (!name.endsWith(after)) {
            return -1;
        }
        name = name.substring(0, name.length() - after.length());
        int start = name.length();
        while (start > 0 && isDigit(name.charAt(start - 1))) {
            start--;
        }
        String digits = name.substring(start);
        boolean number = !digits.isEmpty() && digits.length() <= MOST_DIGITS && (digits.charAt(0) != '0' || digits.length() == 1);
        return number && name.startsWith(before, start - before.length()) ? Integer.parseInt(digits) : -1;
    }

    /**
     * The number of each client: its slot if that is usable and nobody before has it, else one above all of these. Repeats
     * of an id and empty ids have -1.
     */
    int[] numbers(List<String> clientIds) {
        int[] numbers = new int[clientIds.size()];
        Arrays.fill(numbers, -1);
        int[] positions = OwnersStrategy.distinct(clientIds);
        boolean[] taken = new boolean[4 * positions.length + 64];
        List<Long> repeats = new ArrayList<>(); // slots, and positions in the lower half
        List<Integer> others = new ArrayList<>();
        int next = 0;
        for (int i : positions) {
            int slot = slotOf(clientIds.get(i));
            if (slot < 0 || slot >= taken.length) {
                others.add(i);
            } else if (taken[slot]) {
                repeats.add((long) slot << 32 | i);
            } else {
                taken[slot] = true;
                numbers[i] = slot;
                next = Math.max(next, slot + 1);
            }
        }
        repeats.sort(null);
        for (long repeat : repeats) {
            numbers[(int) repeat] = next++;
        }
        for (int i : others) {
            numbers[i] = next++;
        }
        return numbers;
    }

    private static boolean isDigit(char c) {
        return c >= '0' && c <= '9';
    }
}
