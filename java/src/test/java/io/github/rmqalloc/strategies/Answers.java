// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.github.rmqalloc.strategies;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.stream.Collectors;

/** Answers cases, one a line on standard input, with the owners or "error: " and the reason, one a line on standard output. */
public final class Answers {
    private Answers() {
    }

    public static void main(String[] args) throws IOException {
        PrintStream out = new PrintStream(System.out, false, "US-ASCII");
        System.setOut(System.err); // nothing that a library prints may stand between the answers
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(answer(line));
        }
        out.flush();
    }

    private static String answer(String line) {
        try {
            return Arrays.stream(new StrategyCase(line).owners()).mapToObj(String::valueOf).collect(Collectors.joining(","));
        } catch (IllegalArgumentException refusal) {
            return "error: " + refusal.getMessage();
        }
    }
}
