// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.witness;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/**
 * Asks the real RocketMQ classes. One JSON request a line on standard input, one JSON answer a line on standard output,
 * both pure ASCII.
 *
 * <p>Request: {@code id, strategy, params, queues [[topic, broker, id]], clients, probes [client to ask for], sort}.
 *
 * <p>Answer: {@code id}; {@code name} (getName()); {@code result} {probe: [positions of its queues]}; {@code errors}
 * {probe: "Class: message"}; the same for the probe null as {@code null_client_result} or {@code null_client_error};
 * {@code set_size} and {@code queue_id_minus_one} for POP; {@code sorted} {queues, clients} or {@code sort_error} if
 * asked to sort; {@code error} with {@code error_at} "constructor" if the strategy could not be made. Positions point
 * into the configured list where the strategy hands out that one. A request this program cannot serve is answered by
 * {@code failure}.
 */
public final class Witness {
    private Witness() {
    }

    public static void main(String[] args) throws IOException {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.US_ASCII);
        System.setOut(System.err); // nothing that a library prints may stand between the answers
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(Json.write(answer(line)));
        }
        out.flush();
    }

    private static Map<String, Object> answer(String line) {
        try {
            return new Case(Case.object(Json.parse(line))).answer();
        } catch (RuntimeException failure) {
            failure.printStackTrace();
            return Map.of("failure", failure.toString());
        }
    }
}
