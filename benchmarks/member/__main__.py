"""Measure what members cost, and print tables."""

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from statistics import median

import tied
from live_cluster import LiveCluster
from live_consumers import Consumers
from machines import cpu_model

from member.contenders import JAVA, ROOT, Consumer, watched
from member.stream import topic_name

KINDS = ("plain", "async", "in_order")
SIZES = (100, 4_096)
QUEUES = 4

COLUMNS = (
    "contender",
    "listener",
    "CPU per message, µs",
    "CPU per idle minute, s",
    "memory, MB",
    "all owned after, s",
    "half each after, s",
)
N_TOPICS, PER_TOPIC = 50, 20
SCALE = N_TOPICS * PER_TOPIC

_numbers = count(1)


@contextmanager
def streaming(size: int, n_topics: int, n_queues: int) -> Iterator[str]:
    """Serve endless messages; gives the address of the name server."""
    arguments = [sys.executable, "-m", "member.stream", *map(str, (size, n_topics, n_queues))]
    server = tied.popen(arguments, stdout=subprocess.PIPE)
    try:
        yield server.stdout.readline().decode().strip()
    finally:
        server.kill()
        server.wait()


def new_group() -> str:
    """Return the name of a group that has consumed nothing."""
    return f"quiet-{next(_numbers)}"


# Messages.


def messages(contenders: list[str | Path], given: argparse.Namespace) -> None:
    """Print the CPU time of a message by size, kind and contender; contenders take turns."""
    print("| bytes, listener | " + " | ".join(map(name_of, contenders)) + " | of the first |")
    print("|---|" + "---:|" * (len(contenders) + 1), flush=True)
    for size in given.size:
        for kind in given.kind:
            racing = [it for it in contenders if it != JAVA or kind != "async"]
            found = _per_message(size, kind, racing, given)
            cells = [spread(found[it]) if it in found else "–" for it in contenders]
            ratios = (
                [ours / before for before, ours in zip(*list(found.values())[:2], strict=True)]
                if len(racing) > 1
                else []
            )
            cells.append(spread(ratios, 3) if ratios else "–")
            print(f"| {size}, {kind} | " + " | ".join(cells) + " |", flush=True)


def _per_message(
    size: int, kind: str, contenders: list[str | Path], given: argparse.Namespace
) -> dict[str | Path, list[float]]:
    found: dict[str | Path, list[float]] = {it: [] for it in contenders}
    with streaming(size, 1, QUEUES) as name_server:
        for number in range(given.runs):
            for contender in contenders[:: 1 if number % 2 else -1]:
                topics = [topic_name(0)]
                with Consumer(contender, name_server, new_group(), kind, topics) as consumer:
                    consumer.wait_for(QUEUES)
                    time.sleep(given.warm)
                    found[contender].append(watched(consumer, given.seconds).per_message)
    return found


def spread(values: list[float], digits: int = 2) -> str:
    """Write a median and its range."""
    return f"{median(values):.{digits}f} ({min(values):.{digits}f}–{max(values):.{digits}f})"


def name_of(contender: str | Path) -> str:
    """Name of a column."""
    return contender if isinstance(contender, str) else contender.name


# Queues.


def queues(contenders: list[str | Path], given: argparse.Namespace) -> None:
    """Print what 1,000 queues in one process cost, at work and idle, and a second member."""
    topics = [topic_name(number) for number in range(N_TOPICS)]
    print("| " + " | ".join(COLUMNS) + " |")
    print("|---|---|" + "---:|" * (len(COLUMNS) - 2), flush=True)
    for kind in given.kind:
        with streaming(100, N_TOPICS, PER_TOPIC) as name_server:
            busy = {it: _busy(it, name_server, kind, topics, given) for it in contenders}
        with _cluster(given.cluster, topics) as name_server:
            for contender in contenders:
                cells = [name_of(contender), kind, busy[contender]]
                cells += _idle(contender, name_server, kind, topics, given)
                print("| " + " | ".join(cells) + " |", flush=True)


def _busy(contender, name_server, kind, topics, given):
    with Consumer(contender, name_server, new_group(), kind, topics) as consumer:
        consumer.wait_for(SCALE)
        time.sleep(given.warm)
        return f"{watched(consumer, given.seconds).per_message:.1f}"


def _idle(contender, name_server, kind, topics, given):
    group, begun = new_group(), time.monotonic()
    with Consumer(contender, name_server, group, kind, topics) as first:
        first.wait_for(SCALE)
        owned = time.monotonic() - begun
        time.sleep(given.warm)
        idle = watched(first, 60)
        memory = first.memory()
        begun = time.monotonic()
        with Consumer(contender, name_server, group, kind, topics) as second:
            second.wait_for(SCALE // 2)
            first.wait_for(SCALE // 2)
            halved = time.monotonic() - begun
    return [
        f"{idle.cpu / idle.seconds * 60:.2f}",
        f"{memory / 1e6:.0f}",
        f"{owned:.1f}",
        f"{halved:.1f}",
    ]


@contextmanager
def _cluster(address: str | None, topics: list[str]) -> Iterator[str]:
    if address is not None:
        yield address
        return
    with LiveCluster() as cluster:
        with Consumers(cluster.name_server) as admin:
            for topic in topics:
                for broker in cluster.brokers.values():
                    per_broker = PER_TOPIC // len(cluster.brokers)
                    admin.do("topic", topic=topic, broker=broker, read=per_broker)
        yield cluster.name_server


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m member", description="What a member costs")
    parser.add_argument("what", choices=["messages", "queues"])
    parser.add_argument("--beside", type=Path, help="another checkout, in turns with this one")
    parser.add_argument("--no-java", action="store_true", help="leave Java's consumer out")
    parser.add_argument("--kind", action="append", choices=KINDS)
    parser.add_argument("--size", action="append", type=int, help="bytes of a message")
    parser.add_argument("--runs", type=int, default=5, help="rounds of messages")
    parser.add_argument("--seconds", type=float, default=5, help="of each measurement")
    parser.add_argument("--warm", type=float, default=5, help="seconds before it")
    parser.add_argument("--cluster", help="name server of a cluster that has the topics")
    given = parser.parse_args()
    given.kind, given.size = given.kind or list(KINDS), given.size or list(SIZES)
    contenders = [*([given.beside.resolve()] if given.beside else []), ROOT]
    contenders += [] if given.no_java else [JAVA]
    print(f"{cpu_model()}\n", flush=True)
    {"messages": messages, "queues": queues}[given.what](contenders, given)


if __name__ == "__main__":
    main()
