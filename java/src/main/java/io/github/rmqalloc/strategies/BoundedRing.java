// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.github.rmqalloc.strategies;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The ring of RocketMQ's ConsistentHashRouter, which can only say who comes next of all: the same points, from which it is
 * possible to go on to the next client that has room.
 */
final class BoundedRing {
    private final MessageDigest md5;
    private final long[] points;
    private final String[] clientAt;

    BoundedRing(List<String> clientIds, int virtualNodes) {
        try {
            md5 = MessageDigest.getInstance("MD5");
        } catch (NoSuchAlgorithmException impossible) {
            throw new IllegalStateException("every Java platform has MD5", impossible);
        }
        TreeMap<Long, String> ring = new TreeMap<>();
        Map<String, Integer> held = new HashMap<>();
        for (String id : clientIds) {
            // A repeated id goes on counting from the points that it has now; those that others have taken do not count.
            int first = held.getOrDefault(id, 0);
            for (int i = 0; i < virtualNodes; i++) {
                held.merge(id, 1, Integer::sum);
                String before = ring.put(point(id + "-" + (first + i)), id);
                if (before != null) {
                    held.merge(before, -1, Integer::sum);
                }
            }
        }
        points = ring.keySet().stream().mapToLong(Long::longValue).toArray();
        clientAt = ring.values().toArray(new String[0]);
    }

    /**
     * From the point of a text up the ring: the first client with fewer than cap queues. If none has room, as an id that lost all
     * its points leaves too little of it, the first of all; null on a ring without points.
     */
    String next(String text, Map<String, Integer> loads, int cap) {
        int found = Arrays.binarySearch(points, point(text));
        int start = found >= 0 ? found : -found - 1;
        for (int i = 0; i < points.length; i++) {
            String client = clientAt[(start + i) % points.length];
            if (loads.getOrDefault(client, 0) < cap) {
                return client;
            }
        }
        return points.length == 0 ? null : clientAt[start % points.length];
    }

    /** The first four bytes of the MD5, unsigned. */
    private long point(String key) {
        byte[] digest = md5.digest(key.getBytes(StandardCharsets.UTF_8));
        long point = 0;
        for (int i = 0; i < 4; i++) {
            point = point << 8 | (digest[i] & 0xFF);
        }
        return point;
    }
}
