"""What a snapshot costs and holds on a bad day: ``python -m badday [--quick] [--report FILE]``.

The long form needs a JDK and Maven, for it starts real brokers; ``--quick`` has loopback servers
alone.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

from live_cluster import LiveCluster
from loopback import consume_stats

from badday import acl, frozen, runs
from rmqalloc.remoting import loose_json
from rmqalloc.snapshot.live import _answers as answers

QUEUES = 200_000


def main() -> None:
    """Run it, and write a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--report", help="write the page into this file, too")
    options = parser.parse_args()
    started = time.monotonic()
    parts = [
        "# A bad day",
        "",
        "`make evidence`, or `python -m badday --report build/evidence/badday.md`.",
        "",
    ]
    if options.quick:
        parts += [
            "## One broker silent",
            "",
            *taken(runs.quick()),
            "",
            "## Bodies",
            "",
            *bodies(QUEUES // 10),
        ]
    else:
        with LiveCluster() as cluster:
            parts += [
                "## One of two real brokers frozen, 1,000 groups",
                "",
                FROZEN,
                "",
                *taken(frozen.thousand(cluster)),
            ]
            parts += [
                "",
                "## Many clients, silent clients (loopback)",
                "",
                MANY,
                "",
                *taken(runs.many()),
            ]
        parts += [
            "",
            "## Bodies",
            "",
            *bodies(QUEUES),
            "",
            "## Privileges of ACL 2.0",
            "",
            ACL,
            "",
            *privileges(),
        ]
    parts += [
        "",
        f"{time.monotonic() - started:.0f} s in all, on a machine that others used as well.",
        "",
    ]
    print("\n".join(parts))
    if options.report:
        Path(options.report).write_text("\n".join(parts), encoding="utf-8")


FROZEN = """A name server and two brokers (RocketMQ 5.5.0), 1,000 groups made for it, three of them with two real Java clients
each; one broker is stopped by SIGSTOP. It costs two timeouts (5 s, with a deadline a sixth of that); every request that it
was not asked is named in the file. A client that waits for the frozen broker itself, to learn its offsets, is silent."""
MANY = """Servers on loopback. Clients are asked at 50 a second and broker; a broker waits 10 s for a silent client, on one of
its 16 threads, so twelve are asked at once."""
ACL = """A broker of RocketMQ 5.5.0 with authentication and authorization on: which single privilege lets a user send which
request. Name servers do not ask for any."""


def taken(found: list[runs.Taken]) -> list[str]:
    """A table of snapshots."""
    lines = [
        "| snapshot | seconds in all | reading | memory | exit code | groups | clients | clients that told | missing |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for one in found:
        missing = (
            ", ".join(f"{count:,} of {source}" for source, count in sorted(one.missing.items()))
            or "nothing"
        )
        seconds = f"{one.seconds:.1f} | {one.reading:.1f} | {one.megabytes} MB"
        counts = f"{one.groups:,} | {one.clients:,} | {one.told:,}"
        lines.append(f"| {one.what} | {seconds} | {one.code} | {counts} | {missing} |")
    return lines


def bodies(n: int) -> list[str]:
    """Time of reading many queues on both ways, and of refusing a hostile body, in seconds of the
    processor.
    """
    body = consume_stats(n).encode()
    text = body.decode()
    hostile = b"[" + b",".join([b"{}"] * 8_000_000) + b"]"
    timed = {
        f"offsets of {n:,} queues ({len(body) >> 20} MB), bare keys rewritten, then the standard decoder": lambda: (
            loose_json.loads(body)
        ),
        "the same by the tolerant parser": lambda: loose_json.tolerant(text),
        "the same to the model's objects": lambda: answers.lags(loose_json.loads(body)),
        f"{len(hostile) // 1_000_000} MB of nested empties, refused": lambda: refused(hostile),
    }
    return [
        "| body | processor seconds |",
        "| --- | ---: |",
        *(f"| {what} | {cpu(run):.2f} |" for what, run in timed.items()),
    ]


def refused(body: bytes) -> None:
    """Read what must not be read."""
    try:
        loose_json.loads(body)
    except loose_json.JsonError:
        return
    raise AssertionError("a hostile body was read")


def cpu(run: Callable[[], object]) -> float:
    """Seconds of the processor that something takes, the best of two."""
    best = float("inf")
    for _ in range(2):
        started = time.process_time()
        run()
        best = min(best, time.process_time() - started)
    return best


def privileges() -> list[str]:
    """The table of requests and privileges."""
    cluster = LiveCluster()
    try:
        cluster.start_name_server()
        rows = acl.table(acl.start(cluster))
    finally:
        cluster.stop()
    lines = ["| request | any user | allowed by |", "| --- | --- | --- |"]
    for code, without, by in rows:
        lines.append(
            f"| {code.name} ({int(code)}) | {'yes' if without else 'no'} | {'' if without else ', '.join(by)} |"
        )
    return lines


if __name__ == "__main__":
    sys.exit(main())
