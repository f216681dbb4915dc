"""Rolling restarts of real consumers, beside what was predicted: ``python -m restart_evidence
[--quick] [--report FILE]``.

A real RocketMQ on loopback; groups of 12 consumers in 2 processes and of 48 in 4, under AVG and
under the classes of ``java/``. Fails if other queues move than predicted. Takes about a quarter of
an hour.
"""

import argparse
import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path

import strategy_programs
from live_cluster import LiveCluster
from live_consumers import Consumers
from live_proofs import Tally, make_topic
from live_restarts import PER_SECOND, Restart, restarted

STRATEGIES = ("AVG", "ORDINAL/1", "STABLE/1")
SIZES = ((12, 2, 24), (48, 4, 96))
"""Consumers, processes, and queues of each of two brokers."""

HEAD = """# Rolling restarts of real consumers

Java consumers at a real RocketMQ of two brokers, each with an instance name of its own (`web-0`, `web-1`, ...) and RocketMQ's
settings: they rebalance when they hear of each other, once a second at most, and every 20 s. They are shut down and started
again one by one, from the last name to the first. A step is over when the consumers, running info and the engine agree on every
owner. About {per_second} messages a second are sent meanwhile. `rmqalloc rollout restart --order reversed` was asked before, on
a live snapshot that says what strategies the clients report. Made by `make evidence` (`proofs/restart_evidence.py`),
which fails if other queues move than predicted.

Moves and owners are what the consumers report about themselves whenever their queues change, looked at every 50 ms; a consumer
that is shut down owns nothing from the first moment of that. Under "unowned" and "double-owned" stand the largest number of
queues at one moment and seconds summed over queues, each beside its prediction, which supposes notices and the settings above.
A client drops what it loses before it takes what it gains, so for a moment more queues can be unowned than predicted. "Twice"
are messages that consumers of the group were given more than once.

| consumers | queues | strategy | moves | predicted | a queue | unowned | predicted | s | predicted | double-owned | predicted \
| s | predicted | sent | twice |
| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"""


def line(n_members: int, n_processes: int, name: str, found: Restart) -> str:
    """A row of the table."""
    said, seen = found.predicted, found.open
    cells = [
        f"{n_members} in {n_processes} JVMs", found.n_queues, name, found.moved, said["moved"], f"{found.per_queue:.2f}",
        seen.unowned, said["max_unowned"], f"{seen.unowned_seconds:.1f}", f"{said['unowned_queue_seconds']:.1f}",
        seen.double_owned, said["max_double_owned"],
        f"{seen.double_owned_seconds:.1f}", f"{said['double_owned_queue_seconds']:.1f}",
        f"{found.n_sent:,}", found.n_twice,
    ]  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


def of_size(
    cluster: LiveCluster,
    strategies: Sequence[str],
    n_members: int,
    n_processes: int,
    per_broker: int,
) -> list[tuple[str, Restart]]:
    """Restarts of groups of one size, by strategy."""
    topic, classes = f"restarting-{n_members}", strategy_programs.tested_java()
    found = []
    with contextlib.ExitStack() as stack:
        processes = [
            stack.enter_context(Consumers(cluster.name_server, (), more_classes=classes))
            for _ in range(n_processes)
        ]
        make_topic(cluster, processes[0], topic, per_broker)
        for name in strategies:
            found.append((name, restarted(cluster, processes, topic, name, n_members, Tally())))
            print(line(n_members, n_processes, *found[-1]), file=sys.stderr, flush=True)
    return found


def main() -> int:
    """Restart groups of all sizes; 1 if a prediction fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="twelve consumers, under AVG and ORDINAL alone"
    )
    parser.add_argument("--report", type=Path)
    arguments = parser.parse_args()
    n_strategies, n_sizes = (2, 1) if arguments.quick else (len(STRATEGIES), len(SIZES))
    lines, wrong = [HEAD.format(per_second=PER_SECOND)], []
    with LiveCluster() as cluster:
        for n_members, n_processes, per_broker in SIZES[:n_sizes]:
            for name, found in of_size(
                cluster, STRATEGIES[:n_strategies], n_members, n_processes, per_broker
            ):
                lines.append(line(n_members, n_processes, name, found))
                if found.moved != found.predicted["moved"]:
                    wrong.append(f"{n_members} consumers under {name}: {found.moved} moves")
    text = "\n".join([*lines, "", *(wrong or ["Every move was predicted, and no other."]), ""])
    if arguments.report:
        arguments.report.write_text(text, encoding="utf-8")
    print(text)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
