"""Rolling restarts of real consumers with the hook of the example Deployment, and without it.

Whether a group had settled when a pod was stopped, and how long queues had no owner, is judged by
the clients' own logs.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from live_cluster import LiveCluster
from live_consumers import Consumers
from live_proofs import make_topic, wait_for
from proof import Report

from clusters.alerts.firing import FASTER, READS_EVERY
from clusters.alerts.plays import heartbeats_alone
from clusters.alerts.pods import GROUP, TOPIC, Pods, Stopped
from clusters.alerts.served import Served
from clusters.beside_java.deliveries import read
from clusters.incidents.stage import Stage

PER_BROKER = 12
PER_SECOND = 50
CONSUMED_WITHIN = 120
SETTLES_WITHIN = 120.0
QUICK_REPLICAS = 3
NOTICED = 5.0
"""Seconds more than a reading's interval until the service knows what has changed."""
COLUMNS = (
    "pods are stopped",
    "the hook waited, seconds",
    "stops before the stop before was over",
    "most queues without an owner",
    "longest, seconds",
    "all, queue-seconds",
    "minutes",
)


class Restart(NamedTuple):
    """A way to restart pods; ``may_stop`` is whether the guard can say yes."""

    words: str
    with_hook: bool
    ready_seconds: float = 0.0
    n_at_once: int = 1
    n_pods: int | None = None
    may_stop: bool = True


@dataclass
class Scene:
    """A cluster, the service that reads it, and the pods."""

    stage: Stage
    served: Served
    pods: Pods
    reads_every: float


def rolling(report: Report, is_quick: bool) -> None:
    """Restart the pods in several ways, while messages come all the time."""
    every = READS_EVERY / FASTER if is_quick else READS_EVERY
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rolling-")))
        cluster = stack.enter_context(LiveCluster(options=()))
        java = stack.enter_context(Consumers(cluster.name_server))
        make_topic(cluster, java, TOPIC, PER_BROKER)
        served = stack.enter_context(Served(cluster.name_server, every))
        pods = stack.enter_context(closing(Pods(cluster.name_server, served.address, home)))
        for _ in range(QUICK_REPLICAS if is_quick else pods.example.replicas):
            pods.start()
        java.do("flow", topic=TOPIC, per_second=PER_SECOND)
        _played(report, Scene(Stage(cluster, java), served, pods, every), is_quick)
        _messages_judged(report, java.do("still"), home, pods)


def _played(report: Report, scene: Scene, is_quick: bool) -> None:
    ready = scene.pods.example.ready_seconds / (FASTER if is_quick else 1)
    one = "one after the other"
    report.head(COLUMNS)
    _restarted(report, scene, Restart(f"{one}, the example", True, ready))
    _restarted(report, scene, Restart(f"{one}, without the hook and minReadySeconds", False))
    if is_quick:
        return
    _restarted(report, scene, Restart(f"{one}, without minReadySeconds", True))
    two = Restart("two at once", True, n_at_once=2, n_pods=2)
    _restarted(report, scene, two)
    _restarted(report, scene, two._replace(words=f"{two.words}, without the hook", with_hook=False))
    refused = Restart("", True, n_pods=1, may_stop=False)
    with _silent_client(scene):
        words = "one, while a client does not report what it owns"
        _restarted(report, scene, refused._replace(words=words))
    scene.served.end()
    _restarted(report, scene, refused._replace(words="one, while the service does not run"))


@contextmanager
def _silent_client(scene: Scene) -> Iterator[None]:
    is_over = threading.Event()
    client = threading.Thread(target=heartbeats_alone, args=(scene.stage, GROUP, is_over))
    client.start()
    try:
        time.sleep(scene.reads_every + NOTICED)
        yield
    finally:
        is_over.set()
        client.join()


def _restarted(report: Report, scene: Scene, how: Restart) -> None:
    """Restart pods, wait until the group has settled, and report it."""
    pods = scene.pods
    if how.may_stop:
        _wait_until_settled(pods)
        time.sleep(scene.reads_every + NOTICED)
    began = time.time()
    stops = _restart(pods, how)
    minutes = (time.time() - began) / 60
    if how.may_stop:
        _wait_until_settled(pods)
    owners, hook = pods.owners(), [stop.hook_seconds for stop in stops]
    n_early = n_overlapping(stops, lambda at: pods.is_settled(owners, at))
    found = owners.unowned(began, time.time())
    waited = f"{min(hook):.1f} to {max(hook):.1f}" if how.with_hook else ""
    report.row(
        f"{how.words}: {len(stops)}",
        waited,
        n_early if how.may_stop else "",
        *(found.most, f"{found.longest:.2f}", f"{found.total:.1f}", f"{minutes:.1f}"),
    )
    if how.with_hook and how.may_stop and n_early:
        report.fault(f"{how.words}: {n_early} stops before the stop before was over")
    if not how.may_stop and min(hook) < pods.example.hook_seconds:
        report.fault(f"{how.words}: the hook let a pod stop after {min(hook):.0f} s")


def n_overlapping(stops: Sequence[Stopped], is_settled: Callable[[float], bool]) -> int:
    """Return how many stops began while another pod was ending, or the group had not settled."""
    in_order = sorted(stops, key=lambda stop: stop.stopped)
    busy_until, n_early = 0.0, 0
    for stop in in_order:
        n_early += stop.stopped < busy_until or not is_settled(stop.stopped)
        busy_until = max(busy_until, stop.gone)
    return n_early


def _restart(pods: Pods, how: Restart) -> list[Stopped]:
    """Replace pods, so many at a time, and return what was seen of each."""
    left, stops = pods.running[: how.n_pods], list[Stopped]()
    while left:
        together, left = left[: how.n_at_once], left[how.n_at_once :]
        stops += pods.replaced(together, how.with_hook)
        time.sleep(how.ready_seconds)
    return stops


def _wait_until_settled(pods: Pods) -> None:
    wait_for(
        lambda: pods.is_settled(pods.owners(), time.time()),
        "the pods own all queues",
        SETTLES_WITHIN,
    )


def _messages_judged(report: Report, sent: dict[str, object], home: Path, pods: Pods) -> None:
    """Report whether every message that was sent was consumed."""
    numbers = np.arange(int(str(sent["next"])))
    unsure = np.asarray(sent["unsure"], np.int64)
    due = np.setdiff1d(numbers, unsure)

    def n_missing() -> int:
        return int(np.setdiff1d(due, _consumed(home, pods.names)).size)

    deadline = time.monotonic() + CONSUMED_WITHIN
    while (missing := n_missing()) and time.monotonic() < deadline:
        time.sleep(1)
    report.say(f"\n{due.size:,} messages were sent meanwhile; {missing} were not consumed.")
    if missing or not due.size:
        report.fault(f"{missing} of {due.size} messages were not consumed")


def _consumed(home: Path, names: Sequence[str]) -> np.ndarray:
    return read(home, GROUP, TOPIC, names).numbers
