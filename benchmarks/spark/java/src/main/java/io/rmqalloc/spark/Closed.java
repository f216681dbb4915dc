// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.spark;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** What the closed forms share: two counts in, figures out. Their static {@code invoke} goes into generated code. */
abstract class Closed implements ScalarFunction<InternalRow> {
    private static final long serialVersionUID = 1;

    @Override
    public DataType[] inputTypes() {
        return new DataType[] {DataTypes.IntegerType, DataTypes.IntegerType};
    }

    @Override
    public DataType resultType() {
        return Figures.TYPE;
    }

    @Override
    public boolean isResultNullable() {
        return false;
    }

    @Override
    public String canonicalName() {
        return "io.rmqalloc." + name();
    }

    static InternalRow row(int[] owners, int nClients) {
        Figures figures = Figures.of(owners, nClients);
        return new GenericInternalRow(figures.with(UnsafeArrayData.fromPrimitiveArray(owners)));
    }
}
