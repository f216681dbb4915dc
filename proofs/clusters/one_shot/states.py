"""A cluster whose sources are down in turn, beside a service that reads it every five seconds.

The service reads through one of two name servers, single readings through the other: so they know
what the service does not while its name server is down.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

from live_cluster import BROKERS, LiveCluster
from live_consumers import Consumers
from live_proofs import make_topic, wait_for
from proof import Report
from served import reading, readings_of, served

from clusters.one_shot.comparing import Answers, Compared, answers_of, compared, is_comparable
from rmqalloc.errors import Error
from rmqalloc.service.readings import Readings
from rmqalloc.snapshot.live.fetching import fetch
from rmqalloc.snapshot.live.rereading import Rereader
from rmqalloc.watching import Observer

EVERY = 5.0
TRIES = 4
STEADY, WAITING = "steady", "waiting"
TOPICS = {group: f"orders-of-{group}" for group in (STEADY, WAITING)}
QUEUES, SENT = 4, 40
MOMENTS, QUICK_MOMENTS = 3, 1
"""Comparisons in each state."""
STALLS_AFTER = 180.0
COUNTS = ("samples", "equal", "absent", "aged")


def one_shot(report: Report, is_quick: bool) -> None:
    """Compare in every state; the short form leaves out killed brokers, which take longest."""
    with ExitStack() as stack:
        stage = Stage(stack)
        report.head(("state", *COUNTS, "faults"))
        n = QUICK_MOMENTS if is_quick else MOMENTS
        stage.compare(report, "all up", n)
        for name, state in stage.states(with_killed_brokers=not is_quick):
            with state():
                stage.compare(report, name, n)
            stage.wait_until_whole()
        stage.compare(report, "all up again", n)


class Stage:
    """The cluster, its consumers, and the service.

    Parameters
    ----------
    stack : ExitStack
        Ends all of it.
    """

    def __init__(self, stack: ExitStack) -> None:
        self._cluster, other = LiveCluster(options=()), LiveCluster()
        for servers in (self._cluster, other):
            stack.callback(servers.stop)
            servers.start_name_server()
        self._truth = other.name_server
        self._registered = {"namesrvAddr": f"{self._cluster.name_server};{self._truth}"}
        for broker in BROKERS:
            self._start(broker)
        self._java = stack.enter_context(Consumers(self._truth))
        self._other = stack.enter_context(Consumers(self._truth))
        self._n_queues = QUEUES
        self._settle()
        source = stack.enter_context(closing(Rereader(self._cluster.name_server, every=EVERY)))
        self._readings = Readings(source, Observer(), EVERY)
        self._client = stack.enter_context(served(self._readings))
        self._readings.start()
        stack.callback(self._readings.stop)
        self.wait_until_whole()

    def _start(self, broker: str) -> None:
        self._cluster.start_broker(broker, **self._registered)
        self._cluster.wait_for_broker(broker)

    def _settle(self) -> None:
        """A group of three clients in two processes, and one without clients for which messages wait."""
        for group, topic in TOPICS.items():
            make_topic(self._cluster, self._java, topic, QUEUES)
            self._java.join(group, f"{group}-1", [topic], strategy="AVG")
        self._java.join(STEADY, f"{STEADY}-2", [TOPICS[STEADY]], strategy="AVG")
        self._other.join(STEADY, f"{STEADY}-3", [TOPICS[STEADY]], strategy="AVG")
        for topic in TOPICS.values():
            self._java.do("send", topic=topic, count=SENT)
        for group in TOPICS:
            wait_for(lambda group=group: self._lag(group) == 0, f"{group} consumed everything")
        self._java.leave(WAITING, f"{WAITING}-1")
        self._java.do("send", topic=TOPICS[WAITING], count=SENT)

    def _change(self) -> None:
        """Give a topic other queues, and messages to wait in them: the name server that is down does
        not know.
        """
        self._n_queues += 1
        topic = TOPICS[WAITING]
        for address in self._cluster.running.values():
            self._java.do("topic", topic=topic, broker=address, read=self._n_queues)
        self._java.do("send", topic=topic, count=SENT)

    def _lag(self, name: str) -> int | None:
        """Return the lag of a group, None until it has committed offsets of every queue."""
        [group] = fetch(self._truth, [name]).groups
        lags = [lag.messages for lag in group.lags if lag.queue.topic == TOPICS[name]]
        return sum(lags) if len(lags) == len(BROKERS) * QUEUES else None

    def states(self, with_killed_brokers: bool) -> Iterator[tuple[str, Callable[[], Any]]]:
        """Yield each state with what puts the cluster into it, and out of it again."""
        pid_of = self._cluster.pid_of
        for broker in BROKERS:
            yield f"{broker} frozen", lambda broker=broker: _frozen(pid_of(broker))
        yield "clients frozen", lambda: _frozen(self._other.process.pid)
        yield "name server frozen", self._with_frozen_name_server
        yield "name server killed", self._without_name_server
        yield "all servers frozen", lambda: _frozen(*self._cluster.programs)
        for broker in BROKERS if with_killed_brokers else ():
            yield f"{broker} killed", lambda broker=broker: self._without(broker)

    @contextmanager
    def _with_frozen_name_server(self) -> Iterator[None]:
        with _frozen(self._cluster.pid_of("namesrv")):
            # Brokers wait for it where a topic changes, so only messages are sent.
            self._java.do("send", topic=TOPICS[WAITING], count=SENT)
            yield

    @contextmanager
    def _without_name_server(self) -> Iterator[None]:
        os.kill(self._cluster.pid_of("namesrv"), signal.SIGKILL)
        try:
            self._change()
            yield
        finally:
            self._cluster.start_name_server()

    @contextmanager
    def _without(self, broker: str) -> Iterator[None]:
        self._cluster.kill_broker(broker)
        try:
            yield
        finally:
            self._start(broker)

    def compare(self, report: Report, name: str, n: int) -> None:
        """Compare some moments of a state, each as it comes."""
        for number in range(n):
            result = self._compared()
            counts = [result.counts.get(kind, 0) for kind in COUNTS]
            report.row(f"{name}, {number + 1}", *counts, len(result.faults))
            for text in result.faults:
                report.fault(f"{name}: {text}")

    def _compared(self) -> Compared:
        """Compare one moment; again while a client is too slow, which is a fault if it stays so."""
        for _ in range(TRIES):
            before = self._fresh()
            self._wait_for_reading()
            found, fresh = answers_of(self._client), (before, self._fresh())
            if is_comparable(found, fresh):
                break
        return compared(found, fresh)

    def _fresh(self) -> Answers | None:
        """Return what a service says of a single reading; None if it fails."""
        try:
            snapshot = fetch(self._truth)
        except (Error, OSError):
            return None
        readings = readings_of(reading(snapshot, is_whole=not snapshot.errors))
        with served(readings) as client:
            return answers_of(client)

    def _wait_for_reading(self) -> None:
        """Wait for a reading that began after this moment; one under way may be older. Pauses of
        readings that fail grow: after two of them it is the last state that is compared.
        """
        before = self._n_ended()

        def is_read() -> bool:
            fails = self._readings.status.n_failed_in_row >= 2
            return fails or self._n_ended() >= before + 2

        wait_for(is_read, "two readings", STALLS_AFTER)

    def _n_ended(self) -> int:
        status = self._readings.status
        return status.n_read + status.n_failed

    def wait_until_whole(self) -> None:
        """Wait until everything answers."""
        wait_for(lambda: self._is_whole(), "everything answers", STALLS_AFTER)
        time.sleep(EVERY)

    def _is_whole(self) -> bool:
        state = self._readings.state
        if state is None or self._readings.status.n_failed_in_row:
            return False
        snapshot = state.observation.reading.snapshot
        groups = [group for group in snapshot.groups if group.name == STEADY]
        are_reported = all(client.owned is not None for group in groups for client in group.clients)
        return not snapshot.errors and len(snapshot.brokers) == len(BROKERS) and are_reported


@contextmanager
def _frozen(*processes: int) -> Iterator[None]:
    """Stop processes while a block runs."""
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            os.kill(process, signal.SIGCONT)
