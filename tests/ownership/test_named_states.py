"""States that are known by their names alone, beside one another:
`rmqalloc.ownership.named_states`, ``between`` and ``group_figures``.
"""

import numpy as np
import pyarrow as pa
import pytest

from rmqalloc.ownership.group_figures import balance_of_groups, flows_of_groups
from rmqalloc.ownership.named_states import NO_QUEUES, OWNERS_SCHEMA, KnownOwners, by_name

# By group, topic and queue id of broker a: who owns it before and after; None where it is not there
QUEUES = {
    ("g", "T", 0): ("c1", "c1"),
    ("g", "T", 1): ("c1", "c2"),
    ("g", "T", 2): ("c2", "c2 c3"),
    ("g", "T", 3): ("c1 c2", "c3"),
    ("g", "T", 4): ("c2", ""),
    ("g", "T", 5): (None, "c3"),
    ("g", "T", 6): ("c3", None),
    ("g", "U", 0): ("", "c1"),
    ("h", "T", 0): ("c1", "c2"),
}
MOVED = {("g", "T", 1), ("g", "T", 2), ("g", "T", 3), ("g", "T", 4), ("g", "U", 0), ("h", "T", 0)}


def state(side):
    rows = []
    for (group, topic, queue_id), owners in QUEUES.items():
        if owners[side] is not None:
            owner, *others = owners[side].split() or [None]
            values = (group, topic, "a", queue_id, owner, others or None)
            rows.append(dict(zip(OWNERS_SCHEMA.names, values, strict=True)))
    return KnownOwners(pa.Table.from_pylist(rows[::-1], OWNERS_SCHEMA))


BEFORE, AFTER = state(0), state(1)
NAMED = by_name([BEFORE, AFTER])


def keys_of(rows):
    """Group, topic and id of some queues of `NAMED`."""
    names = NAMED.groups.to_pylist(), NAMED.topics.to_pylist()
    columns = (NAMED.group[rows], NAMED.topic[rows], NAMED.queue_id[rows])
    found = zip(*(column.tolist() for column in columns), strict=True)
    return [(names[0][group], names[1][topic], queue_id) for group, topic, queue_id in found]


def test_every_queue_of_any_state_is_there_once_with_its_owners():
    found = {}
    for key, owners in zip(keys_of(np.arange(len(QUEUES))), NAMED.owners.T, strict=True):
        first, others = (column.to_pylist() for column in NAMED.names_of(owners))
        texts = [
            " ".join([owner or "", *(more or [])]).strip()
            for owner, more in zip(first, others, strict=True)
        ]
        found[key] = tuple(
            None if owner == -2 else text for owner, text in zip(owners, texts, strict=True)
        )
    assert found == QUEUES


def test_what_moves_is_in_both_states_and_has_other_owners():
    between = NAMED.between()
    assert set(keys_of(between.moved)) == MOVED
    assert keys_of(between.is_new) == [("g", "T", 5)]
    assert keys_of(~between.is_) == [("g", "T", 6)]


# Client, and queues that it gains and loses, by group
FLOWS = {
    ("g", "c1"): (1, 2),  # U:0; T:1 and T:3
    ("g", "c2"): (1, 2),  # T:1; T:3 and T:4
    ("g", "c3"): (3, 1),  # T:2, T:3 and T:5; T:6
    ("h", "c1"): (0, 1),
    ("h", "c2"): (1, 0),
}


def test_what_clients_gain_and_lose():
    clients = NAMED.client_ids.to_pylist()
    flows = NAMED.between().flows(NAMED.group, len(clients))
    columns = (flows.of, flows.clients, flows.gained, flows.lost)
    found = {}
    for group, client, *counts in zip(*(column.tolist() for column in columns), strict=True):
        found[NAMED.groups[group].as_py(), clients[client]] = tuple(counts)
    assert found == FLOWS

    figures = flows_of_groups(flows, np.arange(2), 2, len(clients))
    rows = {name: column.tolist() for name, column in figures.items()}
    order = [NAMED.group_numbers[name] for name in ("g", "h")]
    by_group = [[column[number] for number in order] for column in rows.values()]
    # Of g, c3 has more after, c1 and c2 fewer; of h c2 has more and c1 fewer.
    assert dict(zip(rows, by_group, strict=True)) == {
        "clients_affected": [3, 2],
        "clients_gaining": [1, 1],
        "clients_losing": [2, 1],
    }


@pytest.mark.parametrize(
    ("groups", "unknown", "n"),
    [
        (["g", "h"], [], 9),
        (["g"], [], 8),
        (["h", "none"], [], 1),
        (["g"], [("g", "U")], 7),
        (["g", "h"], [("h", "T"), ("h", "U"), ("none", "T")], 8),
        ([], [], 0),
    ],
)
def test_queues_of_some_groups(groups, unknown, n):
    rows = NAMED.rows_of(groups, unknown)
    assert rows.sum() == n
    assert NAMED.counted(rows).sum() == n


def test_queues_of_a_topic_may_be_left_out_or_taken_as_unowned():
    known = KnownOwners(BEFORE.queues, double_owned={("g", "T"): 1, ("g", "U"): 2})
    left = known.without({("g", "T")})
    assert left.queues["topic"].to_pylist() == ["T", "U"]
    assert left.double_owned == {("g", "U"): 2}
    assert known.without(set()) is known
    unowned = known.unowned_in({("h", "T")})
    assert unowned.num_rows == 1
    assert unowned["owner"].to_pylist() == [None]


def test_states_without_queues():
    named = by_name([NO_QUEUES, NO_QUEUES])
    assert named.owners.shape == (2, 0)
    assert named.rows_of(["g"]).tolist() == []


@pytest.mark.parametrize(
    ("is_shared", "n_clients", "mean", "skew"),
    [(False, 2, 2.0, 2.0), (True, 2, 4.0, 1.0), (False, 0, 0.0, 4.0)],
)
def test_a_shared_queue_counts_once_for_each_reader(is_shared, n_clients, mean, skew):
    columns = {"n_queues": 4, "n_loads": 8, "n_clients": n_clients, "max_load": 4}
    arrays = {name: np.array([value]) for name, value in columns.items()}
    found = balance_of_groups(arrays, np.array([is_shared]))
    assert (found["mean_load"].tolist(), found["skew"].tolist()) == ([mean], [skew])
