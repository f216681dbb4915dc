"""Groups of a real cluster that are easily read wrong: each is set up here, for the tests and for
`live_evidence`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from live_cluster import LiveCluster
from live_consumers import Consumers
from live_proofs import SETTLES_WITHIN, make_topic, wait_for

from rmqalloc.remoting.client import Remote
from rmqalloc.remoting.read_codes import ReadCode
from rmqalloc.snapshot.live import _answers as answers
from rmqalloc.snapshot.live._take import Wanted, take_snapshot
from rmqalloc.snapshot.snapshot import Snapshot

TOPIC, QUEUES = "evidence-orders", 16
MEMBERS = ("e-1", "e-2", "e-3")
GONE = "gone@broker-c"


class Divided(NamedTuple):
    """A group whose clients divide by a strategy.

    Attributes
    ----------
    told : dict
        What its clients are made with, see ``Member.java``.
    reports : str or None
        The strategy that they then report.
    """

    told: dict[str, Any]
    reports: str | None


DIVIDED = {
    "evidence-circle-of-160": Divided(
        {"strategy": "CONSISTENT_HASH", "virtual_nodes": 160}, "CONSISTENT_HASH"
    ),
    "evidence-reversed": Divided({"strategy": "REVERSED"}, None),
    "evidence-anonymous": Divided({"strategy": "ANONYMOUS_CIRCLE"}, None),
    "evidence-namesake": Divided({"strategy": "NAMESAKE"}, None),
}
PLAIN_KINDS = {"push": True, "lite_pull": None, "lite_assign": None, "pull": False}
"""Kinds of consumers of ``Plain.java`` and whether they tell what they own; None: those of 5.x alone do."""


def join_divided(cluster: LiveCluster, java: Consumers) -> None:
    """The topic, and all groups of `DIVIDED` with three clients each."""
    make_topic(cluster, java, TOPIC, QUEUES)
    for group, one in DIVIDED.items():
        for member in MEMBERS:
            java.join(group, f"{group}-{member}", [TOPIC], **one.told)


def join_popping(cluster: LiveCluster, java: Consumers, group: str, **told: Any) -> None:
    """A group that pops: set so at every broker, and its clients let brokers assign."""
    make_topic(cluster, java, TOPIC, QUEUES)
    for address in cluster.running.values():
        java.do("mode", topic=TOPIC, group=group, broker=address, mode="POP", share=2)
    for member in MEMBERS:
        java.join(
            group,
            f"{group}-{member}",
            [TOPIC],
            **({"strategy": "AVG", "server_assignment": True} | told),
        )


def plain_group(release: str, kind: str) -> str:
    """The group of consumers of one kind and release."""
    return f"evidence-{kind}-{release.replace('.', '_')}"


def join_plain(process: Consumers, release: str, kinds: Sequence[str] = tuple(PLAIN_KINDS)) -> None:
    """Two consumers of every kind, of the release that a process has."""
    for kind in kinds:
        group = plain_group(release, kind)
        for member in MEMBERS[:2]:
            process.do("join", kind=kind, group=group, instance=f"{group}-{member}", topics=[TOPIC])


def start_pair(cluster: LiveCluster, **settings: Any) -> None:
    """A master and a slave of one broker name, beside the brokers that run."""
    more = {"brokerName": GONE, "haSendHeartbeatInterval": 1000, **settings}
    cluster.start_broker("pair-master", **more)
    cluster.wait_for_broker("pair-master")
    cluster.start_broker(
        "pair-slave", **more, brokerId=1, brokerRole="SLAVE", brokerClusterName="live"
    )
    cluster.wait_for_broker("pair-slave")


def lose_master(cluster: LiveCluster, java: Consumers, group: str, topic: str) -> None:
    """An ordered group on the pair, the slave having the topic; then the master dies."""
    java.do("topic", topic=topic, broker=cluster.brokers["pair-master"], read=4)
    for member in MEMBERS[:2]:
        java.join(group, f"{group}-{member}", [topic], strategy="AVG", orderly=True)
    wait_for(lambda: sum(map(len, java.owns(group).values())) >= 4, f"{group} owns all queues")
    slave = cluster.brokers["pair-slave"]
    # A slave copies topics and groups from its master every ten seconds.
    wait_for(lambda: group in asyncio.run(_groups_of(slave)), "the slave knows the group")
    cluster.kill_broker("pair-master")
    wait_until(
        cluster,
        (group,),
        lambda one: GONE in slaves_of(one) and bool(one.groups[0].clients),
        "the slave is seen",
    )


async def _groups_of(address: str) -> dict[str, answers.GroupConfig]:
    """Groups that one broker has settings for."""
    async with Remote([address]) as remote:
        content, _ = await remote.ask(address, ReadCode.GET_ALL_SUBSCRIPTION_GROUP_CONFIG)
        return answers.groups(content)


def slaves_of(snapshot: Snapshot) -> list[str]:
    """Names of brokers of which a slave was asked."""
    return [one.broker_name for one in snapshot.brokers if one.role != "MASTER"]


def wait_until(
    cluster: LiveCluster,
    groups: tuple[str, ...],
    is_so: Callable[[Snapshot], bool],
    what: str,
    lag: bool = False,
) -> Snapshot:
    """The first snapshot in which something is so."""
    deadline = time.monotonic() + SETTLES_WITHIN
    while True:
        snapshot = take_snapshot([cluster.name_server], wanted=Wanted(groups, lag=lag))
        if snapshot.groups and is_so(snapshot):
            return snapshot
        assert time.monotonic() < deadline, (what, snapshot)
        time.sleep(0.3)
