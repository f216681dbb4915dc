"""The play: what happens to members and brokers while messages flow, each event awaited until all
agree.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import product
from typing import NamedTuple

import numpy as np
from live_consumers import Consumers

from clusters.beside_java.deliveries import Judged, Lost, Place, Sent, Span, judged, read
from clusters.beside_java.owners import Settled, retry_difference, settled
from clusters.beside_java.stage import Group, Stage, now
from clusters.beside_java.verbs import Look, looked
from clusters.beside_java.wire import Server, client_ids, committed, max_offset

SETTLES_WITHIN = 100.0
EXPIRES_WITHIN = 240.0
BROKER_FROZEN = 40.0
LISTED_AFTER = 3.0
BROKER = "sh@broker-b"
BATCH = 200
COMES_WITHIN = 45.0
"""Seconds without any further message after which no more is expected: longer than a member needs to look around."""

MOST_LOST = 5
"""Lost messages of a group that are reported in full."""

JAVA_KEPT, JAVA_VICTIM, PYTHON_KEPT, PYTHON_VICTIM = (
    "java-kept",
    "java-victim",
    "python-kept",
    "python-victim",
)
"""Processes; the victims are killed and frozen."""


class Event(NamedTuple):
    """An event, how every group settled after it, and what the verbs said then."""

    name: str
    began: float
    end: float
    groups: list[Settled]
    looks: list[Look]


class Commits(NamedTuple):
    """What groups had committed of each queue once an event had settled, which is before the next
    one; -1 for nothing.
    """

    event: str
    at: float  # ms since the epoch
    offsets: dict[tuple[str, Place], int]


class Played(NamedTuple):
    """All events on one stage, what became of the messages of each group, and its owners of the
    retry topic.
    """

    release: str
    n_queues: int
    events: list[Event]
    messages: dict[str, Judged]
    retries: dict[str, str]
    notes: list[str]
    losses: dict[str, list[str]]
    """What is known of lost messages, by group."""


class Play:
    """Events on a stage, one after the other, while messages are sent.

    Parameters
    ----------
    stage : Stage
    sender : Consumers
        A Java process that sends.
    per_second : int
        Messages.
    """

    def __init__(self, stage: Stage, sender: Consumers, per_second: int) -> None:
        self.stage, self._sender, self._per_second = stage, sender, per_second
        self.events: list[Event] = []
        self.notes: list[str] = []
        self._commits: list[Commits] = []
        self._n_sent, self._unsure = 0, set[int]()
        self._flows = False

    def begin(self, processes: Mapping[str, list[str]]) -> None:
        """Start processes with their members, and the flow of messages once all agree."""
        began = self.stage.at(now())
        for process, names in processes.items():
            self.stage.start(process)
            for name in names:
                self.stage.join(process, name)
        self._await("all join", began)
        self.flow()

    def flow(self) -> None:
        """Send messages from now on."""
        self._sender.do(
            "flow", topic=self.stage.topic, per_second=self._per_second, **{"from": self._n_sent}
        )
        self._flows = True

    def still(self) -> None:
        """Send no more."""
        if self._flows:
            said = self._sender.do("still")
            self._n_sent = said["next"]
            self._unsure |= set(said["unsure"])
            self._flows = False

    def join(self, process: str, name: str, event: str) -> None:
        """A member joins."""
        self._await(event, self.stage.join(process, name))

    def leave(self, name: str, event: str) -> None:
        """A member leaves in good order."""
        self._await(event, self.stage.leave(name))

    def kill(self, process: str, event: str) -> list[str]:
        """A process is killed; the names of its members."""
        names = self.stage.in_process(process)
        self._await(event, self.stage.kill(process))
        return names

    def killed_and_back(self, process: str, kind: str) -> None:
        """A process is killed, and its members join again in a new one."""
        names = self.kill(process, f"{kind} killed (kill -9)")
        self.stage.start(process)
        for name in names:
            self.join(process, name, f"{kind} joins after the kill")

    def frozen_and_back(self, process: str, kind: str) -> None:
        """A process is frozen until brokers expel its members, and goes on then."""
        names = self.stage.in_process(process)
        self._await(
            f"{kind} frozen (SIGSTOP) until expelled",
            self.stage.freeze(process),
            EXPIRES_WITHIN,
            names,
        )
        self._await(f"{kind} thawed (SIGCONT)", self.stage.thaw(process))

    def queues_added(self, more: int) -> None:
        """Every broker gets more queues of the topic."""
        began = self.stage.at(now())
        self.stage.set_queues(self.stage.per_broker + more)
        self._await("queues added to the topic", began)

    def broker_restarted(self) -> None:
        """A broker is stopped in good order and started again."""
        began = self.stage.at(now())
        self.stage.cluster.stop_broker(BROKER)
        self._await("broker stopped", began)
        self.stage.cluster.start_broker(BROKER)
        self.stage.cluster.wait_for_broker(BROKER)
        began = self.stage.at(now())
        self.stage.wait_for_routes()
        self._await("broker started again", began)

    def broker_frozen(self) -> None:
        """A broker answers nothing for some time.

        Clients that connect again meanwhile are accepted all at once when it goes on; connections
        that they had given up by then are members for it until they expire, and their client ids
        are listed twice.
        """
        pid = self.stage.cluster.pid_of(BROKER)
        began = now()
        os.kill(pid, signal.SIGSTOP)
        time.sleep(BROKER_FROZEN)
        os.kill(pid, signal.SIGCONT)
        thawed = self.stage.at(now())
        time.sleep(LISTED_AFTER)
        self.notes.append(
            f"{LISTED_AFTER:g} s after the broker was thawed, it listed {self._listed_again()}."
        )
        self._await(
            f"broker frozen (SIGSTOP) for {BROKER_FROZEN:g} s", thawed, EXPIRES_WITHIN, began=began
        )

    def bulk(self, count: int, join: tuple[str, str], leave: str) -> None:
        """Very many messages are sent in batches, while a member joins and another leaves."""
        self.still()
        began, parts = now(), 3
        for part in range(parts):
            n = count // parts if part else count - count // parts * (parts - 1)
            unsure = self._sender.do(
                "send", topic=self.stage.topic, count=n, batch=BATCH, **{"from": self._n_sent}
            )
            self._unsure |= set(unsure)
            self._n_sent += n
            if part == 0:
                self.join(*join, "a member joins in bulk")
            elif part == 1:
                self.leave(leave, "a member leaves in bulk")
        self._wait_consumed()
        print(
            f"  {count:,} messages in bulk: {(now() - began) / 1000:.0f} s",
            file=sys.stderr,
            flush=True,
        )

    def end(self, release: str) -> Played:
        """Wait until everything is consumed, and judge."""
        self.still()
        self._wait_consumed()
        wait_for_retries(self.stage)
        retries = {one.name: retry_difference(self.stage, one) for one in self.stage.groups}
        for name in list(self.stage.members):
            self.stage.leave(name)
        self._note_commits("all leave")
        stage, names = self.stage, list(self.stage.kinds)
        sent = Sent(self._n_sent, frozenset(self._unsure), self._ends())
        spans = [Span(one.name, one.began, one.end) for one in self.events]
        kinds = [stage.kinds[name] for name in names]
        messages = {
            one.name: judged(read(stage.home, one.name, stage.topic, names), sent, spans, kinds)
            for one in stage.groups
        }
        losses = {
            group.name: [
                self._report(group, lost) for lost in messages[group.name].lost_messages[:MOST_LOST]
            ]
            for group in stage.groups
        }
        return Played(
            release, len(stage.queues), self.events, messages, retries, self.notes, losses
        )

    def _report(self, group: Group, lost: Lost) -> str:
        """Report what is known of a lost message: its deliveries around, what was committed, and
        the members' logs.
        """
        (address, queue_id), names = lost.place, list(self.stage.kinds)
        broker = next(
            (name for name, where in self.stage.cluster.running.items() if where == address),
            address,
        )
        lines = [f"offset {lost.offset} of queue {queue_id} of {broker} never came to {group.name}"]
        for delivery in lost.around:
            lines.append(
                f"  {_clock(delivery.at)} offset {delivery.offset} given to {names[delivery.member]}"
            )
        for commits in self._commits:
            offset = commits.offsets.get((group.name, lost.place), "not known")
            lines.append(f"  {_clock(commits.at)} committed after {commits.event!r}: {offset}")
        lines += [f"  {line}" for line in self.stage.logged(group, broker, queue_id)]
        return "\n".join(lines)

    def _await(
        self,
        event: str,
        since: Mapping[str, float],
        within: float = SETTLES_WITHIN,
        but: Sequence[str] = (),
        began: float | None = None,
    ) -> None:
        groups = settled(self.stage, since, within, but)
        self._note_commits(event)
        begun = min(since.values()) if began is None else began
        end = now()
        looks = looked(self.stage, len(self.events), but)
        self.events.append(Event(event, begun, end, groups, looks))
        said = ", ".join(
            f"{one.group.name} {one.seconds:.1f} s {one.wrong}".strip() for one in groups
        )
        verbs = max(look.seconds for look in looks)
        print(f"  {event}: {said}; verbs {verbs:.1f} s", file=sys.stderr, flush=True)

    def _note_commits(self, event: str) -> None:
        """Note what every group has committed of every queue."""
        offsets = {}
        for address in self.stage.cluster.running.values():
            with Server(address) as broker:
                for group, queue_id in product(self.stage.groups, range(self.stage.per_broker)):
                    offset = committed(broker, group.name, self.stage.topic, queue_id)
                    offsets[group.name, (address, queue_id)] = offset
        self._commits.append(Commits(event, now(), offsets))

    def _listed_again(self) -> str:
        """Client ids that the broker lists more than once, by group."""
        with Server(self.stage.cluster.brokers[BROKER]) as broker:
            listed = {one.name: Counter(client_ids(broker, one.name)) for one in self.stage.groups}
        again = [
            f"{one} {n} times in {name}"
            for name, ids in listed.items()
            for one, n in sorted(ids.items())
            if n > 1
        ]
        return ", ".join(again) or "every client id once"

    def _ends(self) -> dict[tuple[str, int], int]:
        found = {}
        for address in self.stage.cluster.running.values():
            with Server(address) as broker:
                for place in range(self.stage.per_broker):
                    found[address, place] = max_offset(broker, self.stage.topic, place)
        return found

    def _wait_consumed(self) -> None:
        """Wait until every group was given as many messages as are stored, or nothing more comes."""
        stage, names, ends = self.stage, list(self.stage.kinds), self._ends()
        last, since = -1, time.monotonic()
        while time.monotonic() - since < COMES_WITHIN:
            given = [read(stage.home, one.name, stage.topic, names).queues for one in stage.groups]
            n = sum(np.unique(one.offsets).size for queues in given for one in queues.values())
            if n >= len(stage.groups) * sum(ends.values()):
                return
            if n != last:
                last, since = n, time.monotonic()
            time.sleep(1)


def wait_for_retries(stage: Stage) -> None:
    """Wait until members have found the retry topics of their groups, with some patience."""
    deadline = time.monotonic() + SETTLES_WITHIN
    while any(retry_difference(stage, one) for one in stage.groups) and time.monotonic() < deadline:
        time.sleep(0.5)


def _clock(at: float) -> str:
    """Time of day, UTC, of milliseconds since the epoch."""
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%H:%M:%S.%f")[:-3]
