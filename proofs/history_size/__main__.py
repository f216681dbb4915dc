"""Record a simulated year and measure its file: ``python -m history_size [--groups N] [--quick]
[--report FILE]``.

Every group has 16 queues and four clients under AVG. In a year each has 26 rolling deploys (each
client leaves, its successor joins, with an id of its own), 12 crashes and two resizes. The times
are simulated, the Recorder and its file are real. Ends with 1 if 100,000 groups would need 5 GB or
more, or an answer takes 100 ms or more at the 99th percentile.
"""

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

from rmqalloc import strategy
from rmqalloc.history import History, Recorder
from rmqalloc.model import MessageQueue
from rmqalloc.snapshot.live.rereading import ClusterReading
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker
from rmqalloc.watching import Change

N_CLIENTS, N_QUEUES, YEAR, START, EVERY = 4, 16, 365 * 86400, 1_780_000_000, 30
DEPLOYS, CRASHES, RESIZES, GOAL, ASKED = 26, 12, 2, 100_000, 300
MOVED_LATER = 0.3
"""Share of changes whose moves are first seen a reading after the client."""


class SimulatedGroup:
    """One group: its clients, its owners, and the moments at which it changes."""

    def __init__(self, number, draw):
        self.name, self.topic, self._draw, self._n = (
            f"consumer-group-{number:06d}",
            f"topic-{number:06d}",
            draw,
            0,
        )
        self.queues = [MessageQueue(self.topic, f"broker-{i % 4}", i // 4) for i in range(N_QUEUES)]
        self.host = f"10.{number // 65536}.{number // 256 % 256}.{number % 256}"
        self.clients = [self.fresh() for _ in range(N_CLIENTS)]
        self.owners = {}
        self.plan = sorted(self._plan())

    def fresh(self):
        self._n += 1
        return f"{self.host}@{self._draw.randrange(1, 65536)}#{self._draw.randrange(1 << 50)}"

    def _plan(self):
        for _ in range(DEPLOYS):
            at = self._draw.randrange(86400, YEAR - 86400)
            for i in range(N_CLIENTS):
                yield from ((at + 240 * i, "leave"), (at + 240 * i + 120, "join"))
        for _ in range(CRASHES):
            at = self._draw.randrange(86400, YEAR - 86400)
            yield from ((at, "leave"), (at + 300, "join"))
        for i in range(RESIZES):
            yield self._draw.randrange(YEAR // 3, YEAR // 2) + i * YEAR // 3, ("join", "leave")[i]

    def changed(self, what, before, after, moved_after):
        """Return what a change of the clients is seen as: of a member, and of its queues."""
        gone = None
        if what == "join" or len(self.clients) < 2:
            come = self.fresh()
            self.clients.append(come)
            member = Change((self.name, come), None, 1, before, after)
        else:
            gone = self.clients.pop(0)
            member = Change((self.name, gone), 1, None, before, after)
        return [member], self.moves(after if moved_after > after else before, moved_after)

    def moves(self, before, after):
        owners = strategy("AVG").assign(self.queues, sorted(self.clients)).owners
        new = {
            queue: (sorted(self.clients)[i],)
            for queue, i in zip(self.queues, owners.tolist(), strict=True)
        }
        old, self.owners = self.owners, new
        return [
            Change((self.name, q), old.get(q), new[q], before, after)
            for q in self.queues
            if old.get(q) != new[q]
        ]


def observation(groups, at, members=(), moves=(), settled=None):
    """An observation of the groups that changed; of the others, which are as they were, nothing is
    said.
    """
    topics = tuple(
        Topic(g.topic, tuple(TopicBroker(f"broker-{i}", 4) for i in range(4))) for g in groups
    )
    said = tuple(
        Group(g.name, (g.topic,), tuple(Client(c, owned=(), version="V5_3_1") for c in g.clients))
        for g in groups
    )
    reading = ClusterReading(Snapshot(topics, said), at, at, {}, frozenset(), True, {})
    given = {"members": tuple(members), "moves": tuple(moves), "settled": settled or {}}
    return SimpleNamespace(reading=reading, raised=(), cleared=(), lasting=(), **given)


def record(path, n_groups, seed):
    draw = random.Random(seed)
    groups = [SimulatedGroup(i, draw) for i in range(n_groups)]
    events = sorted((at, i, what) for i, group in enumerate(groups) for at, what in group.plan)
    with Recorder(path, keep=3 * YEAR, max_bytes=1 << 40, gap_after=2 * YEAR) as recorder:
        members = [
            Change((g.name, c), None, 1, None, float(START)) for g in groups for c in g.clients
        ]
        moves = [move for g in groups for move in g.moves(None, float(START))]
        recorder.record(observation(groups, START))
        recorder.record(observation(groups, START + EVERY, members, moves))
        recorder._present._settings = lambda *_: ()  # unchanged, as all settings are from here on
        begun, last = time.monotonic(), START + EVERY
        for at, i, what in events:
            seen = float(max(START + at - at % EVERY, last + EVERY // 30))
            later = seen + EVERY if draw.random() < MOVED_LATER else seen
            member, moved = groups[i].changed(what, seen - EVERY, seen, later)
            last = max(last + 0.001, later + EVERY)
            recorder.record(
                observation(
                    [groups[i]], last, member, moved, {groups[i].name: later - seen + EVERY}
                )
            )
        for day in (1, 2):  # the second confirms the first
            recorder.record(observation([], START + YEAR + 86400 * day))
        seconds = time.monotonic() - begun
    return len(events), seconds


def asked(path, n_groups, seed, forget):
    """Milliseconds of ``owners_at`` for random groups and seconds, each a connection of its own."""
    draw, found, history = random.Random(seed), [], History(path)
    for _ in range(ASKED):
        name, at = (
            f"consumer-group-{draw.randrange(n_groups):06d}",
            START + draw.randrange(86400, YEAR),
        )
        if forget:
            forgotten(path)
        begun = time.perf_counter()
        owners = history.owners_at(name, at).owners
        found.append(1000 * (time.perf_counter() - begun))
        assert len(owners) == N_QUEUES
    return sorted(found)


def forgotten(path):
    """Drop the file from the page cache, as far as the system does that."""
    descriptor = os.open(path, os.O_RDONLY)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


def first_answer(path, n_groups):
    """Seconds of a new process until it has said who owned what."""
    forgotten(path)
    code = (
        "import sys, time; begun = time.perf_counter(); from rmqalloc.history import History;"
        "loaded = time.perf_counter(); History(sys.argv[1]).owners_at(sys.argv[2], float(sys.argv[3]));"
        "print(loaded - begun, time.perf_counter() - loaded)"
    )
    words = [
        sys.executable,
        "-c",
        code,
        path,
        f"consumer-group-{n_groups // 2:06d}",
        str(START + YEAR // 2),
    ]
    return [
        float(x)
        for x in subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    ]


def main():
    parser = argparse.ArgumentParser(prog="history_size", description=__doc__)
    parser.add_argument("--groups", type=int, default=1000)
    parser.add_argument("--quick", action="store_true", help="50 groups")
    parser.add_argument("--seed", type=int, default=43)
    parser.add_argument("--report", help="write the figures, too")
    given = parser.parse_args()
    n = 50 if given.quick else given.groups
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/year.history"
        n_events, seconds = record(path, n, given.seed)
        size = os.path.getsize(path)
        warm, cold = asked(path, n, 1, False), asked(path, n, 2, True)
        loaded, first = first_answer(path, n)
    whole = size / n * GOAL / 1e9
    p99 = max(each[int(len(each) * 0.99)] for each in (warm, cold))
    lines = [
        f"{n:,} groups of {N_QUEUES} queues and {N_CLIENTS} clients, {n_events:,} changes of clients in a simulated year",
        f"file: {size:,} bytes, {size / n:,.0f} a group and year",
        f"{GOAL:,} groups, extrapolated from these: {whole:.2f} GB (goal: under 5)",
        f"written: {n_events / seconds:,.0f} changes a second, each its own transaction",
        *(
            f"owners of a group at a random second, {what}: p50 {each[len(each) // 2]:.1f} ms, "
            f"p99 {each[int(len(each) * 0.99)]:.1f} ms (goal: under 100)"
            for what, each in (("warm", warm), ("page cache dropped", cold))
        ),
        f"a new process: {1000 * loaded:.0f} ms to import, {1000 * first:.1f} ms to answer",
        f"most memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024:,} MiB",
    ]
    print("\n".join(lines))
    if given.report:
        text = "# The size of a history\n\n" + "\n".join(f"- {line}" for line in lines) + "\n"
        Path(given.report).write_text(text, encoding="utf-8")
    return int(whole >= 5 or p99 >= 100)


if __name__ == "__main__":
    sys.exit(main())
