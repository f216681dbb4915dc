"""What is played: the long form on each release, other strategies, and the quick form."""

from __future__ import annotations

import strategy_programs
from live_cluster import LiveCluster
from live_consumers import QUICK, Consumers

from clusters.beside_java.page import Section, section
from clusters.beside_java.play import JAVA_KEPT, JAVA_VICTIM, PYTHON_KEPT, PYTHON_VICTIM, Play
from clusters.beside_java.stage import Group, Stage

SERVERS = {"4.9.8": "4.9.7", "5.5.0": None}
"""Servers for the clients of a release; those of 4.9.8 are not on Maven Central."""
GROUPS = tuple(
    Group(f"{name.lower().replace('_', '-')}{'-in-order' * in_order}", name, in_order)
    for name in ("AVG", "CONSISTENT_HASH")
    for in_order in (False, True)
)
OTHERS = tuple(
    Group(name.lower().replace("_", "-").replace("/", "-"), name)
    for name in ("AVG_BY_CIRCLE", "MACHINE_ROOM_NEARBY", "ORDINAL/1", "STABLE/1")
)
QUICK_GROUPS = (
    Group("quick-avg", "AVG"),
    Group("quick-hash", "CONSISTENT_HASH"),
    Group("quick-order", "AVG", True),
)
PER_BROKER, MORE, PER_SECOND = 6, 2, 100
BULK = 450_000


def of_release(release: str) -> Section:
    """Everything that can happen, with clients of a release, under AVG and CONSISTENT_HASH, in
    order and not.
    """
    clients = release if SERVERS[release] is not None else None
    with (
        LiveCluster(options=(), version=SERVERS[release]) as cluster,
        Consumers(cluster.name_server, QUICK, version=clients) as sender,
        Stage(cluster, GROUPS, "beside", PER_BROKER, clients) as stage,
    ):
        play = Play(stage, sender, PER_SECOND)
        join_and_leave(play)
        play.killed_and_back(JAVA_VICTIM, "Java process")
        play.killed_and_back(PYTHON_VICTIM, "Python process")
        play.queues_added(MORE)
        play.broker_restarted()
        play.broker_frozen()
        play.frozen_and_back(JAVA_VICTIM, "Java process")
        play.frozen_and_back(PYTHON_VICTIM, "Python process")
        play.bulk(BULK, (JAVA_KEPT, "hz-java-6"), "sh-python-3")
        played = play.end(release)
    servers = f", servers {SERVERS[release]}" if SERVERS[release] else ""
    return section(played, f"Clients of {release}{servers}")


def strategies() -> Section:
    """Joins, leaves and kills under other strategies, two of them rmqalloc's own."""
    with (
        LiveCluster(options=()) as cluster,
        Consumers(cluster.name_server) as sender,
        Stage(
            cluster, OTHERS, "beside", PER_BROKER, classes=strategy_programs.tested_java()
        ) as stage,
    ):
        play = Play(stage, sender, PER_SECOND)
        join_and_leave(play)
        play.killed_and_back(JAVA_VICTIM, "Java process")
        play.killed_and_back(PYTHON_VICTIM, "Python process")
        play.bulk(BULK // 4, (JAVA_KEPT, "hz-java-6"), "sh-python-3")
        played = play.end("5.5.0")
    return section(played, "Other strategies, 5.5.0")


def join_and_leave(play: Play) -> None:
    """Members of both kinds join and leave."""
    play.begin(
        {
            JAVA_KEPT: ["hz-java-0"],
            JAVA_VICTIM: ["sh-java-1"],
            PYTHON_KEPT: ["hz-python-2", "sh-python-3"],
            PYTHON_VICTIM: ["hz-python-4"],
        }
    )
    play.join(JAVA_KEPT, "sh-java-5", "Java member joins")
    play.leave("sh-java-5", "Java member leaves")
    play.join(PYTHON_KEPT, "sh-python-7", "Python member joins")
    play.leave("sh-python-7", "Python member leaves")


def quick() -> Section:
    """A few events with members that look around every second; nothing expires."""
    with LiveCluster() as cluster, Consumers(cluster.name_server) as sender:
        return quick_on(cluster, sender)


def quick_on(cluster: LiveCluster, sender: Consumers, suffix: str = "") -> Section:
    """The quick form on a cluster that runs; names of the topic and the groups end with ``suffix``."""
    groups = [group._replace(name=f"{group.name}{suffix}") for group in QUICK_GROUPS]
    with Stage(cluster, groups, f"beside-quick{suffix}", 4, is_quick=True) as stage:
        play = Play(stage, sender, PER_SECOND)
        play.begin({JAVA_KEPT: ["hz-java-0"], PYTHON_KEPT: ["sh-python-1"]})
        play.join(PYTHON_KEPT, "hz-python-2", "Python member joins")
        play.leave("hz-java-0", "Java member leaves")
        play.join(JAVA_KEPT, "sh-java-3", "Java member joins")
        play.leave("sh-python-1", "Python member leaves")
        play.kill(PYTHON_KEPT, "Python process killed (kill -9)")
        played = play.end("5.5.0")
    return section(played, "A few events, 5.5.0, members that look around every second")
