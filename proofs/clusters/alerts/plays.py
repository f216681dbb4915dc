"""Incidents by which each alert of ``deploy/`` fires, and what mends them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from live_cluster import BROKERS
from live_consumers import Consumers
from live_proofs import wait_for
from wire_member import WireMember

from clusters.alerts.served import Served
from clusters.badday.frozen import frozen
from clusters.incidents.stage import QUEUES, Stage, owned
from rmqalloc.remoting import ConsumerData, HeartbeatData, SubscriptionData

SENT = 400
CRASHES_EVERY = 75.0
"""Seconds between two starts of a client that crashes; one that two readings in a row did not see is not counted."""
HEARTBEATS_EVERY = 10.0


@dataclass
class Scene:
    """A cluster with its consumers, the service that reads it, and how much faster time goes."""

    stage: Stage
    served: Served
    pace: int


class Expected(NamedTuple):
    """An alert that an incident makes fire, with some of its labels."""

    alert: str
    labels: Mapping[str, str]

    def is_of(self, alert: str, labels: Mapping[str, str]) -> bool:
        """Check whether an alert with these labels is the expected one."""
        return alert == self.alert and self.labels.items() <= labels.items()


class Play(NamedTuple):
    """An incident: the body of the context is the time in which it lasts."""

    incident: str
    expected: tuple[Expected, ...]
    run: Callable[[Scene], AbstractContextManager[None]]


@contextmanager
def mixed_strategies(scene: Scene) -> Iterator[None]:
    """Two clients of different strategies: some queues have no owner, some have two."""
    group = topic = "mixed"
    stage, java = scene.stage, scene.stage.java
    stage.topic(topic)
    stage.join(group, topic, "1")
    java.join(group, f"{group}-2", [topic], strategy="AVG_BY_CIRCLE")
    wait_for(lambda: owned(java, group, topic) >= 2 * QUEUES, "both clients own queues")
    java.do("send", topic=topic, count=SENT)
    yield
    java.leave(group, f"{group}-2")
    stage.join(group, topic, "3")


@contextmanager
def no_client(scene: Scene) -> Iterator[None]:
    """All clients leave, and messages come."""
    group = topic = "deserted"
    stage, java = scene.stage, scene.stage.java
    stage.topic(topic)
    stage.join(group, topic, "1", "2")
    wait_for(lambda: owned(java, group, topic) >= 2 * QUEUES, "both clients own queues")
    java.do("send", topic=topic, count=SENT)
    stage.wait_until_consumed(group, topic)
    stage.leave(group)
    java.do("send", topic=topic, count=SENT)
    yield
    stage.join(group, topic, "3", "4")


@contextmanager
def other_tags(scene: Scene) -> Iterator[None]:
    """Two clients that subscribe to different tags."""
    group = topic = "tags"
    stage = scene.stage
    stage.topic(topic)
    stage.join(group, topic, "some", tags="TagA")
    stage.join(group, topic, "all")
    yield
    stage.java.leave(group, f"{group}-some")


@contextmanager
def crash_loop(scene: Scene) -> Iterator[None]:
    """One client is stable, and one starts and ends all the time, with an id of its own each time."""
    group = topic = "crashing"
    scene.stage.topic(topic)
    scene.stage.join(group, topic, "stable")
    is_over = threading.Event()
    with Consumers(scene.stage.cluster.name_server) as java:
        loop = threading.Thread(target=_crash, args=(java, group, is_over, scene.pace))
        loop.start()
        try:
            yield
        finally:
            is_over.set()
            loop.join()


def _crash(java: Consumers, group: str, is_over: threading.Event, pace: int) -> None:
    number = 0
    while not is_over.is_set():
        number += 1
        java.join(group, f"{group}-{number}", [group], strategy="AVG")
        is_over.wait(CRASHES_EVERY / pace)
        java.leave(group, f"{group}-{number}")


@contextmanager
def silent_client(scene: Scene) -> Iterator[None]:
    """A client that sends heartbeats and does not report what it owns, as clients of other languages
    do.
    """
    group = topic = "silent"
    scene.stage.topic(topic)
    scene.stage.join(group, topic, "java")
    is_over = threading.Event()
    heartbeats = threading.Thread(target=heartbeats_alone, args=(scene.stage, group, is_over))
    heartbeats.start()
    try:
        yield
    finally:
        is_over.set()
        heartbeats.join()


def heartbeats_alone(stage: Stage, group: str, is_over: threading.Event) -> None:
    """Be a client of a group that reads the topic of its name, and report nothing."""
    subscription = SubscriptionData(group, "*", 1)
    heartbeat = HeartbeatData(
        "127.0.0.1@silent", (ConsumerData(group, subscriptions=frozenset({subscription})),)
    )
    with WireMember() as member:
        while not is_over.is_set():
            for address in stage.cluster.running.values():
                member.send_heartbeat(address, heartbeat)
            is_over.wait(HEARTBEATS_EVERY)


@contextmanager
def frozen_broker(scene: Scene) -> Iterator[None]:
    """A broker that does not answer, as a machine that hangs; the name server takes it off its list
    after two minutes.
    """
    with frozen(scene.stage.cluster, BROKERS[1]):
        yield


@contextmanager
def no_name_server(scene: Scene) -> Iterator[None]:
    """The name server ends."""
    scene.stage.cluster.stop_broker("namesrv")
    yield
    scene.stage.cluster.start_name_server()


@contextmanager
def no_service(scene: Scene) -> Iterator[None]:
    """The service ends."""
    scene.served.end()
    yield
    scene.served.begin()


def _of(alert: str, **labels: str) -> Expected:
    return Expected(alert, labels)


ACTS: tuple[tuple[Play, ...], ...] = (
    (
        Play(
            "two clients of different strategies, then messages",
            (
                _of("RmqallocUnownedLag", consumer_group="mixed"),
                _of("RmqallocDoubleOwnedQueues", consumer_group="mixed"),
                _of("RmqallocFindings", consumer_group="mixed"),
            ),
            mixed_strategies,
        ),
        Play(
            "all clients leave, then messages",
            (
                _of("RmqallocUnownedLag", consumer_group="deserted"),
                _of("RmqallocFindings", consumer_group="deserted", rule="no-consumer"),
            ),
            no_client,
        ),
        Play(
            "two clients of different tags",
            (_of("RmqallocFindings", consumer_group="tags", rule="mixed-subscriptions"),),
            other_tags,
        ),
        Play(
            "a client in a crash loop",
            (_of("RmqallocMembersFlap", consumer_group="crashing"),),
            crash_loop,
        ),
        Play(
            "a client that does not report what it owns",
            (
                _of("RmqallocNotKnown", kind="owners"),
                _of("RmqallocNotKnown", kind="subscriptions"),
            ),
            silent_client,
        ),
    ),
    (
        Play(
            "a broker frozen (SIGSTOP)",
            (_of("RmqallocSourceDown", source=f"broker {BROKERS[1]}"),),
            frozen_broker,
        ),
    ),
    (Play("the name server ends", (_of("RmqallocNotReady"),), no_name_server),),
    (Play("the service ends", (_of("RmqallocDown"),), no_service),),
)
"""Plays of one act begin together; each ends when all of its alerts have fired."""
