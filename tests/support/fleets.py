"""A few groups that differ in every way, as Python objects and as Arrow tables, for the tests of
fleets.
"""

import pyarrow as pa

from rmqalloc import Fleet, strategy

AVG = strategy("AVG")
RING = strategy("CONSISTENT_HASH")

# (consumer group, topic, queues of each broker, client ids): uneven lists, text beyond ASCII, more
# clients than queues.
GROUPS = [
    ("g1", "orders", {"broker-a": 4, "broker-b": 3}, ["10.0.0.1@1", "10.0.0.2@1", "10.0.0.3@1"]),
    ("g2", "orders", {"broker-a": 4, "broker-b": 3}, ["c"]),
    ("组", "t-😀", {"é": 1}, ["x", "😀", "\uffff"]),
    ("g1", "bills", {"broker-b": 2, "broker-a": 2}, ["10.0.0.1@1", "10.0.0.2@1", "10.0.0.3@1"]),
    ("g3", "bills", {"broker-a": 5}, ["dup", "other", "dup"]),
]


def pairs_of(brokers):
    return [
        (broker, queue_id) for broker, n_queues in brokers.items() for queue_id in range(n_queues)
    ]


def python_fleet(groups=GROUPS):
    return Fleet.from_groups(
        [(group, topic, pairs_of(brokers), clients) for group, topic, brokers, clients in groups]
    )


def columns(groups=GROUPS, form="queues", text="string", lists=pa.list_):
    """The groups as a table, in either form of the queues and with any type of text and list."""
    text = pa.type_for_alias(text)
    name, number = ("queue_id", pairs_of) if form == "queues" else ("read_queue_nums", dict.items)
    kind = pa.struct([("broker_name", text), (name, pa.int32())])
    parts = [
        [{"broker_name": b, name: n} for b, n in number(brokers)] for _, _, brokers, _ in groups
    ]
    return pa.table({
        "consumer_group": pa.array([group[0] for group in groups]).cast(text),
        "topic": pa.array([group[1] for group in groups]).cast(text),
        form: pa.array(parts, lists(kind)),
        "client_ids": pa.array([group[3] for group in groups], lists(text)),
    })  # fmt: skip


def assert_same_fleet(fleet, expected):
    assert fleet.n_units == expected.n_units
    for u in range(expected.n_units):
        assert (fleet.consumer_group(u), fleet.topic(u)) == (
            expected.consumer_group(u),
            expected.topic(u),
        )
        assert fleet.queues_of(u) == expected.queues_of(u)
        assert fleet.client_ids_of(u) == expected.client_ids_of(u)
    assert_same_owners(fleet, expected)


def assert_same_owners(fleet, expected):
    for rule in (AVG, RING):
        owners = rule.assign_fleet(fleet, on_error="report")
        assert owners.tolist() == rule.assign_fleet(expected, on_error="report").tolist()
