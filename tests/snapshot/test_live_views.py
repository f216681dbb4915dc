"""Real groups whose clients differ, or do not report what they divide by: planned, changed for
real, and compared.
"""

import pytest
from live_consumers import Consumers
from live_proofs import settled
from live_transitions import kept_by_nobody, queues_of, worst_moments
from live_views import (
    FEWER,
    JOINING,
    MIXED,
    PAYMENTS,
    UNEXPLAINED,
    UNNOTICED,
    UNREPORTED,
    carried_out,
    join,
    make_topics,
    real_owners,
    repair,
    shares_of,
    without_notices,
)

from rmqalloc.audit import check_snapshot
from rmqalloc.cli import main
from rmqalloc.plans import load_plan
from rmqalloc.snapshot.files import read_snapshot

pytestmark = [pytest.mark.cluster, pytest.mark.java]


@pytest.fixture(scope="module")
def java(cluster):
    """A process of clients of its own, which is killed: all of them would take a quarter of a
    minute to leave in good order.
    """
    process = Consumers(cluster.name_server)
    yield process
    process.kill()


@pytest.fixture(scope="module", autouse=True)
def topics(cluster, java):
    make_topics(cluster, java)


@pytest.fixture
def run(cluster, capsys, tmp_path):
    """Runs a verb on a group of the cluster: the exit code, what it says on stderr, and the file
    that it writes.
    """

    def run(verb, group, *options):
        saved = str(tmp_path / f"{verb}{len(list(tmp_path.iterdir()))}.json")
        capsys.readouterr()
        out = () if verb == "check" else ("--out", saved)
        code = main([verb, "-n", cluster.name_server, "-g", group, *options, *out])
        return code, capsys.readouterr().err, saved

    return run


@pytest.fixture
def gather(cluster, java, tally):
    """Starts the clients of a group and waits until they own what they should; the id that a
    further client will have.
    """

    def gather(group, clients):
        join(java, group, clients)
        snapshot = settled(cluster, [java], group, len(clients) - 1, shares_of(clients), tally)
        return snapshot.groups[0].client_ids[0].replace("v-1", JOINING)

    return gather


@pytest.fixture
def happens(cluster, java, tally, run):
    """Makes a change for real: owners are as planned before it and after it."""

    def happens(group, saved, change):
        n_queues = len(set(queues_of(cluster, group)))
        outcome = carried_out(cluster, java, group, load_plan(saved), change)
        assert (outcome.n_queues, outcome.before, outcome.after) == (n_queues, set(), set())
        assert run("check", group, "--plan", saved, "--rule", "differs-from-plan")[0] == 0
        tally.add(
            "queues as planned before real changes of groups of many views, and as Java owns them then",
            n_queues,
        )
        return outcome.transition

    return happens


@pytest.fixture
def joins(cluster, java, happens):
    """Lets a further client join, as planned; what is seen meanwhile is possible while clients hear
    of it one by one.
    """

    def joins(group, clients, saved):
        seen = happens(group, saved, lambda: join(java, group, clients, JOINING))
        queues = set(queues_of(cluster, group))
        assert seen.unowned_worst <= kept_by_nobody(seen.before, seen.after, queues)
        assert seen.double_worst <= worst_moments(seen.before, seen.after, queues)[1]
        return seen

    return joins


@pytest.mark.parametrize("group", UNREPORTED)
def test_a_strategy_that_nobody_reports_is_found_and_planned(run, gather, joins, group):
    clients = UNREPORTED[group]
    code, said, saved = run("plan", group, "--add-client", gather(group, clients))
    assert code == 0 and "fitted, explains 100 % of the known owners" in said
    joins(group, clients, saved)
    assert run("check", group)[0] == 0


@pytest.mark.parametrize("group", UNEXPLAINED)
def test_a_strategy_that_nothing_explains_is_refused_with_the_reason(run, gather, group):
    code, said, _ = run("plan", group, "--add-client", gather(group, UNEXPLAINED[group]))
    assert code == 1
    assert "left out: groups whose strategy is in doubt" in said and "AVG explains" in said


def test_a_group_of_two_strategies_and_its_repair(java, run, gather, happens, joins):
    group = "views-mixed"
    client_id = gather(group, MIXED)
    snapshot = read_snapshot(run("snapshot", group)[2])
    found = {one.rule: set(one.queues) for one in check_snapshot(snapshot)}
    real = real_owners(java, group)
    everywhere = {
        queue
        for topic in snapshot.groups[0].subscriptions
        for queue in snapshot.topic(topic).queues()
    }
    assert found["unowned-queue"] == everywhere - real.keys() != set()
    assert "actual-unowned" not in found, "a queue that none should own stands under one rule"
    double = {queue for queue, owners in real.items() if len(owners) > 1}
    assert found["double-owned-queue"] == found["actual-double-owned"] == double != set()

    code, _, saved = run("plan", group, "--add-client", client_id)
    assert code == 0
    joins(group, MIXED, saved)

    code, _, saved = run("plan", group, "--to-strategy", "AVG")
    before, after = load_plan(saved).groups.to_pylist()
    assert code == 0 and before["unowned"] == before["double_owned"] > 0
    assert (after["unowned"], after["double_owned"]) == (0, 0)
    assert run("check", group)[0] == 2

    happens(group, saved, lambda: repair(java, group))
    assert run("check", group)[0] == 0


def test_a_client_that_subscribes_to_fewer_topics(run, gather, joins):
    group = "views-fewer"
    code, _, saved = run("plan", group, "--add-client", gather(group, FEWER))
    unowned = {
        (one["scenario"], one["topic"]): one["unowned"]
        for one in load_plan(saved).units.to_pylist()
    }
    assert code == 0 and unowned["current", PAYMENTS] > 0
    joins(group, FEWER, saved)


def test_what_a_group_goes_through_whose_clients_hear_of_nothing(cluster, java, run, gather, joins):
    """Without notices each client learns of a change when it rebalances next, which all do once a
    second.

    Which of them are first is chance: queues are without an owner or have two, and rarely neither.
    All of it must be possible.
    """
    group = "views-unnoticed"
    without_notices(cluster, java, group)
    _, _, saved = run("plan", group, "--add-client", gather(group, UNNOTICED))
    joins(group, UNNOTICED, saved)
