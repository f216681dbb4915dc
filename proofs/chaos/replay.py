"""The two most severe findings on a real cluster, with real Java consumers on loopback."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

import tied
from checkout import ROOT
from java_driver import JavaFailed, command, maven_classpath
from live_cluster import BROKERS, LOCKS_LAST, PROJECT, SMALL, LiveCluster, without_logging
from live_consumers import Consumers
from live_proofs import make_topic, wait_for

PROGRAM = ROOT / "tests" / "support" / "java" / "chaos" / "Ordered.java"
MESSAGES = 1_600
TOPIC, GROUP = "chaos", "chaos-readers"
SLOW, FAST = 100, 5
"""Milliseconds that a consumer works on a message: one that is overtaken, and one that overtakes."""

PATIENT = 240.0
FEW = 10
MANY = 100

OFTEN = (
    "-Drocketmq.client.rebalance.waitInterval=1000",
    "-Drocketmq.client.rebalance.minInterval=200",
)
LOCKS_OFTEN = (
    "-Drocketmq.client.rebalance.lockInterval=1000",
    "-Drocketmq.client.rebalance.lockMaxLiveTime=2000",
)
"""A client renews every second and believes for two, where the broker keeps a lock for four: a fifteenth of the defaults."""

LOCKS_SLOW = ("-Drocketmq.client.rebalance.lockInterval=5000",)
"""A client renews every 5 s instead of 20, and believes for 30 s as by default."""


class Taken(NamedTuple):
    """A message reaches a listener."""

    at: int
    queue_id: int
    offset: int


class Replayed(NamedTuple):
    """What a replay showed: the finding, whether it came true, and what was seen."""

    finding: str
    came_true: bool
    says: str


class Ordered:
    """A Java process with one ordered consumer, see ``Ordered.java``."""

    def __init__(
        self, cluster: LiveCluster, name: str, works_for: int, options: Sequence[str]
    ) -> None:
        arguments = [
            command("java"), *SMALL, "-Xmx256m", f"-Duser.home={cluster.home}", "-Drocketmq.client.logUseSlf4j=false", *options,
            "-cp", maven_classpath(PROJECT), str(PROGRAM), cluster.name_server, GROUP, TOPIC, name, str(works_for),
        ]  # fmt: skip
        self._log = cluster.home / f"{name}.log"
        with self._log.open("wb") as log:
            self.process = tied.popen(
                arguments,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                encoding="ascii",
                bufsize=1,
            )
        self.taken: list[Taken] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join(PATIENT)
        for stream in (self.process.stdin, self.process.stdout):
            stream.close()

    def check(self) -> None:
        """Raise JavaFailed if it has ended by itself."""
        if self.process.poll() is not None:
            last = without_logging(self._log.read_text(errors="replace"))[-2_000:]
            raise JavaFailed(f"an ordered consumer has ended; it said last:\n{last}")

    def tell(self, word: str) -> None:
        """Cut its requests off, or heal them."""
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def of_queue(self, queue_id: int, since: int = 0) -> list[Taken]:
        """Return what its listener was given of a queue, from a time on."""
        return [one for one in list(self.taken) if one.queue_id == queue_id and one.at >= since]

    def _read(self) -> None:
        for line in self.process.stdout:
            self.taken.append(Taken(*map(int, line.split())))


def replay(report: str | None) -> int:
    """Play both, print what was seen, and return the exit code: 0 if both come true as in the
    simulation.
    """
    replayed = [kept_messages(), forgotten_locks()]
    lines = ["| finding | on RocketMQ 5.5.0 | seen |", "| --- | --- | --- |"]
    lines += [
        f"| {one.finding} | {'as simulated' if one.came_true else 'not met'} | {one.says} |"
        for one in replayed
    ]
    text = "\n".join(lines) + "\n"
    print(text)
    if report:
        Path(report).write_text(text, encoding="utf-8")
    return 0 if all(one.came_true for one in replayed) else 1


def kept_messages() -> Replayed:
    """A client is cut off for longer than its lock, comes back, and goes on behind what another has
    consumed.
    """
    with LiveCluster(options=(LOCKS_LAST,)) as cluster:
        _begin(cluster, channelExpiredTimeout=5_000)
        with (
            Ordered(cluster, "a", SLOW, (*OFTEN, *LOCKS_OFTEN)) as slow,
            Ordered(cluster, "b", FAST, (*OFTEN, *LOCKS_OFTEN)) as fast,
        ):
            queue_id = _shared(slow, fast)
            slow.tell("cut")
            cut = slow.of_queue(queue_id)[-1]
            wait_for(
                lambda: len(fast.of_queue(queue_id, cut.at)) >= MANY,
                "the other client takes over",
                PATIENT,
            )
            healed = _now()
            slow.tell("heal")
            wait_for(
                lambda: len(slow.of_queue(queue_id, healed)) >= FEW, "the client goes on", PATIENT
            )
            back = slow.of_queue(queue_id, healed)[0]
            before = [one for one in fast.of_queue(queue_id) if one.at <= back.at]
    furthest = max(one.offset for one in before)
    says = (
        f"stopped at offset {cut.offset}, another client consumed up to {furthest}, went on at {back.offset} "
        f"{(back.at - before[-1].at) / 1_000:.1f} s after it"
    )
    return Replayed("kept-messages", back.offset < furthest, says)


def forgotten_locks() -> Replayed:
    """A broker restarts while a client cannot reach it; another one gets its lock, and both
    consume.
    """
    with LiveCluster(options=()) as cluster:
        _begin(cluster)
        with (
            Ordered(cluster, "a", SLOW, (*OFTEN, *LOCKS_SLOW)) as slow,
            Ordered(cluster, "b", SLOW, (*OFTEN, *LOCKS_SLOW)) as other,
        ):
            queue_id = _shared(slow, other)
            slow.tell("cut")
            cluster.stop_broker(BROKERS[0])
            cluster.start_broker(BROKERS[0])
            cluster.wait_for_broker(BROKERS[0])
            restarted = _now()
            wait_for(
                lambda: len(other.of_queue(queue_id, restarted)) >= FEW,
                "the other client gets the lock",
                PATIENT,
            )
            time.sleep(3)
            first = other.of_queue(queue_id, restarted)[0]
            both = slow.of_queue(queue_id, first.at)
            others = other.of_queue(queue_id, first.at)
    lasts = (both[-1].at - first.at) / 1_000 if both else 0.0
    says = f"both consumed for {lasts:.1f} s: {len(both)} messages by the old owner, {len(others)} by the new one"
    return Replayed("forgotten-locks", bool(both), says)


def _begin(cluster: LiveCluster, **settings: object) -> None:
    """Make a topic of two queues on the first broker, restarted with settings, and fill it."""
    if settings:
        cluster.stop_broker(BROKERS[0])
        cluster.start_broker(BROKERS[0], **settings)
        cluster.wait_for_broker(BROKERS[0])
    cluster.stop_broker(BROKERS[1])
    with Consumers(cluster.name_server) as java:
        make_topic(cluster, java, TOPIC, 2)
        java.do("send", topic=TOPIC, count=MESSAGES)


def _shared(first: Ordered, second: Ordered) -> int:
    """Return the queue that the first consumer has, once each has one of its own and is at work."""

    def of_its_own() -> int | None:
        first.check()
        second.check()
        since = _now() - 2_000
        mine, others = (
            {one.queue_id for one in list(each.taken) if one.at >= since}
            for each in (first, second)
        )
        return min(mine) if len(mine) == len(others) == 1 and mine != others else None

    wait_for(lambda: of_its_own() is not None, "each client has a queue", PATIENT)
    found = of_its_own()
    assert found is not None
    wait_for(lambda: len(first.of_queue(found)) >= FEW, "some messages are consumed", PATIENT)
    return found


def _now() -> int:
    return int(time.time() * 1_000)
