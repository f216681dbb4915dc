// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.spark;

import org.apache.spark.sql.catalyst.InternalRow;

/** AVG_BY_CIRCLE by hand: queues are dealt out one by one. */
public final class Circle extends Closed {
    private static final long serialVersionUID = 1;

    @Override
    public String name() {
        return "circle";
    }

    public static InternalRow invoke(int nQueues, int nClients) {
        int[] owners = new int[nQueues];
        for (int queue = 0; queue < nQueues; queue++) {
            owners[queue] = queue % nClients;
        }
        return row(owners, nClients);
    }
}
