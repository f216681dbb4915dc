"""What a snapshot of a real cluster says where it is easily wrong: strategies not told, queues
popped, masters gone.
"""

import contextlib

import pytest
from live_cases import (
    DIVIDED,
    GONE,
    PLAIN_KINDS,
    QUEUES,
    TOPIC,
    join_divided,
    join_plain,
    join_popping,
    lose_master,
    plain_group,
    slaves_of,
    start_pair,
    wait_until,
)
from live_cluster import LiveCluster
from live_consumers import CLIENTS, Consumers
from live_proofs import make_topic, wait_for

from rmqalloc.audit import check_snapshot
from rmqalloc.cli import main
from rmqalloc.evidence import with_strategies
from rmqalloc.plans import plan_snapshot
from rmqalloc.snapshot.live._take import Wanted, take_snapshot

pytestmark = [pytest.mark.cluster, pytest.mark.java]

ALL_QUEUES = 2 * QUEUES + 2
"""Of the topic on two brokers, and one of the retry topic on each."""


@pytest.fixture(scope="module", autouse=True)
def topic(cluster, java):
    make_topic(cluster, java, TOPIC, QUEUES)


def n_owned(group):
    return sum(len(client.owned or ()) for client in group.clients)


def rules_of(snapshot):
    return {one.rule for one in check_snapshot(snapshot)}


def test_strategies_are_those_that_clients_tell_and_nothing_else(cluster, java):
    join_divided(cluster, java)
    snapshot = wait_until(
        cluster,
        ("evidence-*",),
        lambda s: [n_owned(one) for one in s.groups] == [ALL_QUEUES] * len(DIVIDED),
        "all owned",
    )
    assert {group.name for group in snapshot.groups} == DIVIDED.keys()
    for group in snapshot.groups:
        assert {client.strategy for client in group.clients} == {DIVIDED[group.name].reports}, (
            group.name
        )
        assert (group.strategy, group.strategy_source, group.is_shared) == (None, None, False)
        assert group.server_assignment is None
    assert {one.broker_name: (one.address, one.role) for one in snapshot.brokers} == {
        name: (address, "MASTER") for name, address in cluster.brokers.items()
    }
    known = {one.name: one for one in with_strategies(snapshot).groups}
    ring, circle = known["evidence-circle-of-160"], known["evidence-anonymous"]
    # Client ids bear this machine's address, and for some the ring of 128 gives all queues the same
    # owner: then that is said.
    if ring.strategy_doubt is None:
        assert (ring.strategy_params, ring.strategy_source) == ({"virtual_nodes": 160}, "fitted")
    else:
        assert "alike" in ring.strategy_doubt
    assert (circle.strategy, circle.strategy_source, circle.strategy_doubt) == (
        "AVG_BY_CIRCLE",
        "fitted",
        None,
    )
    assert known["evidence-reversed"].strategy_source == "assumed"
    assert known["evidence-reversed"].strategy_doubt is not None
    assert "strategy-assumed" in {
        one.rule for one in check_snapshot(snapshot, ["evidence-reversed"])
    }
    planned_owners_are_real(snapshot, {"evidence-anonymous"})
    java.leave_all()


def planned_owners_are_real(snapshot, least):
    """What is planned at all begins with the owners that clients really have."""
    plan = plan_snapshot(
        snapshot, [{"name": "one less", "changes": [{"remove_clients": {"count": 1}}]}]
    )
    owners = {
        (group.name, *queue): client.client_id
        for group in snapshot.groups
        for client in group.clients
        for queue in client.owned
    }
    rows = [row for row in plan.queues.to_pylist() if row["scenario"] == "one less"]
    assert {row["consumer_group"] for row in rows} >= least
    for row in rows:
        queue = row["consumer_group"], row["topic"], row["broker_name"], row["queue_id"]
        assert row["owner_before"] == owners[queue]


def test_a_group_that_pops_is_one_whatever_its_clients_happen_to_pop(cluster, java):
    """Also before any queue is popped and if no client is asked; not if they divide the queues in
    spite of the setting.
    """
    join_popping(cluster, java, "evidence-pop")
    first = take_snapshot(
        [cluster.name_server], wanted=Wanted(("evidence-pop",), lag=False)
    ).groups[0]
    assert (first.server_assignment, first.pop_share_queue_num) == ("POP", 2)
    unasked = Wanted(("evidence-pop",), lag=False, running_info=False)
    (blind,) = take_snapshot([cluster.name_server], wanted=unasked).groups
    assert (blind.server_assignment, {client.owned for client in blind.clients}) == ("POP", {None})
    join_popping(cluster, java, "evidence-undivided", server_assignment=False)
    snapshot = wait_until(
        cluster, ("evidence-undivided",), lambda s: n_owned(s.groups[0]) == ALL_QUEUES, "all owned"
    )
    assert snapshot.groups[0].server_assignment is None
    assert rules_of(snapshot) == set()
    java.leave_all()


@pytest.mark.parametrize("release", CLIENTS)
def test_consumers_that_pull_need_not_tell_what_they_own(cluster, release):
    with Consumers(cluster.name_server, project=CLIENTS[release], program="Plain") as process:
        join_plain(process, release)
        pull = plain_group(release, "pull")
        wait_for(
            lambda: (
                process.do("owns", instance=f"{pull}-e-1")
                and process.do("owns", instance=f"{pull}-e-2")
            ),
            "both consumers that pull have queues",
        )
        known = release >= "5"
        groups = tuple(plain_group(release, kind) for kind in PLAIN_KINDS)
        told = {
            name: known if tells is None else tells
            for name, tells in zip(groups, PLAIN_KINDS.values(), strict=True)
        }

        def is_settled(one):
            tell = all(n_owned(group) >= 2 * QUEUES * told[group.name] for group in one.groups)
            # A client that has just joined may not answer yet, while the other still has all
            # queues.
            tell = tell and all(
                client.owned is not None for g in one.groups if told[g.name] for client in g.clients
            )
            return tell and "actual-unowned" not in rules_of(one)

        snapshot = wait_until(cluster, groups, is_settled, "who tells what it owns has all")
        assert len(snapshot.groups) == len(groups) and not snapshot.errors
        for group in snapshot.groups:
            assert {client.owned is not None for client in group.clients} == {told[group.name]}, (
                group.name
            )
            assert {client.strategy for client in group.clients} == {"AVG"}


def test_a_slave_whose_master_is_gone(cluster, java, capsys):
    group, topic = "evidence-bereft", "evidence-bereft-orders"
    with contextlib.ExitStack() as stack:
        start_pair(cluster)
        stack.callback(
            lambda: "pair-slave" in cluster.brokers and cluster.kill_broker("pair-slave")
        )
        slave = cluster.brokers["pair-slave"]
        lose_master(cluster, java, group, topic)
        told = ("-n", cluster.name_server, "-g", group)
        assert main(["snapshot", *told, "--out", "/dev/null"]) == 0
        assert (
            f"broker {GONE} has no master; its slave {slave}, was read" in capsys.readouterr().err
        )
        snapshot = take_snapshot([cluster.name_server], wanted=Wanted((group,)))
        assert slaves_of(snapshot) == [GONE]
        assert [(one.address, one.role) for one in snapshot.brokers if one.broker_name == GONE] == [
            (slave, "SLAVE")
        ]
        findings = {one.rule: one for one in check_snapshot(snapshot)}
        queues = set(snapshot.topic(topic).queues())
        for rule in ("no-master", "ordered-lock-holder-gone"):
            assert queues <= set(findings[rule].queues), rule
        # A slave need not have copied any offset yet.
        told = {lag.queue for lag in snapshot.groups[0].lags if lag.queue.broker_name == GONE}
        assert told == set(
            findings["lag-from-slave"].queues if "lag-from-slave" in findings else ()
        )
        java.leave_all()


def test_a_cluster_that_has_nothing(tmp_path, capsys):
    """A name server alone, as one that has just started; every verb that fetches says so and fails."""
    empty = LiveCluster(tmp_path / "empty")
    try:
        empty.start_name_server()
        for verb in (["snapshot"], ["check"], ["plan", "--scale", "2"]):
            assert main([*verb, "-n", empty.name_server]) == 1, verb
            said = capsys.readouterr()
            assert (
                said.out == ""
                and f"{empty.name_server} knows no broker, so there is nothing to read" in said.err
            )
    finally:
        empty.stop()


def test_a_pattern_that_nothing_matches(cluster, capsys):
    for verb in (["snapshot"], ["check"]):
        for option, what in (("-g", "consumer group"), ("-t", "topic")):
            assert main([*verb, "-n", cluster.name_server, option, "no-such-*"]) == 1, (
                verb,
                option,
            )
            said = capsys.readouterr()
            assert said.out == "" and f"no {what} matches 'no-such-*'" in said.err
