"""A group of a running cluster, simulated: before the first event queues have the owners that they
have among real clients.
"""

import json

import pytest
from live_proofs import assigned, make_topic, settled

from rmqalloc import strategy
from rmqalloc.cli import main
from rmqalloc.model import RETRY_PREFIX
from rmqalloc.simulation import script_of_snapshot, simulate

pytestmark = [pytest.mark.cluster, pytest.mark.java]

TOPIC, QUEUES, N_CLIENTS = "simulated-orders", 6, 3
RULES = ("AVG", "AVG_BY_CIRCLE", "CONSISTENT_HASH")


@pytest.fixture(scope="module", autouse=True)
def topic(cluster, java):
    make_topic(cluster, java, TOPIC, QUEUES)


def simulated_owners(snapshot, group):
    """Owners when the first event begins."""
    script = script_of_snapshot(snapshot, group, ["pause lasts=1s"])
    at = script.course().begin
    of = simulate(script).ownerships[0]
    spans = of.intervals
    alive = [i for i in range(len(spans.queue)) if spans.start[i] < at <= spans.end[i]]
    return {of.queues[spans.queue[i]]: of.client_ids[of.processes[i]] for i in alive}


@pytest.mark.thorough
@pytest.mark.parametrize("rule", RULES)
def test_simulated_owners_are_those_of_java(cluster, java, tally, rule):
    group = f"simulated-{rule}"
    for i in range(N_CLIENTS):
        java.join(group, f"pod-{i}", [TOPIC], strategy=rule)
    snapshot = settled(cluster, [java], group, N_CLIENTS, assigned(strategy(rule)), tally)
    real = {
        queue: client.client_id
        for client in snapshot.groups[0].clients
        for queue in client.owned
        if not queue.topic.startswith(RETRY_PREFIX)
    }
    assert len(real) == QUEUES * len(cluster.running)
    assert simulated_owners(snapshot, group) == real
    tally.add("queues with the owner that a simulation gives them", len(real))
    java.leave_all()


@pytest.mark.thorough
def test_the_command_reads_a_running_cluster(cluster, java, tally, capsys):
    group = "simulated-live"
    for i in range(N_CLIENTS):
        java.join(group, f"pod-{i}", [TOPIC], strategy="AVG")
    settled(cluster, [java], group, N_CLIENTS, assigned(strategy("AVG")), tally)
    what = ["--event", "crash", "--seeds", "2", "--rate", "60", "-o", "json"]
    code = main(["simulate", "-n", cluster.name_server, "-g", group, *what])
    out, err = capsys.readouterr()
    assert code == 0, err
    made = json.loads(out)
    sizes = {(row["n_processes"], row["n_queues"]) for row in made["groups"]}
    assert sizes == {(N_CLIENTS, QUEUES * len(cluster.running))}
    assert [row["unowned"] for row in made["events"]] == [0, 0]
    java.leave_all()
