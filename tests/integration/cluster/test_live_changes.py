"""Changes that are planned first and then really made: owners become as predicted; and mqadmin's
prediction beside ours.
"""

import json

import pytest
from live_cluster import mqadmin
from live_proofs import assigned, make_topic, owned_by_java, settled, wait_for

from rmqalloc import MessageQueue, sort_client_ids, sort_queues, strategy
from rmqalloc.cli import main
from rmqalloc.plans import load_plan, plan_snapshot
from rmqalloc.scenarios import RemoveBroker, Scenario, SetQueues

pytestmark = [pytest.mark.cluster, pytest.mark.java]

RULES = {"AVG": strategy("AVG"), "CONSISTENT_HASH": strategy("CONSISTENT_HASH")}
every_rule = pytest.mark.parametrize("rule", RULES)
MEMBERS = ("p-1", "p-2", "p-3")


def gathered(cluster, java, group, topic, rule, tally):
    """A topic of ten queues and a group of three clients that has settled."""
    make_topic(cluster, java, topic, 5)
    for member in MEMBERS:
        java.join(group, member, [topic], strategy=rule)
    return settled(cluster, [java], group, len(MEMBERS), assigned(RULES[rule]), tally)


def predicted(snapshot, change):
    """Owners of every queue after a change, as planned of a snapshot."""
    rows = plan_snapshot(snapshot, [Scenario("change", [change])]).queues.to_pylist()
    return {
        MessageQueue(row["topic"], row["broker_name"], row["queue_id"]): row["owner_after"]
        for row in rows
        if row["scenario"] == "change" and row["change"] != "gone"
    }


def owners_in(java, group):
    return {queue: one for one, queues in owned_by_java([java], group).items() for queue in queues}


@every_rule
def test_a_topic_that_gets_more_queues(cluster, java, tally, rule):
    group, topic = f"expanded-{rule}", f"expanding-{rule}"
    snapshot = gathered(cluster, java, group, topic, rule, tally)
    plan = predicted(snapshot, SetQueues(9, topics=(topic,)))
    make_topic(cluster, java, topic, 9)
    wait_for(lambda: owners_in(java, group) == plan, f"owners of {topic} as planned: {plan}")
    settled(cluster, [java], group, len(MEMBERS), assigned(RULES[rule]), tally)
    assert len(plan) == 18 + 2, "and one of the retry topic on each broker"
    tally.add(
        "queues as planned before the topic got more queues, and as Java owns them then", len(plan)
    )
    java.leave_all()


@every_rule
def test_a_client_that_is_stopped(cluster, java, tally, rule, tmp_path, capsys):
    """By the verbs: plan -n, then the client leaves, then a check of the running cluster against
    the saved plan.
    """
    group, topic = f"less-{rule}", f"lessening-{rule}"
    snapshot = gathered(cluster, java, group, topic, rule, tally)
    stopped = next(one for one in snapshot.groups[0].client_ids if one.endswith("@p-2"))
    saved = str(tmp_path / "plan.json")
    reached = ["-n", cluster.name_server, "-g", group]
    assert main(["plan", *reached, "--remove-client", stopped, "--out", saved]) == 0
    plan = load_plan(saved)
    assert main(["check", *reached]) == 0, capsys.readouterr().out
    assert main(["check", *reached, "--plan", saved]) == 2
    java.leave(group, "p-2")
    settled(cluster, [java], group, 2, assigned(RULES[rule]), tally)
    owners = owners_in(java, group)
    rows = [row for row in plan.queues.to_pylist() if row["scenario"] != "current"]
    planned = {
        MessageQueue(row["topic"], row["broker_name"], row["queue_id"]): row["owner_after"]
        for row in rows
    }
    assert owners == planned and stopped not in owners.values()
    assert main(["check", *reached, "--plan", saved]) == 0, capsys.readouterr().out
    tally.add(
        "queues as planned before a client was stopped, and as Java owns them then", len(planned)
    )
    java.leave_all()


def test_a_broker_that_is_stopped(cluster, java, tally):
    group, topic = "bereft", "bereft-orders"
    snapshot = gathered(cluster, java, group, topic, "AVG", tally)
    plan = predicted(snapshot, RemoveBroker(("sh@broker-b",)))
    cluster.stop_broker("sh@broker-b")
    try:
        wait_for(lambda: owners_in(java, group) == plan, f"owners as planned: {plan}")
        assert {queue.broker_name for queue in plan} == {"hz@broker-a"}
        tally.add(
            "queues as planned before a broker was stopped, and as Java owns them then", len(plan)
        )
    finally:
        cluster.start_broker("sh@broker-b")
        cluster.wait_for_broker("sh@broker-b")
    settled(cluster, [java], group, len(MEMBERS), assigned(RULES["AVG"]), tally)
    java.leave_all()


def test_mqadmin_beside_us_and_the_real_owners(cluster, java, tally):
    """Where the answer of ``mqadmin allocateMQ`` differs from what the clients own, ours does not."""
    group, topic = "beside", "beside-orders"
    snapshot = gathered(cluster, java, group, topic, "AVG", tally)
    # As users have it: ids as a list came to them, in any order.
    client_ids = sorted(snapshot.groups[0].client_ids, reverse=True)
    said = mqadmin(
        cluster, "allocateMQ", "-n", cluster.name_server, "-t", topic, "-i", ",".join(client_ids)
    )
    theirs = {
        MessageQueue(queue["topic"], queue["brokerName"], queue["queueId"]): one
        for one, queues in json.loads(said)["result"].items()
        for queue in queues
    }
    queues = sort_queues(snapshot.topic(topic).queues())
    in_order = sort_client_ids(client_ids)
    ours = {
        queue: in_order[owner]
        for queue, owner in zip(queues, RULES["AVG"].assign(queues, in_order).owners, strict=True)
    }
    real = {queue: one for queue, one in owners_in(java, group).items() if queue.topic == topic}
    assert ours == real
    assert theirs.keys() == real.keys()
    tally.add("queues as Java owns them and the engine answers, beside mqadmin", len(real))
    tally.add(
        "queues of these owned by another client than mqadmin allocateMQ says",
        sum(theirs[q] != real[q] for q in real),
    )
    java.leave_all()
