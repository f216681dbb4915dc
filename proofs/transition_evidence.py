"""Transitions as they are predicted and as they are simulated: ``python -m transition_evidence
[--quick] [--report FILE]``.

48 clients share 192 queues. They start at random moments without notices of the brokers, so that
their timers are out of step; then one leaves or one joins, by notice or not. The simulation is the
client half and the broker half of RocketMQ in virtual time, and shares no code with the prediction.
Every seed must keep the bounds (`check`), no more may exceed the percentile than chance allows, and
expected sums must be the mean of all seeds within four standard errors. What is over within `LATE`
does not count: a pass takes as long as its requests, and until it is over its client reads neither
what it gives up nor what it takes on.
"""

import argparse
import itertools
import math
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from rmqalloc.plans import plan_snapshot
from rmqalloc.simulation import Script, simulate
from rmqalloc.snapshot import Client, Group, Snapshot, Topic, TopicBroker

N_CLIENTS, PER_BROKER = 48, 96
NOTICES, CHANGE, END = 90_000, 100_000, 140_000
QUICK_SEEDS = 10
ONE = "p-25"
CHANGES = ("leaves", "joins")
STRATEGIES, WAYS = ("AVG", "CONSISTENT_HASH"), ("timer", "notice")
LATE = 50
"""Milliseconds that requests, and passes one after the other, may add to a wait: the simulated network takes 1 ms one way."""

HEAD = """# Transitions, predicted and simulated

One of {clients} clients on {queues} queues leaves, or one joins {others}; {seeds} seeds of the simulation, whose clients start
at random moments. What is over within {late} ms does not count: that is the time of a pass itself. Every cell is predicted /
simulated: the worst moment, the longest time in seconds that one queue is open, its 99th percentile (predicted: an upper bound)
and the sum over queues (simulated: the mean). Made by `make evidence` (`proofs/transition_evidence.py`), which fails if
a seed exceeds a bound, if more exceed the percentile than chance allows, or if the mean is more than four standard errors away.

| strategy | by | a client | unowned | s | p99 | queue-s | double-owned | s | p99 | queue-s |
| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"""


@dataclass(frozen=True)
class Seen:
    """What one seed shows of one change: most queues at one moment, the longest time of one in
    seconds, the sum over queues.
    """

    unowned: int
    unowned_seconds: float
    unowned_queue_seconds: float
    double_owned: int
    double_owned_seconds: float
    double_owned_queue_seconds: float


def script(strategy, way, change, seed):
    """A group whose clients start at random moments of the first forty seconds."""
    rng = np.random.default_rng(seed)
    starts = {f"p-{i}": int(at) for i, at in enumerate(rng.integers(1, 40_000, N_CLIENTS), start=1)}
    join = {
        one: {"at": f"{at}ms", "join": {"group": "p", "clients": one}} for one, at in starts.items()
    }
    last = {"at": f"{CHANGE}ms", "shutdown": {"clients": ONE}}
    if change == "joins":
        last = join.pop(ONE) | {"at": f"{CHANGE}ms"}
    return Script.of(
        {
            "duration": f"{END}ms",
            "brokers": ["a", "b"],
            "topics": [{"name": "t", "read_queue_nums": PER_BROKER}],
            "groups": [{"name": "p", "topics": "t", "clients": 0, "strategy": strategy}],
            "broker_settings": [{"notify_consumer_ids_changed_enable": False}],
            "events": [
                *sorted(join.values(), key=lambda one: int(one["at"][:-2])),
                {"at": f"{NOTICES}ms", "notices": {"enabled": way == "notice"}},
                last,
            ],
            "seed": seed,
        }
    )


def lasting(spans):
    """Those that are not over at once."""
    kept = spans.end - spans.start > LATE
    return type(spans)(spans.queue[kept], spans.start[kept], spans.end[kept])


def most_at_once(spans):
    """The most spans that overlap."""
    times = np.concatenate([spans.start, spans.end])
    steps = np.concatenate([np.ones(spans.start.size, int), -np.ones(spans.end.size, int)])
    order = np.lexsort([steps, times])
    return int(np.cumsum(steps[order]).max(initial=0))


def simulated(strategy, way, change, seed):
    """What a seed shows."""
    [group] = simulate(script(strategy, way, change, seed)).ownerships
    spans = [some.within(CHANGE, END) for some in (group.gaps, group.double_owned)]
    kept = [lasting(one) for one in spans]
    return Seen(
        *(f for one in kept for f in (most_at_once(one), one.longest() / 1e3, one.total() / 1e3))
    )


def predicted(strategy, way, change):
    """The same as a plan has it."""
    ids = [f"p-{i}@1" for i in range(1, N_CLIENTS + 1)]
    topic = Topic("t", (TopicBroker("a", PER_BROKER), TopicBroker("b", PER_BROKER)))
    here, made = ids, {"remove_clients": {"ids": f"{ONE}@1"}}
    if change == "joins":
        here, made = [one for one in ids if one != f"{ONE}@1"], {"add_clients": {"ids": f"{ONE}@1"}}
    group = Group("p", ("t",), tuple(map(Client, here)), strategy=strategy)
    plan = plan_snapshot(Snapshot((topic,), (group,)), [{"name": "x", "changes": [made]}])
    return plan.transitions(way).to_pylist()[0]


def check(row, seen):
    """What of a prediction does not hold for all seeds."""
    for which in ("unowned", "double_owned"):
        most = max(getattr(one, which) for one in seen)
        if most > row[which]:
            yield f"{most} {which} at once, at most {row[which]} predicted"
        longest = sorted(getattr(one, f"{which}_seconds") for one in seen)
        if longest[-1] > row[f"{which}_seconds_worst"] + LATE / 1e3:
            yield f"{which} for {longest[-1]} s, at most {row[f'{which}_seconds_worst']} s predicted"
        n, over = (
            len(longest),
            sum(one > row[f"{which}_seconds_p99"] + LATE / 1e3 for one in longest),
        )
        if over > 0.01 * n + 4 * math.sqrt(
            0.01 * 0.99 * n
        ):  # of so many seeds, if one in a hundred may be
            yield f"{over} of {n} seeds had queues {which} for more than the 99th percentile, {row[f'{which}_seconds_p99']} s"
        sums = np.array([getattr(one, f"{which}_queue_seconds") for one in seen])
        error = 4 * sums.std() / math.sqrt(len(seen)) + LATE / 1e3 * row[which]
        if abs(sums.mean() - row[f"{which}_queue_seconds"]) > error:
            yield f"{sums.mean():.3f} {which} queue-seconds, {row[f'{which}_queue_seconds']:.3f} predicted, within {error:.3f}"


def line(strategy, way, what, row, seen):
    """A row of the table: predicted / simulated."""
    cells = [strategy, way, what]
    for which in ("unowned", "double_owned"):
        longest = np.array([getattr(one, f"{which}_seconds") for one in seen])
        sums = np.mean([getattr(one, f"{which}_queue_seconds") for one in seen])
        bound = "" if row[f"{which}_is_exact"] else "≤ "
        cells.append(f"{bound}{row[which]} / {max(getattr(one, which) for one in seen)}")
        cells.append(f"{row[f'{which}_seconds_worst']:g} / {longest.max():.3f}")
        cells.append(f"{row[f'{which}_seconds_p99']:.3f} / {np.quantile(longest, 0.99):.3f}")
        cells.append(f"{row[f'{which}_queue_seconds']:.2f} / {sums:.2f}")
    return f"| {' | '.join(cells)} |"


def proven(n_seeds, workers=2):
    """Lines of the table, and what does not hold."""
    lines, wrong = [], []
    with ProcessPoolExecutor(workers) as pool:
        for case in itertools.product(STRATEGIES, WAYS, CHANGES):
            row, seen = (
                predicted(*case),
                list(pool.map(partial(simulated, *case), range(n_seeds), chunksize=5)),
            )
            lines.append(line(*case, row, seen))
            wrong += [f"{', '.join(case)}: {one}" for one in check(row, seen)]
    return lines, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_SEEDS} seeds")
    parser.add_argument("--report", type=Path)
    arguments = parser.parse_args()
    n_seeds = QUICK_SEEDS if arguments.quick else arguments.seeds
    lines, wrong = proven(n_seeds)
    head = HEAD.format(
        clients=N_CLIENTS, others=N_CLIENTS - 1, queues=2 * PER_BROKER, seeds=n_seeds, late=LATE
    )
    text = "\n".join([head, *lines, "", *(wrong or ["Every prediction holds."]), ""])
    if arguments.report:
        arguments.report.write_text(text, encoding="utf-8")
    print(text)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
