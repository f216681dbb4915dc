"""Outputs that are damaged, or contradict each other, are never read in silence: a sample with fixed
seeds. ``python -m fuzz --only silence`` in proofs damages all of them in every place.
"""

from functools import cache

import contradicting_outputs
import pytest
from checkout import DATA
from contradicting_outputs import contradiction
from damaged_outputs import KINDS, given_cases
from printed_outputs import (
    RELEASES,
    PrintedClient,
    PrintedCluster,
    PrintedGroup,
    all_groups,
    allocation,
    connection,
    made_up_cases,
    progress,
    route_json,
    route_table,
    running_info,
    status,
)
from silent_losses import answer, judged, sampled, silent_contradiction

from rmqalloc import MessageQueue

N_DAMAGES = 30
N_CONTRADICTIONS = 8


@cache
def cases():
    return given_cases() | made_up_cases(40, seed=1)


@cache
def undamaged(name):
    return answer(cases()[name])


@pytest.mark.parametrize("kind", KINDS)
def test_no_damage_is_silent(kind):
    wrong = []
    for name, damage in sampled(kind, cases(), N_DAMAGES, seed=1):
        verdict = judged(undamaged(name), damage)
        wrong += [f"{name}, {damage.where}: {fault.kind}: {fault.text}" for fault in verdict.faults]
    assert not wrong, "\n".join(wrong)


NO_CONTRADICTIONS = (
    "owners are those of consumerProgress",
    "several clients run at",
    "the list of all groups shows neither clients nor queues",
    "no group whose outputs are given subscribes to topic",
)


def test_outputs_of_one_moment_contradict_nothing():
    names = [name for name in cases() if name.startswith("made-up/")]
    warnings = [warning for name in names for warning in undamaged(name).warnings]
    assert warnings
    assert [
        text for text in warnings if not any(known in text for known in NO_CONTRADICTIONS)
    ] == []


@pytest.mark.parametrize("kind", contradicting_outputs.KINDS)
def test_no_contradiction_is_silent(kind):
    wrong = []
    for seed in range(N_CONTRADICTIONS):
        found = silent_contradiction(contradiction(kind, seed))
        wrong += [f"seed {seed}: {fault.kind}: {fault.text}" for fault in found]
    assert not wrong, "\n".join(wrong)


# --- Made-up outputs are printed as the tools print them ---

FORMATS = DATA / "mqadmin" / "formats"
RETRY = "%RETRY%order-svc"
NAMES = ("broker-a", "broker-b")


def cluster_of_formats(version, order):
    """The cluster of the files of formats, its clients in one order or the other."""
    clients = []
    for broker, client_id in zip(NAMES, ("10.1.0.11@4121", "10.1.0.12@3982"), strict=True):
        owned = (
            MessageQueue(RETRY, broker, 0),
            MessageQueue("orders", broker, 0),
            MessageQueue("orders", broker, 1),
        )
        clients.append(PrintedClient(client_id, owned, version=version))
    offsets = {MessageQueue(RETRY, broker, 0): (5, 5) for broker in NAMES}
    offsets |= {
        MessageQueue("orders", broker, number): (5 + number, 5)
        for broker in NAMES
        for number in (0, 1)
    }
    group = PrintedGroup("order-svc", ("orders", RETRY), tuple(clients[::order]), offsets)
    brokers = {"broker-a": "127.0.0.1:10911", "broker-b": "127.0.0.1:10912"}
    return PrintedCluster(brokers, {"orders": dict.fromkeys(NAMES, 2)}, (group,), ("audit",))


def printed_files(release, order):
    version = {(3, 2, 6): "V3_2_6", (4, 0, 0): "V4_0_0"}.get(release, "V4_9_3")
    cluster = cluster_of_formats(version, order)
    [group] = cluster.groups
    first = cluster_of_formats("V4_9_3", 1).groups[0].clients[0]
    return {
        "topicRoute.orders.json": route_json(cluster, "orders", release),
        "topicRoute.orders.txt": route_table(cluster, "orders"),
        "consumerConnection.order-svc.txt": connection(group, release),
        "consumerProgress.order-svc.txt": progress(group, release),
        "with-clients/consumerProgress.order-svc.txt": progress(group, release, True),
        "consumerProgress.txt": all_groups(cluster, release),
        "consumerStatus.order-svc.txt": status(group, release),
        "consumerStatus-i.txt": running_info(group, first, release),
    }


@pytest.mark.parametrize("release", RELEASES, ids=lambda release: ".".join(map(str, release)))
def test_made_up_outputs_have_the_form_of_the_release(release):
    folder = FORMATS / ".".join(map(str, release))
    orders = printed_files(release, 1), printed_files(release, -1)
    for name in orders[0]:
        if (folder / name).exists():
            right = (folder / name).read_text().rstrip("\n")
            assert right in [files[name].rstrip("\n") for files in orders], name


def test_made_up_allocations_have_the_form_of_allocate_mq():
    owned = {
        "10.0.0.2": [MessageQueue("orders", "broker-a", 1), MessageQueue("orders", "broker-b", 0)],
        "10.0.0.1": [MessageQueue("orders", "broker-a", 0), MessageQueue("orders", "broker-b", 1)],
    }
    right = (FORMATS / "5.3.3" / "allocateMQ.json").read_text()
    assert allocation(owned).rstrip("\n") == right.rstrip("\n")
