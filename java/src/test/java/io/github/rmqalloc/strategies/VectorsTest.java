// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.github.rmqalloc.strategies;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The owners of the vectors that all languages read. */
class VectorsTest {
    private static final Path VECTORS = Paths.get(System.getProperty("vectors"));

    @ParameterizedTest
    @ValueSource(strings = {"ordinal", "ordinal-2", "stable"})
    void ownersAreThoseOfTheVectors(String name) throws IOException {
        List<String> lines = Files.readAllLines(VECTORS.resolve(name + "-vectors.tsv"));
        assertTrue(lines.size() >= 60);
        for (int i = 0; i < lines.size(); i++) {
            StrategyCase vector = new StrategyCase(lines.get(i));
            assertArrayEquals(vector.stated, vector.owners(), "line " + (i + 1));
        }
    }
}
