"""Units as rows of a table: some fine, some bad in every way a row can be."""

import pyarrow as pa

from rmqalloc import MessageQueue, sort_client_ids, sort_queues
from rmqalloc.snapshot.synthetic import FLEET_SCHEMA, synthetic_fleet


def row(
    consumer_group="g", topic="T", brokers=(("b2", 2), ("b1", 3)), client_ids=("c2", "c10", "c1")
):
    """One unit; every part may be None, and so may what is in it."""
    if brokers is not None:
        brokers = [
            b if b is None else {"broker_name": b[0], "read_queue_nums": b[1]} for b in brokers
        ]
    client_ids = client_ids if client_ids is None else list(client_ids)
    return {
        "consumer_group": consumer_group,
        "topic": topic,
        "brokers": brokers,
        "client_ids": client_ids,
    }


GOOD = [
    row(),
    row("组", "t-😀", [("é", 1)], ["\uffff", "😀", "x"]),
    row("no-clients-enough", brokers=[("b", 1)], client_ids=[f"c{i}" for i in range(7)]),
    row("repeated", client_ids=["dup", "other", "dup"]),
]

# A bad row, and words of the error it must get.
BAD = [
    (row(consumer_group=None), "consumer_group is null"),
    (row(topic=None), "topic is null"),
    (row(brokers=None), "brokers is null"),
    (row(brokers=[]), "mqAll is null or mqAll empty"),
    (row(brokers=[("b", 0)]), "mqAll is null or mqAll empty"),
    (row(brokers=[("b", 1), (None, 1)]), "broker_name at position 1"),
    (row(brokers=[("b", None)]), "read_queue_nums at position 0"),
    (row(brokers=[("b", -1)]), "read_queue_nums at position 0"),
    (row(brokers=[("b", 2**31 - 1)]), "2147483647"),
    (row(brokers=[None]), "position 0 of brokers"),
    (row(client_ids=None), "client_ids is null"),
    (row(client_ids=[]), "cidAll is null or cidAll empty"),
    (row(client_ids=["c1", None]), "client id at position 1 is null"),
]


def mixed():
    """A batch of good rows with the bad ones between them, and the words of each row's error, None
    if fine.
    """
    rows, words = [], []
    for i, (bad, said) in enumerate(BAD):
        rows += [GOOD[i % len(GOOD)], bad]
        words += [None, said]
    return pa.RecordBatch.from_pylist([*rows, *GOOD], schema=FLEET_SCHEMA), [
        *words,
        *[None] * len(GOOD),
    ]


def synthetic(n_units, seed=0):
    """A synthetic fleet as one table."""
    return pa.Table.from_batches(list(synthetic_fleet(n_units, seed)), schema=FLEET_SCHEMA)


def exploded(batch):
    """The same units with a column of single queues instead of brokers."""
    kind = pa.list_(pa.struct([("broker_name", pa.string()), ("queue_id", pa.int32())]))
    queues = [
        [{"broker_name": q.broker_name, "queue_id": q.queue_id} for q in queues_of(r)]
        for r in batch.to_pylist()
    ]
    table = pa.table(batch).drop_columns("brokers").append_column("queues", pa.array(queues, kind))
    return table.combine_chunks().to_batches()[0]


def queues_of(unit):
    """Queues of a row, in the order of its brokers."""
    return [
        MessageQueue(unit["topic"], broker["broker_name"], i)
        for broker in unit["brokers"]
        for i in range(broker["read_queue_nums"])
    ]


def expected(unit, s):
    """The row of a good unit before any change, figure by figure from the owners of its group
    alone.
    """
    mq_all, cid_all = sort_queues(queues_of(unit)), sort_client_ids(unit["client_ids"])
    owners = s.assign(mq_all, cid_all).owners.tolist()
    loads = [owners.count(client) for client in range(len(cid_all))]
    n_queues, n_clients = len(mq_all), len(cid_all)
    stay = most_that_stay([cid_all[i] if i >= 0 else None for i in owners], set(cid_all), n_queues)
    return {
        "consumer_group": unit["consumer_group"], "topic": unit["topic"], "scenario": "current", "strategy": s.get_name(),
        "n_queues": n_queues, "n_clients": n_clients, "idle": loads.count(0), "unowned": owners.count(-1),
        "min_load": min(loads), "mean_load": n_queues / n_clients, "max_load": max(loads),
        "skew": max(loads) / (n_queues / n_clients), "moved": 0, "least_moves": n_queues - stay, "clients_affected": 0,
        "cross_room": None, "err_code": 0, "err_msg": None, "owners": owners,
    }  # fmt: skip


def most_that_stay(owners, clients, n_queues):
    """Queues that can stay where they are if all are owned and the loads of the clients differ by
    one at most.
    """
    if not clients:
        return owners.count(None)
    share, extra = divmod(n_queues, len(clients))
    loads = [owners.count(client_id) for client_id in clients]
    return sum(min(load, share) for load in loads) + min(extra, sum(load > share for load in loads))


def assert_assigned(rows, units, words, s):
    """Rows are what is expected of the units, one by one; ``words`` are those of each row's error."""
    assert len(rows) == len(units) == len(words)
    for got, unit, said in zip(rows, units, words, strict=True):
        if said is None:
            want = expected(unit, s)
            assert abs(got.pop("skew") - want.pop("skew")) < 1e-12
            assert got == want
        else:
            assert said in got.pop("err_msg")
            assert got.pop("err_code") > 0
            names = {
                "consumer_group": unit["consumer_group"],
                "topic": unit["topic"],
                "scenario": "current",
            }
            assert got == {**dict.fromkeys(got), **names}
