"""What rules advise is true: whoever follows it has the finding no more, or has what the words
promise.
"""

from dataclasses import replace

import pytest
from audited import TOPIC, group, of_rule, queues, share, snapshot, topic
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis_budget import examples

from rmqalloc.audit import RULES, check_snapshot
from rmqalloc.snapshot.snapshot import PERM_READ, PERM_WRITE, Client, Lag, Topic, TopicBroker

ROOMS = Topic(TOPIC, (TopicBroker("a", 4, machine_room="x"), TopicBroker("b", 4, machine_room="y")))
BOTH = PERM_READ | PERM_WRITE


def route(*brokers):
    return (Topic(TOPIC, tuple(TopicBroker(*one) for one in brokers)),)


def lists(**of_client):
    """A group under CONFIG, every client with queues of broker a by id."""
    named = {one: [[TOPIC, "a", i] for i in ids] for one, ids in of_client.items()}
    return group(*of_client, strategy="CONFIG", strategy_params={"message_queues": named})


A3 = (topic(a=3),)
TOLD = {"strategy": "CONSISTENT_HASH"}
LAGS = {"lags": tuple(Lag(queue, 9, 1) for queue in queues([3]))}
FOLLOWED = [
    ("duplicate-client-id", "its own instance name",
     snapshot(group("c1", "c1", "c2")), [snapshot(group("c1", "c3", "c2"))]),
    ("unowned-queue", "Remove the cause", snapshot(group("c1", "c1", "c2")), [snapshot(group("c1", "c3", "c2"))]),
    ("double-owned-queue", "Remove the cause", snapshot(group("c1", "c1", "c2")), [snapshot(group("c1", "c3", "c2"))]),
    ("mixed-strategies", "all clients the same strategy", snapshot(group("c1", Client("c2", strategy="AVG_BY_CIRCLE"))),
     [snapshot(group("c1", Client("c2", strategy="AVG")))]),
    ("mixed-virtual-nodes", "same number of virtual nodes",
     snapshot(group("c1", Client("c2", virtual_nodes=5), Client("c3", virtual_nodes=7), **TOLD)),
     [snapshot(group(*(Client(f"c{i}", virtual_nodes=5) for i in (1, 2, 3)), **TOLD))]),
    ("mixed-subscriptions", "the same topics and tags",
     snapshot(group(Client("c1", subscriptions=(TOPIC,)), Client("c2", subscriptions=("pay",)))),
     [snapshot(group(*(Client(one, subscriptions=(TOPIC,)) for one in ("c1", "c2")))),
      snapshot(group(Client("c1", subscriptions=(TOPIC,))),
               group(Client("c2", subscriptions=("pay",)), name="h", subscriptions=("pay",)),
               topics=(topic(), topic("pay")))]),
    ("mixed-languages", "Use one SDK in a group",
     snapshot(group(Client("c1", language="GO"), Client("c2", language="JAVA"), **TOLD)),
     [snapshot(group(Client("c1", language="GO"), **TOLD), group(Client("c2", language="JAVA"), name="h", **TOLD))]),
    ("mixed-versions", "Finish the upgrade",
     snapshot(group(Client("c1", language="JAVA", version="4.9.8"), Client("c2", language="JAVA", version="5.1.0"))),
     [snapshot(group(*(Client(one, language="JAVA", version="5.1.0") for one in ("c1", "c2"))))]),
    ("config-overlap", "for one client only", snapshot(lists(c1=[0, 1], c2=[1, 2]), topics=A3),
     [snapshot(lists(c1=[0, 1], c2=[2]), topics=A3)]),
    ("config-hole", "to the list of a client", snapshot(lists(c1=[0], c2=[2]), topics=A3),
     [snapshot(lists(c1=[0, 1], c2=[2]), topics=A3)]),
    ("config-unknown-queue", "Remove these queues from the lists", snapshot(lists(c1=[0, 1, 9], c2=[2]), topics=A3),
     [snapshot(lists(c1=[0, 1], c2=[2]), topics=A3)]),
    ("idle-client", "add queues to their lists", snapshot(lists(c1=[0, 1, 2], c2=[]), topics=A3),
     [snapshot(lists(c1=[0, 1], c2=[2]), topics=A3)]),
    ("unsupported-server-strategy", "AVG or AVG_BY_CIRCLE, or let the clients divide",
     snapshot(group("c1", "c2", server_assignment="PULL", **TOLD)),
     [snapshot(group("c1", "c2", server_assignment="PULL", strategy=one)) for one in ("AVG", "AVG_BY_CIRCLE")]
     + [snapshot(group("c1", "c2", **TOLD))]),
    ("missing-machine-room", "every client and every broker",
     snapshot(group(Client("c1", machine_room="x"), "c2", strategy="MACHINE_ROOM_NEARBY"), topics=(ROOMS,)),
     [snapshot(group(Client("c1", machine_room="x"), Client("c2", machine_room="y"), strategy="MACHINE_ROOM_NEARBY"),
               topics=(ROOMS,))]),
    ("written-not-read", "Raise the read queues to the write queues", snapshot(group("c1"), topics=route(("a", 3, 4, BOTH))),
     [snapshot(group("c1"), topics=route(("a", 4, 4, BOTH))), snapshot(group("c1"), topics=route(("a", 3, 3, BOTH)))]),
    ("unreadable-broker", "Restore read permission",
     snapshot(group("c1"), topics=route(("a", 4, 4, BOTH), ("b", 4, 4, PERM_WRITE))),
     [snapshot(group("c1"), topics=route(("a", 4, 4, BOTH), ("b", 4, 4, BOTH))),
      snapshot(group("c1"), topics=route(("a", 4, 4, BOTH), ("b", 4, 4, PERM_READ)))]),
    ("stranded-backlog", "Raise the read queues", snapshot(group("c1", **LAGS), topics=route(("a", 3, 3, BOTH))),
     [snapshot(group("c1", **LAGS), topics=route(("a", 4, 4, BOTH)))]),
    ("dry-queue", "raise the write queues or restore write permission",
     snapshot(group("c1"), topics=route(("a", 4, 2, BOTH), ("b", 4, 4, PERM_READ))),
     [snapshot(group("c1"), topics=route(("a", 4, 4, BOTH), ("b", 4, 4, BOTH)))]),
    ("only-dry-queues", "to the lists of these clients",
     snapshot(lists(c1=[0, 1], c2=[2]), topics=route(("a", 3, 2, BOTH))),
     [snapshot(lists(c1=[0], c2=[1, 2]), topics=route(("a", 3, 2, BOTH)))]),
    ("topic-without-route", "Create the topic, give its brokers read permission and read queues, or end the subscription",
     snapshot(group("c1", subscriptions=(TOPIC, "pay"))),
     [snapshot(group("c1", subscriptions=(TOPIC, "pay")), topics=(topic(), topic("pay"))), snapshot(group("c1"))]),
    ("no-consumer", "Start its clients, or delete", snapshot(group()), [snapshot(group("c1")), snapshot()]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "words", "given", "after"),
    FOLLOWED,
    ids=[f"{one[0]}-{one[1][:9]}" for one in FOLLOWED],
)
def test_who_follows_the_advice_has_the_finding_no_more(rule, words, given, after):
    findings = of_rule(check_snapshot(given), rule)
    assert findings
    assert all(words in one.advice for one in findings)
    for one in after:
        found = check_snapshot(one)
        assert not of_rule(found, rule)
        assert not [worse for worse in found if worse.severity == "error"]


@pytest.mark.parametrize(
    "name", ["CONSISTENT_HASH", "MACHINE_ROOM_NEARBY", "MACHINE_ROOM", "AVG_BY_CIRCLE", "AVG"]
)
def test_avg_is_advised_only_to_those_who_do_not_use_it(name):
    """Of several SDKs under AVG a note remains, which does not advise what is done already."""
    own = (
        Client("c1", language="GO", machine_room="x"),
        Client("c2", language="CPP", machine_room="y"),
    )
    (finding,) = of_rule(
        check_snapshot(snapshot(group(*own, strategy=name), topics=(ROOMS,))), "mixed-languages"
    )
    assert ("use AVG" in finding.advice) == (name != "AVG")
    (after,) = of_rule(
        check_snapshot(snapshot(group(*own, strategy="AVG"), topics=(ROOMS,))), "mixed-languages"
    )
    assert after.severity == "note"


brokers = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4), st.sampled_from([BOTH, BOTH, PERM_READ])),
    min_size=1,
    max_size=3,
)


@examples(40)
@given(brokers, st.integers(1, 6), st.sampled_from(["AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH"]))
def test_queues_without_new_messages_can_be_taken_away(counts, n_clients, name):
    """Read queues lowered to write queues, read permission taken away where there is no write
    permission.
    """
    made = Topic(TOPIC, tuple(TopicBroker(f"b{i}", *one) for i, one in enumerate(counts)))
    one = group(*(f"c{i}" for i in range(n_clients)), strategy=name)
    findings = of_rule(check_snapshot(snapshot(one, topics=(made,))), "only-dry-queues")
    assume(findings)
    written = [replace(broker, read_queue_nums=min(broker.read_queue_nums, broker.write_queue_nums))
               if broker.perm & PERM_WRITE else replace(broker, perm=0) for broker in made.brokers]  # fmt: skip
    after = replace(made, brokers=tuple(written))
    found = check_snapshot(snapshot(one, topics=(after,)))
    assert not of_rule(found, "only-dry-queues") and not of_rule(found, "dry-queue")
    n_left = sum(map(len, (share(one, client, after, one.client_ids) for client in one.clients)))
    assert n_left == len(list(after.queues())), "the others are divided"
    advice = findings[0].advice
    assert ("no other queue" in advice) == (n_left == 0)
    assert n_left == 0 or f"the remaining {n_left} queue" in advice
    assert ("too few" in advice) == (0 < n_left < n_clients)
    if n_left >= n_clients and name != "CONSISTENT_HASH":
        assert not of_rule(found, "idle-client")


def test_all_rules_that_name_something_to_do_with_a_snapshot_are_followed_here():
    """Others say where to look, whom to ask again, or what only a running cluster can do."""
    elsewhere = {
        "stale-route", "split-client-list", "actual-unowned", "actual-double-owned", "owned-not-in-route", "owners-not-told",
        "differs-from-expected", "differs-from-plan", "no-master", "ordered-lock-holder-gone", "lag-from-slave",
        "shared-queues", "expected-not-known", "strategy-assumed", "name-perhaps-cut",
        "consumption-disabled", "silent-broker", "silent-client", "lite-topics",
        "silent-name-server", "broker-left", "topic-left", "queue-left", "group-left",
    }  # fmt: skip
    assert {one[0] for one in FOLLOWED} | elsewhere == set(RULES)
