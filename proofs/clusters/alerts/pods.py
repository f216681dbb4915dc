"""Pods of the example Deployment on one machine: each is a Java process, and the hook before its stop
is the command of the manifest.
"""

from __future__ import annotations

import os
import re
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from checkout import ROOT
from live_consumers import Consumers

from clusters.everyday.judging import Timeline, timelines
from clusters.everyday.stage import Holding
from rmqalloc import MessageQueue

MANIFEST = ROOT / "deploy" / "kubernetes" / "examples" / "consumer-deployment.yaml"
GROUP = TOPIC = "billing"
SERVICE, TOKEN = "http://rmqalloc:8080", "/run/secrets/rmqalloc/token"
"""What the hook names that is elsewhere here."""
MOST_AT_ONCE = 2


class Example(NamedTuple):
    """What the manifest of the example says."""

    replicas: int
    ready_seconds: float
    grace_seconds: float
    hook: Sequence[str]

    @property
    def hook_seconds(self) -> float:
        """Seconds after which the hook gives up."""
        found = re.search(r"date \+%s\) \+ (\d+)", self.hook[-1])
        assert found is not None, self.hook
        return int(found[1])


def example() -> Example:
    """Read the manifest."""
    spec = yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))["spec"]
    pod = spec["template"]["spec"]
    [container] = pod["containers"]
    hook = container["lifecycle"]["preStop"]["exec"]["command"]
    grace = pod["terminationGracePeriodSeconds"]
    return Example(spec["replicas"], spec["minReadySeconds"], grace, hook)


@dataclass
class Pod:
    """One pod: an address and a process with a client.

    Attributes
    ----------
    joined, stopped, gone : float
        When the client had started, when the process got the signal to end, and when it had ended;
        the last two are 0 before.
    """

    ip: str
    client_id: str
    java: Consumers
    joined: float
    stopped: float = 0.0
    gone: float = 0.0


class Stopped(NamedTuple):
    """A pod that was replaced: how long the hook took, when the process ended, and when the new pod
    had started.
    """

    hook_seconds: float
    stopped: float
    gone: float
    joined: float


class Pods:
    """The pods of the Deployment; a context manager's body closes them.

    Parameters
    ----------
    name_server : str
    service : str
        Host and port of the service that the hook asks.
    home : Path
        Where the messages that pods were given are kept.
    """

    def __init__(self, name_server: str, service: str, home: Path) -> None:
        self._name_server, self._service, self._home = name_server, service, home
        # Java processes end with the thread that starts them, so threads stay until the end.
        self._threads = ThreadPoolExecutor(MOST_AT_ONCE)
        self._lock = threading.Lock()
        self._all: list[Pod] = []
        self.example = example()
        (home / "token").write_text("not needed on loopback\n", encoding="utf-8")

    def close(self) -> None:
        """End all pods."""
        for pod in self.running:
            pod.java.close()
        self._threads.shutdown()

    @property
    def running(self) -> list[Pod]:
        """Pods whose process has not got the signal to end."""
        return [pod for pod in self._all if not pod.stopped]

    @property
    def names(self) -> list[str]:
        """Names of all pods that there were."""
        return [f"pod-{number}" for number in range(len(self._all))]

    def start(self) -> Pod:
        """Start a pod; the call returns when its client has started."""
        with self._lock:
            number = len(self._all)
            file = self._home / f"pod-{number}-deliveries"
            ip = f"10.1.0.{number + 1}"
            java = Consumers(self._name_server, (f"-Drmqalloc.deliveries={file}",))
            client_id = java.join(
                GROUP, f"pod-{number}", [TOPIC], strategy="AVG", client_ip=ip, from_first=True
            )
            pod = Pod(ip, client_id, java, time.time())
            self._all.append(pod)
            return pod

    def replaced(self, pods: Sequence[Pod], with_hook: bool) -> list[Stopped]:
        """Delete pods at a time, and wait until each has a successor."""
        return list(self._threads.map(lambda pod: self._replace(pod, with_hook), pods))

    def _replace(self, pod: Pod, with_hook: bool) -> Stopped:
        """Delete a pod as Kubernetes does: the hook, the signal, and a new pod."""
        began = time.time()
        if with_hook:
            self._run_hook(pod)
        pod.stopped = time.time()
        pod.java.close()
        pod.gone = time.time()
        self.start()
        return Stopped(pod.stopped - began, pod.stopped, pod.gone, time.time())

    def _run_hook(self, pod: Pod) -> None:
        """Run the command of the manifest; Kubernetes ignores its exit code, and ends it when the
        grace period is over.
        """
        shell, option, script = self.example.hook
        script = script.replace(SERVICE, f"http://{self._service}")
        script = script.replace(TOKEN, str(self._home / "token"))
        there = {"PATH": os.environ["PATH"], "POD_IP": pod.ip}
        subprocess.run(
            [shell, option, script],
            env=there,
            capture_output=True,
            timeout=self.example.grace_seconds,
            check=False,
        )

    def is_settled(self, owners: Owners, at: float) -> bool:
        """Check whether at a moment every queue had one owner, and every client its share."""
        there = [pod for pod in self._all if pod.joined <= at and not 0 < pod.gone <= at]
        return owners.is_settled(at, len(there))

    def owners(self) -> Owners:
        """Return who owned what when, as the clients' own logs have it."""
        ends = {pod.client_id: pod.gone for pod in self._all if pod.gone}
        held = [Holding(at, GROUP, client_id, frozenset()) for client_id, at in ends.items()]
        for pod in self._all:
            for change in list(pod.java.changes):
                holding = _holding(change)
                if holding.at < ends.get(holding.client_id, float("inf")):
                    held.append(holding)
        lines = timelines(sorted(held))
        return Owners({queue: line for (_, queue), line in lines.items() if queue.topic == TOPIC})


def _holding(change: Mapping[str, Any]) -> Holding:
    owns = change["owns"]
    queues = frozenset(MessageQueue(*queue) for queue in owns["queues"])
    return Holding(change["at"] / 1000, GROUP, owns["client_id"], queues)


class Unowned(NamedTuple):
    """Most queues without an owner at a moment, the longest time of one, and all times together in
    seconds.
    """

    most: int
    longest: float
    total: float


class Owners:
    """Who owned each queue of the topic when."""

    def __init__(self, lines: dict[MessageQueue, Timeline]) -> None:
        self._lines = lines

    def is_settled(self, at: float, n_clients: int) -> bool:
        """Check whether every queue had one owner, and every client its share."""
        counts = Counter[str]()
        for line in self._lines.values():
            for owners in line.between(at, at):
                if len(owners) != 1:
                    return False
                counts.update(owners)
        return len(counts) == n_clients and max(counts.values()) - min(counts.values()) <= 1

    def unowned(self, begin: float, end: float) -> Unowned:
        """Return how many queues had no owner in a time, and for how long."""
        spans = [span for line in self._lines.values() for span in _unowned(line, begin, end)]
        most = max((sum(a <= at < b for a, b in spans) for at, _ in spans), default=0)
        seconds = [b - a for a, b in spans]
        return Unowned(most, max(seconds, default=0.0), sum(seconds))


def _unowned(line: Timeline, begin: float, end: float) -> list[tuple[float, float]]:
    return [
        (max(since, begin), min(until, end))
        for since, until, owners in line.states(end)
        if not owners and since < end and until > begin
    ]
