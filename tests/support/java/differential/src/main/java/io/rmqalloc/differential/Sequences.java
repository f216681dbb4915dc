// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.differential;

import io.rmqalloc.witness.Json;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** What {@link Main} says it does. */
public final class Sequences {
    private Sequences() {
    }

    public static void main(String[] arguments) throws Exception {
        boolean isClient = arguments[0].equals("client");
        // Whatever a class of RocketMQ prints must not come between the answers.
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.US_ASCII);
        System.setOut(System.err);
        Quiet.please();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.print(Json.write(answer(isClient, object(Json.parse(line)))));
            out.print('\n');
            out.flush();
        }
        System.exit(0); // threads of RocketMQ's may still run
    }

    private static Map<String, Object> answer(boolean isClient, Map<String, Object> sequence) {
        List<Object> after = new ArrayList<>();
        try {
            VirtualTime.reset();
            Map<String, Object> config = object(sequence.get("config"));
            Half half = isClient ? new ClientHalf(config) : new BrokerHalf(config);
            for (Object event : (List<?>) sequence.get("events")) {
                after.add(half.after(object(event)));
            }
            return Map.of("after", after);
        } catch (Throwable error) {
            StringWriter text = new StringWriter();
            error.printStackTrace(new PrintWriter(text));
            return Map.of("failure", "event " + after.size() + ": " + text);
        }
    }

    /** An object of the JSON that was read. */
    @SuppressWarnings("unchecked")
    static Map<String, Object> object(Object value) {
        return (Map<String, Object>) value;
    }
}
