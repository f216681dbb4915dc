// Copyright the rmqalloc authors. Licensed under the Apache License, Version 2.0: see LICENSE.
package io.rmqalloc.spark;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;

/** All scenarios of AVG by hand, in one call and without an array; clients that come or go are the last. */
public final class AverageBest extends Closed {
    private static final long serialVersionUID = 1;

    @Override
    public String name() {
        return "avg_best";
    }

    @Override
    public DataType resultType() {
        return Best.TYPE;
    }

    public static InternalRow invoke(int nQueues, int nClients) {
        Best best = null;
        for (int clients = 1; clients <= Best.SCENARIOS; clients++) {
            int most = (nQueues + clients - 1) / clients;
            int moved = AverageMoved.invoke(nQueues, nClients, clients);
            Best one = new Best(nQueues, clients, Math.max(clients - nQueues, 0), nQueues / clients, most, moved);
            best = one.isBetterThan(best) ? one : best;
        }
        return new GenericInternalRow(best.values());
    }
}
