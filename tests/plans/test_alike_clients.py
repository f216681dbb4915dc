"""Clients that change alike are told once, and none is forgotten."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rmqalloc.plans import plan_snapshot
from rmqalloc.plans.alike_clients import alike_clients, are_few
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker
from rmqalloc.text import natural_key


def planned(n_queues, n_clients, *changes, strategy="AVG"):
    members = tuple(Client(f"10.0.0.{i}@1") for i in range(1, n_clients + 1))
    topics = (Topic("t", (TopicBroker("broker-a", n_queues),)),)
    plan = plan_snapshot(
        Snapshot(topics, (Group("g", ("t",), members, strategy=strategy),)),
        [{"name": "s", "changes": list(changes)}],
    )
    return plan.clients.filter([name == "s" for name in plan.clients["scenario"].to_pylist()])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"set_queues": {"topics": "t", "read_queue_nums": 1040}},
            ["Each client: + 1 (25 → 26 queues)."],
        ),
        (
            {"remove_clients": {"count": 1}},
            [
                "Each of 25 clients: + 1 (25 → 26 queues).",
                "Each of 14 clients: as many queues as before (25).",
                "1 client that leaves: − 25 (25 → 0 queues).",
            ],
        ),
    ],
)
def test_a_group_of_1000_queues_is_told_in_a_few_sentences(change, said):
    kinds = alike_clients(planned(1000, 40, change))
    assert [one.sentence(sum(len(one.client_ids) for one in kinds)) for one in kinds] == said
    assert are_few(kinds)


@given(
    st.integers(1, 60),
    st.integers(2, 30),
    st.integers(1, 40),
    st.sampled_from(["AVG", "CONSISTENT_HASH"]),
)
def test_kinds_lose_no_client_and_hold_what_the_table_says(n_queues, n_clients, to, strategy):
    clients = planned(n_queues, n_clients, {"scale_clients": {"to": to}}, strategy=strategy)
    kinds, rows = alike_clients(clients), {row["client_id"]: row for row in clients.to_pylist()}
    assert sorted(one for kind in kinds for one in kind.client_ids) == sorted(rows)
    for kind in kinds:
        mine = [rows[one] for one in kind.client_ids]
        assert {(row["status"], row["after"] - row["before"]) for row in mine} == {
            (kind.status, kind.change)
        }
        for when in ("before", "after"):
            loads = [row[when] for row in mine]
            assert getattr(kind, when) == (min(loads), max(loads))
        assert kind.client_ids == sorted(kind.client_ids, key=natural_key)


def test_numbers_in_names_are_compared_as_numbers_of_any_length():
    names = [
        "c10",
        "c2",
        "c02",
        "c",
        "10.0.0.10",
        "10.0.0.9",
        "c" + "9" * 5000,
        "c1" + "0" * 5000,
        "²",
    ]
    wanted = [
        "10.0.0.9",
        "10.0.0.10",
        "c",
        "c02",
        "c2",
        "c10",
        "c" + "9" * 5000,
        "c1" + "0" * 5000,
        "²",
    ]
    assert sorted(names, key=natural_key) == wanted
