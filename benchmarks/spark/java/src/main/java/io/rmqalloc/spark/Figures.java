// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.spark;

import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** Owners of a group with the figures that everyone in this benchmark has to answer with. */
record Figures(int[] owners, int nClients, int unowned, int idle, int minLoad, int maxLoad) {
    static final StructType TYPE = new StructType()
        .add("n_queues", DataTypes.IntegerType)
        .add("n_clients", DataTypes.IntegerType)
        .add("owners", DataTypes.createArrayType(DataTypes.IntegerType, false))
        .add("unowned", DataTypes.IntegerType)
        .add("idle", DataTypes.IntegerType)
        .add("min_load", DataTypes.IntegerType)
        .add("max_load", DataTypes.IntegerType)
        .add("skew", DataTypes.DoubleType);

    static Figures of(int[] owners, int nClients) {
        int[] loads = new int[nClients];
        int unowned = 0;
        for (int owner : owners) {
            if (owner < 0) {
                unowned++;
            } else {
                loads[owner]++;
            }
        }
        int idle = 0;
        int min = Integer.MAX_VALUE;
        int max = 0;
        for (int load : loads) {
            idle += load == 0 ? 1 : 0;
            min = Math.min(min, load);
            max = Math.max(max, load);
        }
        return new Figures(owners, nClients, unowned, idle, min, max);
    }

    double skew() {
        return maxLoad / ((double) owners.length / nClients);
    }

    /** The values of {@link #TYPE}, with the owners as whoever asks wants them. */
    Object[] with(Object column) {
        return new Object[] {owners.length, nClients, column, unowned, idle, minLoad, maxLoad, skew()};
    }
}
