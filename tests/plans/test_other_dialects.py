"""A strategy that is to come, in groups with clients that compute something else under its name: plans and rollouts say so."""

import pytest

import rmqalloc
from rmqalloc.scenarios import Scenario, SetStrategy
from rmqalloc.snapshot import Client, Group, Snapshot, Topic, TopicBroker

TOPIC = Topic("T", (TopicBroker("b", 8),))


def snapshot_of(*languages):
    clients = tuple(Client(f"10.0.0.{i}@1", language=language) for i, language in enumerate(languages))
    return Snapshot((TOPIC,), (Group("g", ("T",), clients, strategy="AVG"),))


def said(snapshot, strategy, **params):
    plan = rmqalloc.plan(snapshot, [Scenario("to", [SetStrategy(strategy, params or None)])])
    rollout = rmqalloc.rollout.strategy(snapshot, strategy, params=params or None)
    assert set(rollout.warnings) == set(plan.warnings)
    return list(plan.warnings)


@pytest.mark.parametrize("strategy", ["CONSISTENT_HASH", "CONSISTENT_HASH_BOUNDED"])
def test_go_clients_among_javas(strategy):
    [warning] = said(snapshot_of("JAVA", "GO", "GO"), strategy)
    why = "Go's CONSISTENT_HASH is another ring than Java's" if strategy == "CONSISTENT_HASH" else "client-go has no "
    assert warning.startswith(f"g: 2 clients are client-go, and {why}")
    assert warning.endswith("; Java's is planned for all")


def test_a_client_that_has_one_strategy_alone():
    assert said(snapshot_of("JAVA", "CPP"), "AVG_BY_CIRCLE") == [
        "g: 1 client is the C++ client, and the C++ client has no AVG_BY_CIRCLE: it divides by AVG alone; "
        "Java's is planned for all"
    ]


@pytest.mark.parametrize(
    ("languages", "strategy", "params"),
    [
        (("JAVA", "JAVA"), "CONSISTENT_HASH", {}),
        (("JAVA", "GO"), "AVG_BY_CIRCLE", {}),
        (("JAVA", "GO"), "ORDINAL", {}),
        (("JAVA", "GO"), "STABLE", {}),
        (("GO", "GO"), "CONSISTENT_HASH", {"dialect": "go"}),
        ((None, None), "CONSISTENT_HASH", {}),
    ],
)
def test_nothing_is_said_where_all_compute_the_same(languages, strategy, params):
    assert said(snapshot_of(*languages), strategy, **params) == []
