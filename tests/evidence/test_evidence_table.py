"""The table of what answers rest on, and the notes that are made from it."""

from datetime import UTC, datetime, timedelta

import pytest

from rmqalloc.evidence import EVIDENCE_SCHEMA, evidence_lines, evidence_of, with_strategies
from rmqalloc.snapshot.snapshot import (
    Broker,
    Client,
    Group,
    Snapshot,
    SourceError,
    Topic,
    TopicBroker,
)

TOPICS = (Topic("T", (TopicBroker("a", 4),)), Topic("U", (TopicBroker("b", 4),)))
NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)


def snapshot(*groups, topics=TOPICS, **fields):
    return Snapshot(topics, groups, **fields)


def group(name="g", *topics, **fields):
    return Group(name, topics or ("T",), **{"clients": (Client("c1"),), "strategy": "AVG"} | fields)


def column(name, whole, **how):
    return evidence_of(with_strategies(whole), **how).groups[name].to_pylist()


def test_a_row_for_every_group_that_is_meant_and_nothing_where_there_is_none():
    whole = snapshot(group("g1"), group("h"), group("g2"))
    assert column("consumer_group", whole, groups=["g*"]) == ["g1", "g2"]
    nothing = evidence_of(Snapshot())
    assert (nothing.groups.schema, nothing.groups.num_rows, list(nothing.notes())) == (
        EVIDENCE_SCHEMA,
        0,
        [],
    )


def test_sources_and_parameters():
    ring = {"strategy": "CONSISTENT_HASH", "strategy_params": {"virtual_nodes": 160}}
    differing = Client("c1", strategy="AVG"), Client("c2", strategy="AVG_BY_CIRCLE")
    whole = snapshot(
        group("given", **ring),
        group("reported", strategy=None, clients=(Client("c1", strategy="AVG"),)),
        group("assumed", strategy=None),
        group("mixed", strategy=None, clients=differing),
        group("shared", is_shared=True),
    )
    assert column("source", whole) == ["given", "reported", "assumed", "by client", None]
    assert column("parameters", whole)[:2] == ['{"virtual_nodes": 160}', None]
    assert [bool(doubt) for doubt in column("doubt", whole)] == [False, False, True, True, False]


@pytest.mark.parametrize(
    ("least", "weaker"),
    [
        ("given", ["reported", "mixed", "fitted", "assumed", "refuted"]),
        ("reported", ["fitted", "assumed", "refuted"]),
        ("fitted", ["assumed", "refuted"]),
        ("assumed", []),
    ],
)
def test_sources_in_their_order_a_doubt_as_weak_as_a_guess(least, weaker):
    of_source = [
        group(name, strategy_source=name if name in ("reported", "fitted", "assumed") else "given")
        for name in ("given", "reported", "fitted", "assumed")
    ]
    mixed = group(
        "mixed",
        clients=(Client("c1", strategy="AVG"), Client("c2", strategy="AVG_BY_CIRCLE")),
        strategy=None,
    )
    refuted = group(
        "refuted", strategy_source="given", strategy_doubt="AVG explains 1 of 8 known owners"
    )
    evidence = evidence_of(
        with_strategies(snapshot(*of_source, mixed, refuted, group("pop", server_assignment="POP")))
    )
    assert sorted(evidence.weaker(least)) == sorted(weaker)
    with pytest.raises(ValueError, match="'known' is no source of a strategy; sources are given"):
        evidence.weaker("known")


@pytest.mark.parametrize(
    ("fetched_at", "age"),
    [
        ("2026-11-23T11:59:00Z", 60.0),
        ("2026-11-23T12:59:00+01:00", 60.0),
        ("2026-11-23T11:59:00", 60.0),
        ("2026-11-23T12:00:01Z", None),
        ("yesterday", None),
        (None, None),
    ],
)
def test_the_age_is_null_if_it_is_not_known(fetched_at, age):
    assert column("age_seconds", snapshot(group(), fetched_at=fetched_at), now=NOW) == [age]


def test_only_an_old_snapshot_is_said_to_be_so():
    now = datetime.now(UTC)
    times = [(now - timedelta(seconds=n)).isoformat() for n in (60, 7200)]
    said = [[*evidence_lines(with_strategies(snapshot(group(), fetched_at=one)))] for one in times]
    assert said == [[], [f"the snapshot was taken at {times[1]}"]]


@pytest.mark.parametrize(
    ("source", "request_", "touched"),
    [
        ("broker a", "GET_CONSUMER_RUNNING_INFO g, c1", ["g"]),
        ("broker a", "GET_CONSUMER_CONNECTION_LIST h", ["h"]),
        ("broker a", "GET_CONSUME_STATS gh", []),
        ("name server", "route of topic U", ["h", "both"]),
        ("broker b", "GET_ALL_SUBSCRIPTION_GROUP_CONFIG", ["h", "both"]),
        ("name server", "GET_ALL_TOPIC_LIST_FROM_NAME_SERVER", ["g", "h", "both"]),
        ("somebody", "something", ["g", "h", "both"]),
    ],
)
def test_what_was_not_answered_stands_with_the_groups_that_it_touches(source, request_, touched):
    groups = group("g"), group("h", "U"), group("both", "T", "U")
    whole = snapshot(*groups, errors=(SourceError(source, request_, "timed out"),))
    found = dict(zip(column("consumer_group", whole), column("errors", whole), strict=True))
    assert found == {
        one.name: [f"{request_} of {source}: timed out"] if one.name in touched else []
        for one in groups
    }


def test_names_as_long_as_mqadmin_prints_may_be_cut():
    topics = (
        Topic("t" * 64, (TopicBroker("a", 1),)),
        Topic("U", (TopicBroker("b" * 32, 1), TopicBroker("b" * 31, 1))),
    )
    groups = (
        group("g", "t" * 64),
        group("h", "U"),
        group("both", "t" * 64, "U"),
        group("none", "missing"),
    )
    assert column("may_be_cut", snapshot(*groups, topics=topics)) == [
        ["t" * 64], ["b" * 32], ["t" * 64, "b" * 32], [],
    ]  # fmt: skip


@pytest.mark.parametrize(("topic", "broker"), [("t" * 64, "b"), ("t", "b" * 32)])
def test_a_single_long_name_may_be_cut(topic, broker):
    whole = snapshot(group("g", topic), topics=(Topic(topic, (TopicBroker(broker, 1),)),))
    assert column("may_be_cut", whole) == [[name for name in (topic, broker) if len(name) > 1]]


def test_notes_join_groups_that_are_alike():
    whole = snapshot(*(group(f"g{i}", strategy=None) for i in range(5)), group("h"), topics=())
    assert list(evidence_lines(with_strategies(whole))) == [
        "strategy AVG, assumed, owners not known: g0, g1, g2 and 2 more"
    ]


@pytest.mark.parametrize(
    ("unknown", "is_silent", "said"),
    [
        ({}, True, ["not known: brokers of b (it does not answer)"]),
        ({"routes": "timeout"}, False, ["not known: routes of T (timeout)"]),
        ({}, False, []),
    ],
)
def test_notes_name_what_is_not_known_of_topics_and_brokers(unknown, is_silent, said):
    topic = Topic("T", (TopicBroker("b", 4),), unknown=unknown)
    group = Group("g", ("T",), (Client("c"),), strategy="AVG")
    broker = Broker("b", "10.0.0.1:10911", is_silent=is_silent)
    snapshot = Snapshot((topic,), (group,), brokers=(broker,))
    assert list(evidence_lines(with_strategies(snapshot))) == said
