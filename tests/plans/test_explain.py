"""Why a client owns a queue: the reasons come to the owner that the strategy names."""

import json
import shlex
from random import Random

import plan_snapshots
import pytest
from bruteforce import mixed_cases
from checkout import ROOT
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis_budget import examples

from rmqalloc import MessageQueue
from rmqalloc.cli import main
from rmqalloc.evidence import UnansweredError
from rmqalloc.plans import plan_snapshot
from rmqalloc.plans._explain import explain
from rmqalloc.snapshot.plain_data import from_document, to_document
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker

SEED = ROOT / "examples" / "snapshots" / "seed.yaml"


@examples(150)
@given(st.data())
def test_the_reasons_come_to_the_owner(data):
    snapshot = data.draw(plan_snapshots.snapshots(rooms=True))
    plan = plan_snapshot(snapshot, [])
    queues = plan.queues.to_pylist()
    row = data.draw(st.sampled_from(queues))
    names = row["consumer_group"], row["topic"], row["broker_name"], row["queue_id"]
    found = explain(snapshot, *names)
    unit = next(u for u in plan.units.to_pylist() if (u["consumer_group"], u["topic"]) == names[:2])
    assert found.owner == row["owner_after"]
    assert (found.n_queues, found.n_clients, found.strategy) == (
        unit["n_queues"],
        unit["n_clients"],
        unit["strategy"],
    )
    [group] = [one for one in snapshot.groups if one.name == names[0]]
    told = owner_told(found, sorted(group.client_ids, key=lambda one: one.encode("utf-16-be")))
    assert told == row["owner_after"]
    assert json.loads(json.dumps(found.to_dict()))["owner"] == found.owner


def owner_told(found, client_ids):
    """The owner that the facts alone come to."""
    facts, n_clients = found.facts, client_ids
    if "inner" in facts:
        inside = plan_snapshots.drawn_units.room_of
        members = [one for one in client_ids if inside(one) == facts["machine_room"]] or client_ids
        facts, n_clients = facts["inner"], members
    if "hit" in facts:
        return facts["hit"]["client_id"]
    if "client_place" not in facts or "repeated_at" in facts:
        return None
    return n_clients[facts["client_place"]]


def little(n_queues=5, strategy="AVG", clients=("c1", "c2"), broker="b", **params):
    topic = Topic("T", (TopicBroker(broker, n_queues),))
    group = Group(
        "g", ("T",), tuple(map(Client, clients)), strategy=strategy, strategy_params=params
    )
    return Snapshot((topic,), (group,))


@pytest.mark.parametrize(
    ("snapshot", "queue_id", "owner", "steps"),
    [
        (
            little(),
            2,
            "c1",
            [
                "5 queues = 2 clients × 2 + 1: each client takes 2, and the first client takes 1 more",
                "client c1 is client number 0 (from 0) and starts at queue number 0 × 2 + 0 = 0: "
                "it takes queues 0 to 2, including this queue",
            ],
        ),
        (
            little(strategy="AVG_BY_CIRCLE"),
            3,
            "c2",
            ["the queue is number 3 of 5 (from 0): 3 mod 2 clients = 1, client c2"],
        ),
        (
            little(4, clients=("x", "x")),
            3,
            None,
            [
                "4 queues = 2 clients × 2 + 0: each client takes 2",
                "client x is client number 1 (from 0) and starts at queue number 1 × 2 + 0 = 2: "
                "it takes queues 2 to 3, including this queue",
                "but client id x is listed more than once, and all clients with this id look up number 0: "
                "no client takes the share of number 1",
            ],
        ),
        (
            little(strategy="MACHINE_ROOM", machine_rooms=["hz"], broker="hz@b"),
            4,
            "c1",
            [
                "of 5 queues 5 are in the machine rooms hz, and this queue is number 4 of these (from 0)",
                "each client takes 2 of these, and the queues from number 4 on go to one client each: 4 − 4 = 0, client c1",
            ],
        ),
        (
            little(strategy="MACHINE_ROOM", machine_rooms=["hz"], broker="sh@b"),
            4,
            None,
            ["broker sh@b is in machine room sh, and only queues of hz are consumed"],
        ),
        (
            little(strategy="CONSISTENT_HASH", virtual_nodes=0),
            0,
            None,
            [
                "the queue's key is 'MessageQueue [topic=T, brokerName=b, queueId=0]', its hash 562,732,085",
                "the ring has no points, because there are 0 virtual nodes: no client owns a queue",
            ],
        ),
    ],
)
def test_the_sums_are_told_with_their_numbers(snapshot, queue_id, owner, steps):
    broker = snapshot.topics[0].brokers[0].broker_name
    found = explain(snapshot, "g", "T", broker, queue_id)
    assert (found.owner, list(found.steps)) == (owner, steps)
    assert found.queue == MessageQueue("T", broker, queue_id)


def test_a_room_without_clients_is_shared_by_all():
    topic = Topic("T", (TopicBroker("b", 2, machine_room="sh"),))
    group = Group(
        "g", ("T",), (Client("c1", "hz"), Client("c2", "hz")), strategy="MACHINE_ROOM_NEARBY-AVG"
    )
    found = explain(Snapshot((topic,), (group,)), "g", "T", "b", 1)
    assert (
        found.steps[0]
        == "broker b is in machine room sh; no client is in this machine room, so all 2 clients divide its 2 queues"
    )
    assert found.owner == "c2"


@pytest.mark.parametrize("other", ["MACHINE_ROOM_NEARBY-AVG", "MACHINE_ROOM_NEARBY-AVG_BY_CIRCLE"])
def test_a_broker_stands_in_the_room_that_the_topic_explained_gives_it(other):
    topics = tuple(
        Topic(name, (TopicBroker("b", 2, machine_room=room),))
        for name, room in (("T", "hz"), ("U", "sh"))
    )
    clients = Client("c1", "hz", strategy=other), Client("c2", "sh")
    group = Group(
        "g", ("T", "U"), clients, strategy="MACHINE_ROOM_NEARBY-AVG", strategy_source="given"
    )
    snapshot = Snapshot(topics, (group,))
    assert [explain(snapshot, "g", topic, "b", 0).owner for topic in "TU"] == ["c1", "c2"]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("h", "T", "b", 0), "no consumer group matches 'h'"),
        (("g", "U", "b", 0), "no topic matches 'U'"),
        (("g", "T", "c", 0), "topic 'T' is not on broker 'c'; it is on b"),
        (("g", "T", "b", 5), "topic 'T' has queues 0 to 4 on 'b', not 5"),
    ],
)
def test_what_is_not_there(names, said):
    with pytest.raises(ValueError, match=said):
        explain(little(), *names)


def test_what_cannot_be_explained():
    other = Snapshot((*little().topics, Topic("U")), little().groups)
    with pytest.raises(ValueError, match="group 'g' does not subscribe to topic 'U'"):
        explain(other, "g", "U", "b", 0)
    shared = Snapshot(little().topics, (Group("g", ("T",), server_assignment="POP"),))
    with pytest.raises(UnansweredError, match=r"g: brokers let it pop messages \(POP\), so no"):
        explain(shared, "g", "T", "b", 0)
    with pytest.raises(UnansweredError, match="g: it has no client"):
        explain(little(clients=()), "g", "T", "b", 0)
    with pytest.raises(ValueError, match=r"has 2,147,483,647 queues; at most"):
        explain(little(2**40), "g", "T", "b", 0)
    with pytest.raises(ValueError, match=r"has 4,000,000,000 points on its ring; at most"):
        explain(little(strategy="CONSISTENT_HASH", virtual_nodes=2 * 10**9), "g", "T", "b", 0)


@examples(30)
@given(st.integers(0, 2**32))
def test_owners_of_groups_whose_clients_differ_are_those_of_the_plan(seed):
    snapshot = from_document(mixed_cases.case(Random(seed)))
    try:
        plan = plan_snapshot(snapshot, [])
    except UnansweredError:
        assume(False)
    # Plans start from the owners that clients report, and of shared queues nobody is the owner.
    explained = {
        group.name
        for group in snapshot.groups
        if group.message_model == "CLUSTERING"
        and all(client.owned is None for client in group.clients)
    }
    rows = [row for row in plan.queues.to_pylist() if row["consumer_group"] in explained]
    assume(rows)
    for row in rows:
        names = row["consumer_group"], row["topic"], row["broker_name"], row["queue_id"]
        found = explain(snapshot, *names)
        if found.known != "computed":
            continue  # a plan has the owners of the outcome, whatever is reported
        surely = [owner for owner in (found.owner, *found.others) if owner is not None]
        planned = [owner for owner in (row["owner_after"], *(row["others_after"] or ())) if owner]
        assert set(surely) <= set(planned), names  # a plan names those that perhaps take it, too
        assert bool(surely) == bool(planned), names


def test_a_queue_of_nobody_and_one_of_two_are_explained_view_by_view():
    clients = (Client("c1"), Client("c2", strategy="AVG_BY_CIRCLE"), Client("c3"))
    snapshot = Snapshot(
        (Topic("T", (TopicBroker("b", 12),)),), (Group("g", ("T",), clients, strategy="AVG"),)
    )
    both, nobody = (explain(snapshot, "g", "T", "b", one) for one in (1, 5))
    assert (both.owner, both.others, both.strategy) == ("c1", ("c2",), "AVG+AVG_BY_CIRCLE")
    assert str(both).endswith("So clients c1 and c2 own it.")
    assert (nobody.owner, nobody.others) == (None, ())
    assert [one["gives_to"] for one in nobody.facts["views"]] == ["c2", "c3"]
    assert str(nobody).endswith("So no client owns it.")
    assert (
        "so client c3 would take it, but that client has another view: no client takes it"
        in str(nobody)
    )
    with pytest.raises(ValueError, match="topic 'T' has queues 0 to 11 on 'b', not 12"):
        explain(snapshot, "g", "T", "b", 12)
    assert explain(snapshot, "g", "T", "b", 1, "AVG").others == ()


# --- rmqalloc explain ---


@pytest.fixture
def run(capsys):
    def run(line, snapshot=SEED):
        code = main(["explain", "-f", str(snapshot), *shlex.split(line)])
        return code, *capsys.readouterr()

    return run


def test_a_point_of_the_ring(run):
    code, out, err = run("-g by-ring -t TopicTest --queue broker-b:3")
    assert (code, err) == (0, "")
    assert out == (
        "Group by-ring  topic TopicTest  queue broker-b:3  CONSISTENT_HASH\n"
        "It is queue number 11 of 24 (from 0) in Java's sort order; 4 clients.\n"
        "  1. the queue's key is 'MessageQueue [topic=TopicTest, brokerName=broker-b, queueId=3]', its hash\n"
        "     4,140,580,766\n"
        "  2. 4 clients × 10 virtual nodes = 40 points; the first at or after it is 4,192,394,555,\n"
        "     10.0.0.12@1009#4\n"
        "  3. its neighbours: 4,004,033,722, 10.0.0.11@1009#1, and 4,239,989,832, 10.0.0.11@1009#2\n"
        "So client 10.0.0.12@1009 owns it.\n"
    )


def test_for_programs_and_by_another_strategy(run):
    code, out, _ = run("-g by-ring -t TopicTest --queue broker-b:3 -s AVG -o json")
    found = json.loads(out)
    assert (code, found["owner"], found["strategy"]) == (0, "10.0.0.11@1009", "AVG")
    assert found["facts"] == {"size": 6, "extra": 0, "client_place": 1, "first": 6, "length": 6}
    assert (
        "640 points" in run("-g by-ring -t TopicTest --queue broker-b:3 -s CONSISTENT_HASH:160")[1]
    )


def test_nobody_and_names_made_harmless(run, tmp_path):
    path = tmp_path / "s.json"
    path.write_text(json.dumps(to_document(little(4, clients=("x\x1b[2J", "x\x1b[2J")))))
    code, out, _ = run("-g g -t T --queue b:3", path)
    assert code == 0
    assert out.endswith("So no client owns it.\n")
    assert "\x1b" not in out


def test_a_queue_may_name_its_topic(run):
    found = run("-g by-ring --queue TopicTest/broker-b:3")
    assert found[0] == 0
    assert found == run("-g by-ring -t TopicTest --queue broker-b:3")


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("--queue b:1", 64, "explain needs the names of one group (-g) and one topic (-t, "),
        ("-g by-ring -g by-average -t T --queue b:1", 64, "explain needs the names of one group"),
        ("-g by-ring -t TopicTest", 64, "Missing option '--queue'"),
        pytest.param(
            "-g by-ring -t TopicTest --queue broker-a",
            64,
            "'broker-a' is not a queue: give ID, BROKER:ID or TOPIC/BROKER:ID",
            id="--queue broker-a",
        ),
        ("-g by-ring -t TopicTest --queue broker-a:1 -s AVERAGE", 64, "did you mean AVG?"),
        pytest.param(
            "-g by-ring -t TopicTest --queue broker-a:1 -s AVG:3",
            64,
            "'AVG:3' is neither NAME, nor CONSISTENT_HASH:N",
            id="-s AVG:3",
        ),
        pytest.param(
            "-g by-ring -t TopicTest --queue broker-a:1 -s CONSISTENT_HASH:x",
            64,
            "is not NAME:N, such as CONSISTENT_HASH:160",
            id="-s CONSISTENT_HASH:x",
        ),
        (
            "-g by-ring -t TopicTest --queue 1",
            64,
            "explain needs the broker",
        ),
        ("-g 'by-*' -t TopicTest --queue broker-a:1", 1, "no consumer group matches 'by-*'"),
        pytest.param(
            "-g by-ring -t Topictest --queue broker-a:1",
            1,
            "no topic matches 'Topictest'; near it is 'TopicTest'",
            id="-t Topictest",
        ),
        pytest.param(
            "-g by-rings -t TopicTest --queue broker-a:1",
            1,
            "no consumer group matches 'by-rings'; near it are 'by-ring'",
            id="-g by-rings",
        ),
        pytest.param(
            "-g by-ring -t TopicTest --queue broker-a:9",
            1,
            "has queues 0 to 7 on 'broker-a', not 9",
            id="--queue broker-a:9",
        ),
        pytest.param(
            "-g by-ring -t TopicTest --queue broker-a:1 -s MACHINE_ROOM_NEARBY-AVG",
            1,
            "Machine room is null for mq",
            id="-s MACHINE_ROOM_NEARBY-AVG",
        ),
    ],
)
def test_a_slip_is_told(run, line, code, said):
    found, out, err = run(line)
    assert (found, out) == (code, "")
    assert said in err
