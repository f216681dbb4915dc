"""Logs of real clients say what the cluster reports, at every moment of a group's life."""

import pytest
from live_consumers import Consumers
from live_proofs import assigned, make_topic, settled, wait_for

from rmqalloc import strategy
from rmqalloc.documents import Source
from rmqalloc.snapshot.files import read_snapshots
from rmqalloc.snapshot.plain_data import SnapshotError

pytestmark = [pytest.mark.cluster, pytest.mark.java]


def logged(group, processes):
    """The group by the logs of processes, one each."""
    sources = []
    for name, process in processes.items():
        text = "\n".join(process.log_lines())
        sources.append(Source(f"{name}.log", text.encode(), SnapshotError))
    groups = {found.name: found for found in read_snapshots(sources)[0].groups}
    return groups[group]


def owned(group):
    return {client.client_id: client.owned for client in group.clients}


@pytest.mark.parametrize(
    ("version", "told"),
    [
        pytest.param("4.9.8", {"strategy": "AVG"}, id="4.9"),
        pytest.param(None, {"strategy": "AVG_BY_CIRCLE", "orderly": True}, id="5.x"),
    ],
)
def test_owners_of_logs_are_those_of_the_cluster(cluster, java, tally, version, told):
    name = f"logged-{version}".replace(".", "-")
    make_topic(cluster, java, name, 4)
    shares, processes = assigned(strategy(told["strategy"])), {}

    def compare(*members):
        live = [processes[member] for member in members]

        def agree():
            snapshot = settled(cluster, live, name, len(members), shares, tally)
            found = logged(name, processes)
            return owned(found) == owned(snapshot.groups[0])

        wait_for(agree, f"logs and cluster say the same of {members}")
        found = logged(name, processes)
        assert {client.strategy for client in found.clients} == {told["strategy"]}
        assert (found.unknown, found.is_ordered) == ({}, "orderly" in told)

    try:
        for member in "abc":
            processes[member] = Consumers(cluster.name_server, version=version)
            processes[member].join(name, member, [name], **told)
            compare(*processes)
        processes["a"].leave(name, "a")
        compare("b", "c")
    finally:
        for process in processes.values():
            process.close()
