// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.spark;

import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** The best of the scenarios "so many clients": least idle, then least skew, then least moved, then the first. */
record Best(int nQueues, int nClients, int idle, int minLoad, int maxLoad, int moved) {
    /** There is a scenario for each number of clients from 1 to this. */
    static final int SCENARIOS = 32;

    static final StructType TYPE = new StructType()
        .add("n_queues", DataTypes.IntegerType)
        .add("n_clients", DataTypes.IntegerType)
        .add("idle", DataTypes.IntegerType)
        .add("unowned", DataTypes.IntegerType)
        .add("min_load", DataTypes.IntegerType)
        .add("max_load", DataTypes.IntegerType)
        .add("skew", DataTypes.DoubleType)
        .add("moved", DataTypes.IntegerType);

    boolean isBetterThan(Best other) {
        if (other == null || idle != other.idle) {
            return other == null || idle < other.idle;
        }
        int bySkew = Double.compare(skew(), other.skew());
        return bySkew < 0 || (bySkew == 0 && moved < other.moved);
    }

    double skew() {
        return maxLoad / ((double) nQueues / nClients);
    }

    /** The values of {@link #TYPE}. */
    Object[] values() {
        return new Object[] {nQueues, nClients, idle, 0, minLoad, maxLoad, skew(), moved};
    }
}
