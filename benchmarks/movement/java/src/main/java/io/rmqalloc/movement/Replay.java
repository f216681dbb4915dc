// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.movement;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Divides groups again at each step of their histories. The argument names the assignor. Standard input: a number of
 * histories, each of them partitions, clients that are ever there, their ids, steps, and for each step how many clients are
 * there and their positions among the ids. Standard output: for each step the owner of each partition as such a position, -1
 * if nobody owns it. Numbers are 32 bits, big-endian; a text is its length in bytes (16 bits) and UTF-8.
 */
public final class Replay {
    private Replay() {
    }

    public static void main(String[] args) throws IOException {
        PrintStream out = System.out;
        System.setOut(System.err);
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in, 1 << 16));
        DataOutputStream answers = new DataOutputStream(new BufferedOutputStream(out, 1 << 16));
        for (int histories = in.readInt(); histories > 0; histories--) {
            replay(args[0], in, answers);
        }
        answers.flush();
    }

    private static void replay(String name, DataInputStream in, DataOutputStream answers) throws IOException {
        int partitions = in.readInt();
        String[] ids = new String[in.readInt()];
        Map<String, Integer> positions = new HashMap<>();
        for (int i = 0; i < ids.length; i++) {
            ids[i] = in.readUTF();
            positions.put(ids[i], i);
        }
        Assignor group = Assignor.of(name, partitions);
        ByteBuffer step = ByteBuffer.allocate(4 * partitions);
        for (int steps = in.readInt(); steps > 0; steps--) {
            List<String> present = new ArrayList<>();
            for (int left = in.readInt(); left > 0; left--) {
                present.add(ids[in.readInt()]);
            }
            step.clear();
            for (String owner : group.assign(present)) {
                step.putInt(owner == null ? -1 : positions.get(owner));
            }
            answers.write(step.array());
        }
    }
}
