// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.spark;

import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;

/** AVG by hand: everybody gets a run of neighbouring queues, the first ones one more. */
public final class Average extends Closed {
    private static final long serialVersionUID = 1;

    @Override
    public String name() {
        return "avg";
    }

    public static InternalRow invoke(int nQueues, int nClients) {
        int[] owners = new int[nQueues];
        int end = 0;
        for (int client = 0; end < nQueues; client++) {
            int start = end;
            end += nQueues / nClients + (client < nQueues % nClients ? 1 : 0);
            Arrays.fill(owners, start, end, client);
        }
        return row(owners, nClients);
    }
}
