"""The stage: servers of one release, Java and Python processes, and the members of some groups in
them.
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from live_cluster import LiveCluster
from live_consumers import QUICK, Consumers, WireConsumers
from live_proofs import wait_for
from live_rules import rule_of

from clusters.beside_java.wire import brokers_of, set_topic
from rmqalloc import MessageQueue, sort_client_ids, sort_queues

JAVA, PYTHON = "java", "python"
QUICK_INTERVALS = {"rebalance": 1000, "route_poll": 1000, "heartbeat": 1000, "lock": 1000}
"""What `QUICK` sets of Java clients."""

Tables = dict[str, frozenset[MessageQueue]]
"""Queues by client id."""


class Group(NamedTuple):
    """A group of the stage."""

    name: str
    strategy: str
    orderly: bool = False

    @property
    def kind(self) -> str:
        """How it consumes, in a word."""
        return "in order" if self.orderly else "at once"


class Member(NamedTuple):
    """A member that is up: its process, and its client id by group."""

    process: str
    client_ids: Mapping[str, str]


class Departure(NamedTuple):
    """A client that was killed or frozen at a moment, in ms since the epoch: from then on it read
    nothing.
    """

    at: float
    client_id: str


class Stage:
    """Processes and their members, all in all groups; a context manager.

    Parameters
    ----------
    cluster : LiveCluster
    groups : sequence of Group
    topic : str
        What all groups subscribe to.
    per_broker : int
        Its queues at each broker.
    java : str, optional
        Release of the Java clients, see `Consumers`.
    is_quick : bool
        Whether members look around every second.
    classes : str
        What else is on the class path of Java processes.
    heartbeat_v2 : bool
        Whether members send heartbeats of the second form.
    """

    def __init__(
        self,
        cluster: LiveCluster,
        groups: Sequence[Group],
        topic: str,
        per_broker: int,
        java: str | None = None,
        is_quick: bool = False,
        classes: str = "",
        heartbeat_v2: bool = False,
    ) -> None:
        self.cluster, self.groups, self.topic, self.per_broker = cluster, groups, topic, per_broker
        self._java, self._is_quick, self._classes, self._heartbeat_v2 = (
            java,
            is_quick,
            classes,
            heartbeat_v2,
        )
        self.home = Path(tempfile.mkdtemp(prefix="rmqalloc-beside-"))
        self.processes: dict[str, Consumers] = {}
        self.members: dict[str, Member] = {}
        self.frozen: set[str] = set()
        self.departures: list[Departure] = []
        self.kinds: dict[str, str] = {}
        """Java or Python, by the name of a member that was ever up."""
        self._logs: list[list[dict[str, object]]] = []
        self._ended_logs: list[str] = []
        self._n_started = 0

    def __enter__(self) -> Stage:
        self.set_queues(self.per_broker)
        return self

    def __exit__(self, *_error: object) -> None:
        for process in self.frozen:
            os.kill(self.processes[process].process.pid, signal.SIGCONT)
        for one in self.processes.values():
            with suppress(OSError):
                one.close()
        for file in self.home.iterdir():
            file.unlink()
        self.home.rmdir()

    def set_queues(self, per_broker: int) -> None:
        """Give the topic so many queues at every broker, and wait until the name server says so."""
        self.per_broker = per_broker
        for address in self.cluster.running.values():
            set_topic(address, self.topic, per_broker)
        self.wait_for_routes()

    def wait_for_routes(self) -> None:
        """Wait until the name server has the topic at all brokers."""
        right = dict.fromkeys(self.cluster.running, self.per_broker)
        wait_for(
            lambda: brokers_of(self.cluster.name_server, self.topic) == right,
            f"{self.topic} has its queues",
        )

    @property
    def queues(self) -> list[MessageQueue]:
        """The queues of the topic, in the order in which clients divide them."""
        brokers = self.cluster.running
        return sort_queues(
            [
                MessageQueue(self.topic, name, place)
                for name in brokers
                for place in range(self.per_broker)
            ]
        )

    def start(self, process: str) -> None:
        """Start a process, a Java or a Python one by the beginning of its name."""
        self._n_started += 1
        file = str(self.home / f"{process}-{self._n_started}")
        if process.startswith(PYTHON):
            settings = {"deliveries": file} | (
                {"intervals": QUICK_INTERVALS} if self._is_quick else {}
            )
            self.processes[process] = WireConsumers(self.cluster.name_server, **settings)
        else:
            options = (*(QUICK if self._is_quick else ()), f"-Drmqalloc.deliveries={file}")
            self.processes[process] = Consumers(
                self.cluster.name_server, options, version=self._java, more_classes=self._classes
            )
        self._logs.append(self.processes[process].changes)

    def join(self, process: str, name: str) -> dict[str, float]:
        """Start a member of every group in a process; when each began, in ms since the epoch.

        Members read a queue without a stored offset from its first message. With the default, its
        end, a queue may have no message when its stored offset is queried and one when its end is
        queried next: Java and Python members skip that one.
        """
        began, ids = {}, {}
        for group in self.groups:
            began[group.name] = now()
            ids[group.name] = self.processes[process].join(
                group.name,
                name,
                [self.topic],
                strategy=group.strategy,
                orderly=group.orderly,
                from_first=True,
                heartbeat_v2=self._heartbeat_v2,
            )
        self.members[name] = Member(process, ids)
        self.kinds[name] = PYTHON if process.startswith(PYTHON) else JAVA
        return began

    def leave(self, name: str) -> dict[str, float]:
        """Shut a member down in every group; when each began."""
        began, member = {}, self.members.pop(name)
        for group in self.groups:
            began[group.name] = now()
            self.processes[member.process].leave(group.name, name)
            self.departures.append(Departure(now(), member.client_ids[group.name]))
        return began

    def kill(self, process: str) -> dict[str, float]:
        """End a process at once, with its members; it can be started again."""
        killed = self.processes.pop(process)
        killed.process.kill()
        began = now()
        self._ended_logs += killed.log_lines()
        killed.kill()
        for name in self.in_process(process):
            self._departed(self.members.pop(name), began)
        return self.at(began)

    def freeze(self, process: str) -> dict[str, float]:
        """Stop a process (SIGSTOP); the members in it stay members until brokers expel them."""
        os.kill(self.processes[process].process.pid, signal.SIGSTOP)
        self.frozen.add(process)
        began = now()
        for name in self.in_process(process):
            self._departed(self.members[name], began)
        return self.at(began)

    def thaw(self, process: str) -> dict[str, float]:
        """Let a stopped process go on."""
        self.frozen.discard(process)
        os.kill(self.processes[process].process.pid, signal.SIGCONT)
        return self.at(now())

    def _departed(self, member: Member, at: float) -> None:
        self.departures += [Departure(at, one) for one in member.client_ids.values()]

    def at(self, began: float) -> dict[str, float]:
        """Return one moment for all groups."""
        return {group.name: began for group in self.groups}

    def in_process(self, process: str) -> list[str]:
        """Names of the members in a process."""
        return [name for name, member in self.members.items() if member.process == process]

    def held(self) -> dict[str, Tables]:
        """Queues of the topic that members work on by their own tables, by group; frozen ones
        cannot be asked.
        """
        found: dict[str, Tables] = {group.name: {} for group in self.groups}
        for name, process in self.processes.items():
            if name not in self.frozen:
                for key, one in process.do("show").items():
                    queues = (MessageQueue(*queue) for queue in one["queues"])
                    found[key.partition("/")[0]][one["client_id"]] = frozenset(queues)
        return found

    def expected(self, group: Group, but: Iterable[str] = ()) -> Tables:
        """Queues of the topic and of the group's retry topic by the engine; members ``but`` are not
        in the group any more.
        """
        ids = sort_client_ids(
            [one.client_ids[group.name] for name, one in self.members.items() if name not in but]
        )
        found: dict[str, set[MessageQueue]] = {one: set() for one in ids}
        retries = [
            MessageQueue(f"%RETRY%{group.name}", broker, 0) for broker in self.cluster.running
        ]
        for queues in (self.queues, sort_queues(retries)):
            owners = rule_of(group.strategy).assign(queues, ids).owners.tolist()
            for queue, owner in zip(queues, owners, strict=True):
                found[ids[owner]].add(queue)
        return {one: frozenset(queues) for one, queues in found.items()}

    def logged(self, group: Group, broker: str, queue_id: int) -> list[str]:
        """Return lines of the members' logs about one queue of the topic."""
        lines = [
            *self._ended_logs,
            *(line for process in self.processes.values() for line in process.log_lines()),
        ]
        queue = str(MessageQueue(self.topic, broker, queue_id))
        return [line for line in lines if group.name in line and queue in line]

    def changes(self) -> list[tuple[float, str, str, frozenset[MessageQueue]]]:
        """Return every change of a member's queues that it reported: when (ms since the epoch),
        group, client id and queues.
        """
        found = [
            (one["at"], one["owns"]["name"].partition("/")[0], one["owns"]["client_id"],
             frozenset(MessageQueue(*queue) for queue in one["owns"]["queues"]))
            for log in self._logs
            for one in list(log)
        ]  # fmt: skip
        return sorted(found, key=lambda one: one[0])


def now() -> float:
    """Milliseconds since the epoch."""
    return 1000 * time.time()
