"""Whether a verb answers about a group: the cases are the table in the docstring of the module."""

import re

import pytest

from rmqalloc.audit import current_owners, group_list
from rmqalloc.evidence import Known, Outcome, UnansweredError, Verb, decisions, known
from rmqalloc.evidence.decisions import ROWS, decide
from rmqalloc.model import MessageQueue
from rmqalloc.plans import plan_snapshot
from rmqalloc.snapshot.snapshot import Broker, Client, Group, Snapshot, Topic, TopicBroker
from rmqalloc.snapshot.unknown import Unknowns

TOPIC = Topic("T", (TopicBroker("b", 4),))
LETTERS = {
    "-": "ANSWERED",
    "N": "NOTED",
    "U": "UNKNOWN",
    "X": "NO",
    "D": "NOT_DIVIDED",
    "L": "LEFT_OUT",
    "R": "REFUSED",
}
TABLE = [
    (line.strip(), letters.split())
    for line, letters in re.findall(
        r"^    (\S.*?)  +((?:[-NUXDLR] *){9})$", decisions.__doc__, re.M
    )
]
"""What holds of a group, and the letter of each verb."""


def cluster(*clients, topic=TOPIC, brokers=(), **fields):
    """A group of one topic that AVG divides, but for some fields."""
    mine = clients or (Client("c1"), Client("c2"))
    given = {"clients": mine, "strategy": "AVG", **fields}
    return Snapshot((topic,), (Group("g", ("T",), **given),), brokers=brokers)


AVG, CIRCLE = Client("c1", strategy="AVG"), Client("c2", strategy="AVG_BY_CIRCLE")
CASES = {
    "its client list is not known": cluster(unknown={"clients": "why"}),
    "a broker does not answer": cluster(brokers=(Broker("b", "b:1", is_silent=True),)),
    "it has no client, and is in doubt": cluster(clients=(), strategy=None),
    "it has no client": cluster(clients=()),
    "its subscriptions are not known": cluster(unknown={"subscriptions": "why"}),
    "the route of a topic is not known": cluster(topic=Topic("T", unknown={"routes": "why"})),
    "it reads lite topics": cluster(lite_topic="L", is_shared=True),
    "its clients do not divide the queues": cluster(message_model="BROADCASTING"),
    "its strategy cannot be computed": cluster(strategy="CONFIG"),
    "brokers let it pop messages": cluster(server_assignment="POP"),
    "its clients use several strategies": cluster(AVG, CIRCLE, strategy=None),
    "its strategy is in doubt": cluster(strategy=None),
    "brokers list different clients": cluster(broker_client_ids={"b": ("c1",)}),
    "some clients do not report their queues": cluster(Client("c1", owned=()), Client("c2")),
    "none of these": cluster(),
}


def decided(snapshot, verb, **how):
    """The decision about the one group of a snapshot."""
    found = known(snapshot)
    return decide(found.snapshot.groups[0], verb, Unknowns(found.snapshot), **how)


def test_the_table_is_that_of_the_module():
    assert [what for what, _ in TABLE] == [row.what for row in ROWS] == [*CASES]
    assert all(len(letters) == len(Verb) for _, letters in TABLE)


@pytest.mark.parametrize(("what", "letters"), TABLE, ids=[what for what, _ in TABLE])
def test_every_verb_decides_as_the_table_says(what, letters):
    found = [decided(CASES[what], verb).outcome.name for verb in Verb]
    assert found == [LETTERS[letter] for letter in letters]


@pytest.mark.parametrize(("what", "letters"), TABLE, ids=[what for what, _ in TABLE])
def test_what_is_left_out_or_refused_says_what_would_allow_it(what, letters):
    for verb, letter in zip(Verb, letters, strict=True):
        found = decided(CASES[what], verb)
        assert bool(found.reason) is (what != "none of these")
        assert ("--allow-partial" in found.remedy) is (letter == "L")
        if letter == "R" and "no client" not in what:
            assert "--strategy" in found.remedy


@pytest.mark.parametrize("what", [what for what, letters in TABLE if "L" in letters])
def test_partial_facts_are_passed_over_with_a_note_where_they_will_do(what):
    for verb in (Verb.PLAN, Verb.EXPLAIN, Verb.COMPARE, Verb.SIMULATE, Verb.RECOMMEND):
        found = decided(CASES[what], verb, allow_partial=True)
        assert found.outcome is Outcome.NOTED and not found.remedy


def test_what_is_passed_over_leaves_the_rest_of_the_table():
    lost = cluster(strategy=None, unknown={"clients": "why"})
    assert decided(lost, Verb.PLAN).outcome is Outcome.LEFT_OUT
    assert decided(lost, Verb.PLAN, allow_partial=True).outcome is Outcome.REFUSED
    shared = cluster(message_model="BROADCASTING", unknown={"clients": "why"})
    assert decided(shared, Verb.PLAN, allow_partial=True).outcome is Outcome.NOTED
    assert decided(shared, Verb.COMPARE, allow_partial=True).outcome is Outcome.NOT_DIVIDED


def test_clients_that_only_a_broker_lists_are_clients():
    listed = cluster(broker_client_ids={"b": ("c1",)}, clients=())
    assert decided(listed, Verb.EXPLAIN).reason == "brokers list different clients"


def test_a_silent_broker_without_queues_leaves_nothing_unknown():
    brokers = (Broker("b", "b:1"), Broker("c", "c:1", is_silent=True))
    written_only = Topic("T", (TopicBroker("b", 4), TopicBroker("c", 4, perm=2)))
    for topic in (written_only, Topic("T", (TopicBroker("b", 4), TopicBroker("c", 0)))):
        snapshot = cluster(topic=topic, brokers=brokers)
        assert decided(snapshot, Verb.PLAN).outcome is Outcome.ANSWERED
        assert group_list(snapshot).groups["unowned"].to_pylist() == [0]
    with_queues = cluster(topic=Topic("T", (TopicBroker("c", 4),)), brokers=brokers)
    assert decided(with_queues, Verb.PLAN).outcome is Outcome.LEFT_OUT
    assert group_list(with_queues).groups["unowned"].to_pylist() == [None]


def test_the_present_of_a_plan_is_that_of_show_where_nobody_subscribes():
    client = Client("c1", subscriptions=(), owned=(MessageQueue("T", "b", 0),))
    snapshot = cluster(client)
    assert {row["reason"] for row in current_owners(snapshot).queues.to_pylist()} == {
        "no-subscriber"
    }
    (row,) = plan_snapshot(snapshot, []).groups.to_pylist()
    assert (row["unowned"], row["idle"]) == (4, 1)


def test_a_group_that_is_given_clients_needs_a_strategy():
    empty = CASES["it has no client, and is in doubt"]
    assert decided(empty, Verb.PLAN, clients_join=True).outcome is Outcome.REFUSED
    assert (
        decided(CASES["it has no client"], Verb.PLAN, clients_join=True).outcome is Outcome.ANSWERED
    )


@pytest.mark.parametrize("mode", ["PULL", "POP"])
def test_what_brokers_refuse_is_planned_by_nobody(mode):
    served = cluster(server_assignment=mode, strategy="CONSISTENT_HASH")
    with pytest.raises(UnansweredError, match="brokers do not support CONSISTENT_HASH") as raised:
        plan_snapshot(served, [])
    assert raised.value.outcome is Outcome.REFUSED


def test_a_verb_without_an_answer_says_so_once():
    groups = [
        Group("all", ("T",), (Client("c"),), "BROADCASTING"),
        Group("lost", ("T",), (Client("c"),), strategy="AVG", unknown={"clients": "why"}),
    ]
    whole = known(Snapshot((TOPIC,), tuple(groups)))
    found = whole.decisions(Verb.COMPARE)
    assert found.worst is Outcome.LEFT_OUT
    with pytest.raises(UnansweredError) as raised:
        found.check()
    assert raised.value.outcome is Outcome.LEFT_OUT
    assert str(raised.value).startswith(
        "no group can be planned: left out: all: all its clients read every queue (BROADCASTING); "
        "left out: lost: its client list is not known (why); the output of consumerConnection"
    )
    accepted = known(whole.given, allow_partial=True).decisions(Verb.COMPARE)
    assert accepted.worst is Outcome.NOT_DIVIDED
    assert [*accepted.warnings()][1] == (
        "lost: its client list is not known (why): answered with the known clients"
    )


def test_topics_that_only_a_client_subscribes_to_are_planned():
    topics = TOPIC, Topic("U", (TopicBroker("b", 2),))
    clients = Client("c1", subscriptions=("T", "U")), Client("c2", subscriptions=("T",))
    whole = Snapshot(topics, (Group("g", ("T",), clients, strategy="AVG"),))
    queues = plan_snapshot(whole, []).queues.to_pylist()
    owners = {(row["topic"], row["queue_id"]): row["owner_before"] for row in queues}
    assert {queue: owners[queue] for queue in [("U", 0), ("U", 1)]} == {
        ("U", 0): "c1",
        ("U", 1): None,
    }


def test_plans_of_what_is_known_in_part_are_planned_again_so():
    lost = Known.of(cluster(unknown={"clients": "why"}))
    with pytest.raises(UnansweredError):
        plan_snapshot(lost, [])
    made = plan_snapshot(known(lost.given, allow_partial=True), [])
    assert made.inputs.to_data()["allowPartial"] is True
    again = plan_snapshot(made.inputs.known, [])
    assert again.queues.equals(made.queues)
