// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.spark;

import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.analysis.NoSuchFunctionException;
import org.apache.spark.sql.connector.catalog.FunctionCatalog;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The catalog that Spark finds the hand-written functions in: {@code spark.sql.catalog.jvm}. */
public final class Functions implements FunctionCatalog {
    private static final Map<String, BoundFunction> ALL = Stream
        .of(new Average(), new AverageBest(), new AverageMoved(), new Circle())
        .collect(Collectors.toMap(BoundFunction::name, function -> function));
    private String name;

    @Override
    public void initialize(String given, CaseInsensitiveStringMap options) {
        name = given;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Identifier[] listFunctions(String[] namespace) {
        return ALL.keySet().stream().map(function -> Identifier.of(namespace, function)).toArray(Identifier[]::new);
    }

    @Override
    public UnboundFunction loadFunction(Identifier wanted) throws NoSuchFunctionException {
        BoundFunction function = ALL.get(wanted.name());
        if (function == null) {
            throw new NoSuchFunctionException(wanted);
        }
        return new Unbound(function);
    }

    private record Unbound(BoundFunction function) implements UnboundFunction {
        @Override
        public BoundFunction bind(StructType types) {
            return function;
        }

        @Override
        public String description() {
            return function.name();
        }

        @Override
        public String name() {
            return function.name();
        }
    }
}
