"""Members of many queues at a broker that freezes or is slow: does the healthy broker ever expel
them?

Every run has a group of each kind with two members, most of whose queues are at the broker that
freezes. While it answers nothing, a member joins or leaves, so that somebody takes over queues
there, which asks that broker for offsets. The healthy broker is asked all the time who is in the
groups. It expels a client that is silent for `EXPIRES` and clients send heartbeats every second;
request timeouts are RocketMQ's own, so this is harder on clients than RocketMQ's settings.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

from live_cluster import BROKERS, LiveCluster
from live_proofs import wait_for

from clusters.beside_java.page import Section
from clusters.beside_java.play import JAVA_KEPT, PYTHON_KEPT, SETTLES_WITHIN
from clusters.beside_java.stage import JAVA, PYTHON, Group, Stage
from clusters.beside_java.wire import Refused, Server, client_ids, connected, set_topic

EXPIRES = 6_000
"""Milliseconds of silence after which the broker expels a client; it looks every 10 s."""
LASTS, RESTS = 16.0, 4.0
"""Seconds that a broker is frozen, longer than silence and a look of the other one together, and then answers again."""
SLOW, AWAKE = 0.95, 0.05
"""Seconds that a slow broker does nothing, in turn with seconds in which it works."""
LOOKS_EVERY = 0.1
HEALTHY, VICTIM = BROKERS
N_AT_HEALTHY, N_AT_VICTIM = 2, 60
STAYS, COMES = "stays-{}", "comes-{}"
N_RUNS = 50

HEAD = f"""## Members beside a frozen or a slow broker

Two groups of two members at two brokers, {N_AT_VICTIM} queues at the one and {N_AT_HEALTHY} at the other. In every
run the first broker answers nothing for {LASTS:g} s (SIGSTOP), or works in {1000 * AWAKE:.0f} ms of every second only, and
meanwhile a member joins or leaves, so that queues there get a new owner. The other broker is asked all the time (38 and 203)
who is in the groups; it expels a client after {EXPIRES / 1000:g} s of silence, where RocketMQ waits 120 s, and heartbeats are
sent every second instead of every 30.

| members | broker | runs | looks at the healthy broker | expelled by it | absent (s) |
| --- | --- | ---: | ---: | ---: | ---: |"""


class Watched(NamedTuple):
    """What the healthy broker said of a group while a broker froze or was slow."""

    kind: str
    way: str
    n_looks: int
    n_expelled: int
    absent: float


class Watcher:
    """Asks the healthy broker all the time; a member that should be there and is not has been
    expelled.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._due: dict[str, set[str]] = {}
        self._absent: dict[str, set[str]] = {}
        self._lock, self._ends = threading.Lock(), threading.Event()
        self._n_looks: dict[str, int] = {}
        self._n_expelled: dict[str, int] = {}
        self._seconds: dict[str, float] = {}
        self._thread = threading.Thread(target=self._watch, name="watcher")
        self._thread.start()

    def close(self) -> None:
        """Ask no more."""
        self._ends.set()
        self._thread.join()

    def expect(self, group: str, client_id: str) -> None:
        """From now on this client has to be there."""
        with self._lock:
            self._due.setdefault(group, set()).add(client_id)

    def release(self, group: str, client_id: str) -> None:
        """From now on this client may be gone."""
        with self._lock:
            self._due[group].discard(client_id)
            self._absent.get(group, set()).discard(client_id)

    def taken(self, group: str) -> tuple[int, int, float]:
        """Looks, expulsions and seconds of absence of a group since the last call."""
        with self._lock:
            return (
                self._n_looks.pop(group, 0),
                self._n_expelled.pop(group, 0),
                self._seconds.pop(group, 0.0),
            )

    def _watch(self) -> None:
        with Server(self._address) as broker:
            last = time.monotonic()
            while not self._ends.wait(LOOKS_EVERY):
                with self._lock:
                    due = {group: set(ids) for group, ids in self._due.items() if ids}
                seen = {group: _there(broker, group) for group in due}
                took, last = time.monotonic() - last, time.monotonic()
                with self._lock:
                    for group, there in seen.items():
                        absent = (due[group] & self._due[group]) - there
                        self._n_looks[group] = self._n_looks.get(group, 0) + 1
                        new = absent - self._absent.get(group, set())
                        self._n_expelled[group] = self._n_expelled.get(group, 0) + len(new)
                        self._seconds[group] = self._seconds.get(group, 0.0) + took * len(absent)
                        self._absent[group] = absent


def _there(broker: Server, group: str) -> set[str]:
    """Return the clients that both requests show."""
    try:
        return set(client_ids(broker, group)) & set(connected(broker, group))
    except Refused:  # nobody is there
        return set()


def expelled(n_runs: int = N_RUNS) -> Section:
    """Play all runs."""
    with healthy_and_other() as cluster:
        stages = {
            kind: Stage(cluster, [Group(f"held-{kind}", "AVG")], f"held-{kind}", 1, is_quick=True)
            for kind in KINDS
        }
        watcher = Watcher(cluster.brokers[HEALTHY])
        try:
            for kind, process in KINDS.items():
                _begin(stages[kind], process, watcher)
            found = [_run(stages, cluster, watcher, number) for number in range(n_runs)]
        finally:
            watcher.close()
            for stage in stages.values():
                stage.__exit__()
    rows = [
        _sum([one for run in found for one in run if (one.kind, one.way) == key]) for key in KEYS
    ]
    wrong = [
        f"{one.n_expelled} expelled members, {one.way}"
        for one in rows
        if one.kind == PYTHON and one.n_expelled
    ]
    wrong += [f"{one.kind} members were not looked at" for one in rows if not one.n_looks]
    lines = [_line(one, sum(run[0].way == one.way for run in found)) for one in rows]
    return Section("\n".join([HEAD, *lines, ""]), [one._asdict() for one in rows], wrong)


KINDS = {PYTHON: PYTHON_KEPT, JAVA: JAVA_KEPT}
WAYS = ("frozen", "slow")
KEYS = [(kind, way) for kind in KINDS for way in WAYS]


def _line(one: Watched, n_runs: int) -> str:
    cells = (one.kind, one.way, n_runs, f"{one.n_looks:,}", one.n_expelled, f"{one.absent:.0f}")
    return f"| {' | '.join(map(str, cells))} |"


def _sum(some: list[Watched]) -> Watched:
    kind, way = some[0][:2] if some else ("nobody", "")
    return Watched(
        kind,
        way,
        sum(one.n_looks for one in some),
        sum(one.n_expelled for one in some),
        sum(one.absent for one in some),
    )


@contextmanager
def healthy_and_other() -> Iterator[LiveCluster]:
    """Run two brokers that expel silent clients soon."""
    cluster = LiveCluster()
    try:
        cluster.start_name_server()
        for name in BROKERS:
            cluster.start_broker(name, channelExpiredTimeout=EXPIRES)
        for name in BROKERS:
            cluster.wait_for_broker(name)
        yield cluster
    finally:
        cluster.stop()


def _begin(stage: Stage, process: str, watcher: Watcher) -> None:
    [group] = stage.groups
    for name, n_queues in ((HEALTHY, N_AT_HEALTHY), (VICTIM, N_AT_VICTIM)):
        set_topic(stage.cluster.brokers[name], stage.topic, n_queues)
    stage.start(process)
    stage.join(process, STAYS.format(process))
    _wait_owned(stage)
    for member in stage.members.values():
        watcher.expect(group.name, member.client_ids[group.name])


def _wait_owned(stage: Stage) -> None:
    """Wait until every queue has an owner among the stage's members."""
    [group] = stage.groups

    def n_owned() -> int:
        held = stage.held()[group.name]
        owned = {
            queue for queues in held.values() for queue in queues if queue.topic == stage.topic
        }
        return (
            len(owned)
            if all(any(q.topic == stage.topic for q in queues) for queues in held.values())
            else 0
        )

    wait_for(
        lambda: n_owned() == N_AT_HEALTHY + N_AT_VICTIM, "all queues are owned", SETTLES_WITHIN
    )


def _run(
    stages: dict[str, Stage], cluster: LiveCluster, watcher: Watcher, number: int
) -> list[Watched]:
    """One run: the broker freezes or is slow, somebody comes or goes, and it answers again."""
    way = WAYS[number // 2 % 2]
    for stage in stages.values():
        watcher.taken(stage.groups[0].name)
    with ThreadPoolExecutor(len(stages)) as threads:
        with _disturbed(cluster.pid_of(VICTIM), way):
            ends = time.monotonic() + LASTS
            acts = [threads.submit(_act, stages[kind], KINDS[kind], watcher) for kind in KINDS]
            time.sleep(max(0.0, ends - time.monotonic()))
        for one in acts:
            one.result()
    time.sleep(RESTS)
    for stage in stages.values():
        _wait_owned(stage)
    found = [Watched(kind, way, *watcher.taken(stages[kind].groups[0].name)) for kind in KINDS]
    said = ", ".join(f"{one.kind} {one.n_expelled}" for one in found)
    print(f"  run {number + 1}: {way}: {said}", file=sys.stderr, flush=True)
    return found


def _act(stage: Stage, process: str, watcher: Watcher) -> None:
    """Join the second member, or have it leave if it is there."""
    [group], name = stage.groups, COMES.format(process)
    if name in stage.members:
        watcher.release(group.name, stage.members[name].client_ids[group.name])
        stage.leave(name)
    else:
        stage.join(process, name)
        with Server(stage.cluster.brokers[HEALTHY]) as broker:
            client_id = stage.members[name].client_ids[group.name]
            wait_for(lambda: client_id in _there(broker, group.name), f"{client_id} has joined")
        watcher.expect(group.name, client_id)


@contextmanager
def _disturbed(pid: int, way: str) -> Iterator[None]:
    """Freeze a broker, or let it work only now and then."""
    ends = threading.Event()

    def slow() -> None:
        while not ends.is_set():
            os.kill(pid, signal.SIGSTOP)
            ends.wait(SLOW)
            os.kill(pid, signal.SIGCONT)
            ends.wait(AWAKE)

    thread = threading.Thread(target=slow)
    if way == "frozen":
        os.kill(pid, signal.SIGSTOP)
    else:
        thread.start()
    try:
        yield
    finally:
        ends.set()
        if way != "frozen":
            thread.join()
        os.kill(pid, signal.SIGCONT)
