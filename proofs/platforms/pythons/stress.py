"""``python -m platforms.pythons.stress [--seconds S] [--threads N]``: many threads over one fleet and one
rule of each kind.

Threads begin every round together, over a new fleet, so that what is computed when first read is
computed by all of them at once. Meanwhile another thread lengthens and shortens a list of queues
that all of them divide. Every answer is compared with that of one thread. Ends with 1 if one
differs. Balance and movement are asked for where there is pyarrow, which their room imports.
"""

import argparse
import json
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from random import Random
from threading import Barrier, Event, Thread

import numpy as np
from thread_fleets import RULES, fleet_of

from rmqalloc import MessageQueue, strategy
from rmqalloc.lazy import lazy_property

try:
    from rmqalloc.evaluation.balance import balance
    from rmqalloc.evaluation.movement import movement
except ModuleNotFoundError as missing:
    if missing.name != "pyarrow":
        raise
    balance = movement = None

SEEDS = (5, 7, 11)
MORE_RULES = {"CONSISTENT_HASH_BOUNDED": {}, "ORDINAL": {}, "STABLE": {}}
LEAST, MOST = 4, 64
QUEUES = [MessageQueue("topic", f"broker-{i % 4}", i // 4) for i in range(MOST)]
CLIENTS = [f"10.0.0.{i}@{i}" for i in range(5)]


def plain(value):
    """A value that says whether two answers are the same."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, tuple | list):
        return tuple(map(plain, value))
    if isinstance(value, MessageQueue | str | int | float | bool | None):
        return value
    return plain([getattr(value, name) for name in sorted(lazy_names(value))])


def lazy_names(thing):
    """What is computed when first read."""
    return [
        name
        for one in type(thing).__mro__
        for name, made in vars(one).items()
        if isinstance(made, lazy_property)
    ]


def fleet_jobs(rules):
    """What threads ask of one fleet, by name."""
    jobs = {
        f"{name} of a fleet": lambda f, rule=rule: rule.assign_fleet(f, fresh(f))
        for name, rule in rules.items()
    }
    jobs["two threads in one"] = lambda f: rules["CONSISTENT_HASH"].assign_fleet(
        f, fresh(f), threads=2
    )
    jobs["sorted"] = lambda f: rules["AVG"].assign_fleet(f.sorted())
    jobs["properties of the fleet"] = lambda f: f
    jobs["properties of its lists"] = lambda f: [f.queue_lists, f.client_lists]
    if balance is None:
        return jobs
    jobs["balance"] = lambda f: list(balance(f, rules["AVG"].assign_fleet(f)))
    jobs["movement"] = lambda f: list(
        movement(f, rules["AVG"].assign_fleet(f), f, rules["AVG_BY_CIRCLE"].assign_fleet(f))
    )
    return jobs


def fresh(fleet):
    """A thread's own place for owners, filled with what no answer holds."""
    return np.full(int(fleet.queue_offsets[-1]), -9, np.int32)


def group_jobs(rules):
    """What threads ask of one list of queues: all owners, and the queues of one client."""
    jobs = {}
    for name, rule in rules.items():
        jobs[f"{name}.assign"] = lambda queues, rule=rule: rule.assign(queues, CLIENTS).owners
        jobs[f"{name}.allocate"] = lambda queues, rule=rule: rule.allocate(
            "g", CLIENTS[1], queues, CLIENTS
        )
    return jobs


class Stress:
    """Rounds of threads, and what they answered otherwise than one thread does."""

    def __init__(self, threads, seed=1):
        rules = {name: strategy(name, **given) for name, given in (RULES | MORE_RULES).items()}
        self.fleet_jobs, self.group_jobs = fleet_jobs(rules), group_jobs(rules)
        self.threads, self.seed, self.rounds = threads, seed, 0
        self.asked, self.differ = Counter(), Counter()
        self.queues, self.over = list(QUEUES), Event()
        self.alone = {
            seed: {n: plain(job(fleet_of(seed))) for n, job in self.fleet_jobs.items()}
            for seed in SEEDS
        }
        # A list that changes is, whenever it is looked at, the first so many queues: any of these
        # answers is right.
        self.possible = {
            name: {plain(job(QUEUES[:size])) for size in range(LEAST, MOST + 1)}
            for name, job in self.group_jobs.items()
        }

    def run(self, seconds):
        """Rounds until the time is up."""
        end = time.monotonic() + seconds
        changes = Thread(target=self._change)
        changes.start()
        try:
            with ThreadPoolExecutor(self.threads) as pool:
                while time.monotonic() < end or not self.rounds:
                    self._round(pool, end)
        finally:
            self.over.set()
            changes.join()
        return self

    def _change(self):
        """Lengthen and shorten the shared list, until it is over."""
        while not self.over.is_set():
            for size in range(LEAST, MOST):
                self.queues.append(QUEUES[len(self.queues)]) if len(
                    self.queues
                ) <= size else self.queues.pop()
            del self.queues[LEAST + self.rounds % 8 :]

    def _round(self, pool, end):
        seed = SEEDS[self.rounds % len(SEEDS)]
        fleet, together = fleet_of(seed), Barrier(self.threads)
        for asked, differ in pool.map(
            lambda i: self._work(i, seed, fleet, together, end), range(self.threads)
        ):
            self.asked += asked
            self.differ += differ
        self.rounds += 1

    def _work(self, thread, seed, fleet, together, end):
        """One thread's jobs of a round, in an order of its own."""
        random, asked, differ = Random(f"{self.seed} {self.rounds} {thread}"), Counter(), Counter()
        fleet_names, group_names = list(self.fleet_jobs), list(self.group_jobs)
        random.shuffle(fleet_names)
        random.shuffle(group_names)
        together.wait(timeout=600)
        for name in fleet_names:
            outcome = answer(self.fleet_jobs[name], fleet)
            asked[name] += 1
            if outcome != self.alone[seed][name]:
                differ[name] += 1
        for name in group_names * 4:
            for queues, label in ((QUEUES, name), (self.queues, f"{name} of a list that changes")):
                asked[label] += 1
                if (outcome := answer(self.group_jobs[name], queues)) not in self.possible[name]:
                    differ[f"{label}: {outcome}" if isinstance(outcome, str) else label] += 1
        return asked, differ


def answer(job, asked_of):
    """What a job answers, or its error."""
    try:
        return plain(job(asked_of))
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:80]


def stressed(seconds, threads, seed=1):
    """Run for some seconds with threads that take turns often; what came of it."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        done = Stress(threads, seed).run(seconds)
    finally:
        sys.setswitchinterval(interval)
    return {
        "answers": done.asked.total(),
        "differ": done.differ.total(),
        "differences": dict(done.differ.most_common(12)),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--threads", type=int, default=16)
    given = parser.parse_args()
    counts = stressed(given.seconds, given.threads)
    print(json.dumps(counts))
    return int(counts["differ"] > 0)


if __name__ == "__main__":
    sys.exit(main())
