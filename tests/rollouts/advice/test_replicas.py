"""Numbers of clients that have work: beside the strategies themselves, with dry queues, and where
nobody can know them.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples

from rmqalloc import strategy
from rmqalloc.rollouts.advice import replicas
from rmqalloc.rollouts.advice._recommend import advise
from rmqalloc.rollouts.advice.replicas import REPLICAS_SCHEMA, replica_counts
from rmqalloc.snapshot import Client, Group, Snapshot, Topic, TopicBroker
from rmqalloc.snapshot.matching import NoMatchError

A_ROOM = {"machine_rooms": ["hz"]}
routes = st.lists(st.builds(lambda name, read, write: TopicBroker(name, read, write), st.sampled_from(["a", "hz@b"]),
    st.integers(0, 7), st.integers(0, 7)), max_size=2, unique_by=lambda one: one.broker_name)  # fmt: skip


def row_of(topics, name="AVG", clients=(), **group):
    named = tuple(one.name for one in topics)
    [row] = replica_counts(
        Snapshot(tuple(topics), (Group("g", named, clients, strategy=name, **group),))
    ).groups.to_pylist()
    return row


def counts_of(topics, name="AVG", **group):
    row = row_of(topics, name, **group)
    assert row["reason"] is None
    return row["useful_clients"], row["even_clients"]


def loads(topics, rule, n):
    """Queues of every client, and those of them that are written, as the strategy tells each
    client.
    """
    ids, found = [f"c{i:02}" for i in range(n)], []
    for one in ids:
        owned = [(topic, queue) for topic in topics for queues in [sorted(topic.queues())] if queues
                 for queue in rule.allocate("g", one, queues, ids)]  # fmt: skip
        written = {
            (t.name, b.broker_name, i)
            for t in topics
            for b in t.brokers
            for i in range(b.n_written_queues)
        }
        found.append((len(owned), sum(queue in written for _, queue in owned)))
    return found


@examples(60)
@given(
    st.lists(routes, min_size=1, max_size=3),
    st.sampled_from(["AVG", "AVG_BY_CIRCLE", "MACHINE_ROOM", "ROTATED-AVG"]),
)
def test_each_number_is_what_the_strategy_tells_every_client(brokers, name):
    topics = [Topic(f"T{i}", tuple(some)) for i, some in enumerate(brokers)]
    params = A_ROOM if name == "MACHINE_ROOM" else {}
    n_queues = sum(1 for topic in topics for _ in topic.queues())
    tried = {n: loads(topics, strategy(name, **params), n) for n in range(1, n_queues + 2)}
    working = [n for n, found in tried.items() if all(work for _, work in found)]
    even = [n for n in working if len({load for load, _ in tried[n]}) == 1]
    assert counts_of(topics, name, strategy_params=params) == (max(working, default=0), even)


def test_without_dry_queues_it_is_the_largest_topic():
    topics = [Topic("T", (TopicBroker("a", 8),)), Topic("U", (TopicBroker("a", 12),))]
    assert counts_of(topics) == counts_of(topics, "AVG_BY_CIRCLE") == (12, [1, 2, 4])


def test_dry_queues_of_one_broker_make_runs_without_work_and_circles_with_it():
    topics = [Topic("T", (TopicBroker("a", 4), TopicBroker("b", 4, 0)))]
    assert counts_of(topics) == (1, [1])
    assert counts_of(topics, "AVG_BY_CIRCLE") == (4, [1, 2, 4])


def test_a_client_without_a_written_queue_of_one_topic_may_have_one_of_another():
    early, late = TopicBroker("a", 2), TopicBroker("b", 2)
    first, last = (
        Topic("T", (early, TopicBroker("b", 2, 0))),
        Topic("U", (TopicBroker("a", 2, 0), late)),
    )
    assert counts_of([first]) == (1, [1])
    assert counts_of([first, last]) == (4, [1, 2, 4])


def test_a_smaller_number_may_leave_a_client_without_work_and_is_not_called_even():
    topics = [Topic("T", tuple(TopicBroker(name, 2, 1) for name in "abc"))]
    assert counts_of(topics, "AVG_BY_CIRCLE") == (3, [1, 3])


def test_retry_topics_give_no_work():
    topics = [Topic("T", (TopicBroker("a", 2),)), Topic("%RETRY%g", (TopicBroker("a", 5),))]
    assert counts_of(topics) == (2, [1, 2])
    assert row_of(topics)["written_queues"] == 2


def test_a_route_that_is_known_only_in_part_gives_no_number():
    topics = [Topic("T", (TopicBroker("a", 2),), unknown={"routes": "kept"})]
    row = row_of(topics)
    assert row["useful_clients"] is row["written_queues"] is None


def test_topics_that_a_rotation_starts_elsewhere_take_more_clients_than_the_largest_has_queues():
    topics = [Topic(f"T{i}", (TopicBroker("a", 3),)) for i in range(5)]
    assert counts_of(topics)[0] == 3
    assert counts_of(topics, "ROTATED-AVG")[0] > 3


@pytest.mark.parametrize(("read", "write"), [(0, 0), (4, 0)])
def test_where_nothing_is_written_no_number_has_work(read, write):
    assert counts_of([Topic("T", (TopicBroker("a", read, write),))]) == (0, [])


@pytest.mark.parametrize(
    ("group", "said"),
    [
        ({"name": "CONSISTENT_HASH"}, "ids of clients that do not exist yet"),
        ({"name": "ORDINAL"}, "slot numbers"),
        ({"name": "MACHINE_ROOM_NEARBY-AVG"}, "machine rooms of clients"),
        ({"name": "CONFIG", "strategy_params": {"message_queues": {"c": [["T", "a", 0]]}}}, "client ids in its lists"),
        ({"name": "CONFIG"}, "the lists of CONFIG"),
        ({"name": "NO_SUCH"}, "NO_SUCH"),
        ({"clients": (Client("c1", strategy="AVG"), Client("c2", strategy="AVG_BY_CIRCLE"))}, "strategy is in doubt: "),
        ({"name": "AVG", "message_model": "BROADCASTING"}, "every client takes every queue"),
        ({"name": "AVG", "server_assignment": "POP"}, "share the messages"),
        ({"name": "AVG", "is_shared": True}, "share the messages"),
        ({"name": "AVG", "unknown": {"subscriptions": "a broker is silent"}}, "only in part: a broker is silent"),
    ],
)  # fmt: skip
def test_where_a_number_cannot_be_known_none_is_invented(group, said):
    row = row_of([Topic("T", (TopicBroker("a", 4, 3),))], **group)
    assert (row["useful_clients"], row["even_clients"], row["written_queues"]) == (None, None, 3)
    assert said in row["reason"]


def test_a_topic_that_is_known_in_part_gives_no_number():
    row = row_of([Topic("T", (TopicBroker("a", 4),), {"routes": "timed out"})])
    assert row["useful_clients"] is None and "timed out" in row["reason"]


def test_the_search_is_bounded(monkeypatch):
    topics = [Topic("T", (TopicBroker("a", 40, 0), TopicBroker("b", 40)))]
    assert counts_of(topics)[0] == 1
    monkeypatch.setattr(replicas, "MOST_CELLS", 1000)
    row = row_of(topics)
    assert row["useful_clients"] is None and "too large" in row["reason"]


def test_patterns_choose_groups_and_topics():
    topics = (Topic("T", (TopicBroker("a", 4),)), Topic("U", (TopicBroker("a", 6),)))
    groups = tuple(Group(name, ("T", "U"), (Client("c"),), strategy="AVG") for name in ("g1", "g2"))
    found = replica_counts(Snapshot(topics, groups), ["g2"], ["T"]).groups
    assert found.schema == REPLICAS_SCHEMA
    assert [(row["consumer_group"], row["useful_clients"]) for row in found.to_pylist()] == [
        ("g2", 4)
    ]
    with pytest.raises(NoMatchError, match="no topic matches 'V'"):
        replica_counts(Snapshot(topics, groups), topics=["V"])


def test_recommend_says_the_same():
    snapshot = Snapshot(
        (Topic("T", (TopicBroker("a", 4), TopicBroker("b", 4, 2))),),
        (Group("g", ("T",), (Client("c1"), Client("c2"), Client("c3")), strategy="AVG"),),
    )
    [row] = advise(snapshot).groups.to_pylist()
    assert (row["useful_clients"], row["even_clients"], row["even_counts"]) == (
        2,
        [1, 2],
        [1, 2, 4, 8],
    )
    assert (
        "With more than 2 clients, a client would own no queue that producers write to"
        in row["advice"]
    )
