"""A real cluster of two brokers, of which one is frozen by SIGSTOP, with a thousand groups."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from broker_admin import make_groups
from live_cluster import BROKERS, LiveCluster
from live_consumers import Consumers
from live_proofs import make_topic, wait_for

from clusters.badday.runs import Taken, snapshot
from rmqalloc.snapshot.live._take import Wanted, take_snapshot

GROUPS, REAL, MEMBERS = 1000, 3, 2
TOPIC = "badday-orders"


@contextmanager
def frozen(cluster: LiveCluster, name: str) -> Iterator[None]:
    """Stop a broker as a machine that hangs: its connections stay open, and nothing answers."""
    pid = int((Path(cluster.home) / f"{name}.pid").read_text(encoding="utf-8"))
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def thousand(cluster: LiveCluster) -> list[Taken]:
    """Snapshots of all groups, with both brokers and with one."""
    names = [f"badday-{i:04}" for i in range(GROUPS)]
    with Consumers(cluster.name_server) as java:
        make_topic(cluster, java, TOPIC, 8)
        for address in cluster.running.values():
            make_groups(address, names)
        for group in names[:REAL]:
            for member in range(MEMBERS):
                java.join(group, f"{group}-m{member}", [TOPIC], strategy="AVG")
        wait_for(lambda: _is_ready(cluster), "all consumers own queues")
        both = snapshot("both brokers answer", cluster.name_server)
        with frozen(cluster, BROKERS[1]):
            one = snapshot("one broker frozen", cluster.name_server)
            bounded = snapshot(
                "one broker frozen, deadline 8 s", cluster.name_server, deadline="8s"
            )
        java.leave_all()
    assert (both.code, both.missing) == (0, {}), both
    for taken in (one, bounded):
        assert taken.code == 4 and f"broker {BROKERS[1]}" in taken.missing, taken
    # A client that waits for the frozen broker itself, to learn its offsets, may be silent; then it
    # is named.
    assert one.groups >= GROUPS and one.clients == REAL * MEMBERS, one
    assert one.told + one.missing.get(f"broker {BROKERS[0]}", 0) >= one.clients, one
    return [both, one, bounded]


def _is_ready(cluster: LiveCluster) -> bool:
    found = take_snapshot(
        [cluster.name_server], wanted=Wanted((f"badday-000[0-{REAL - 1}]",), lag=False)
    )
    return [len(one.clients) for one in found.groups] == [MEMBERS] * REAL and not found.errors
