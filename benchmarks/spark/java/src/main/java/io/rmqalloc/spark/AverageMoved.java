// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.spark;

import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** Queues that move under AVG when the number of clients changes, for a row that is one scenario of one group. */
public final class AverageMoved implements ScalarFunction<Integer> {
    private static final long serialVersionUID = 1;

    @Override
    public String name() {
        return "avg_moved";
    }

    @Override
    public DataType[] inputTypes() {
        return new DataType[] {DataTypes.IntegerType, DataTypes.IntegerType, DataTypes.IntegerType};
    }

    @Override
    public DataType resultType() {
        return DataTypes.IntegerType;
    }

    @Override
    public boolean isResultNullable() {
        return false;
    }

    @Override
    public String canonicalName() {
        return "io.rmqalloc." + name();
    }

    /** Both allocations are runs of queues: walk from one end of a run, of either, to the next. */
    public static int invoke(int nQueues, int nBefore, int nAfter) {
        int moved = 0;
        int before = 0;
        int after = 0;
        int endBefore = share(nQueues, nBefore, 0);
        int endAfter = share(nQueues, nAfter, 0);
        for (int queue = 0; queue < nQueues; ) {
            int end = Math.min(endBefore, endAfter);
            moved += before == after ? 0 : end - queue;
            queue = end;
            if (endBefore == end) {
                endBefore += share(nQueues, nBefore, ++before);
            }
            if (endAfter == end) {
                endAfter += share(nQueues, nAfter, ++after);
            }
        }
        return moved;
    }

    private static int share(int nQueues, int nClients, int client) {
        return nQueues / nClients + (client < nQueues % nClients ? 1 : 0);
    }
}
