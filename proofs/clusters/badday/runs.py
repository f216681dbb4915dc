"""Snapshots by the command line on a bad day: time, memory, exit code, and what the file holds."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import tied
from contexts import context
from live_cluster import LiveCluster
from loopback import Loopback
from programs import environment
from proof import Report

from rmqalloc.remoting.read_codes import ReadCode
from rmqalloc.snapshot.plain_data import from_document

COLUMNS = (
    "snapshot",
    "seconds in all",
    "reading",
    "memory",
    "exit code",
    "groups",
    "clients",
    "clients that told",
    "missing",
)


class Taken(NamedTuple):
    """One run of ``rmqalloc snapshot``."""

    what: str
    seconds: float
    reading: float
    megabytes: int
    code: int
    groups: int
    clients: int
    told: int
    missing: dict[str, int]


def snapshot(what: str, name_server: str, **limits: object) -> Taken:
    """Take a snapshot in a process of its own; ``limits`` are keys of a context."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "s.json"
        command = [
            sys.executable,
            "-m",
            "rmqalloc",
            "snapshot",
            "--out",
            str(out),
        ]
        started = time.monotonic()
        with (Path(folder) / "said").open("wb") as said:
            variables = environment() | context(Path(folder), name_server, **limits)
            process = tied.popen(command, env=variables, stdout=said, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.monotonic() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        text = (Path(folder) / "said").read_text(encoding="utf-8")
        assert "Traceback" not in text, text
        assert out.exists(), text
        found = from_document(json.loads(out.read_text(encoding="utf-8")))
    clients = [client for group in found.groups for client in group.clients]
    told = sum(client.owned is not None for client in clients)
    missing = Counter(error.source for error in found.errors)
    code = process.returncode
    # What bounds the rest is how long Python takes to start, to weigh the evidence and to write.
    reading = float(re.findall(r"answers in ([0-9.]+) s", text)[-1])
    return Taken(
        what,
        seconds,
        reading,
        used.ru_maxrss >> 10,
        code,
        len(found.groups),
        len(clients),
        told,
        dict(missing),
    )


def quick() -> list[Taken]:
    """Loopback servers, one of which goes silent: a few seconds."""
    groups = {f"g-{i:03}": ["c-0", "c-1"] for i in range(60)}
    with Loopback(groups=groups, frozen=["broker-1"]) as servers:
        silent = snapshot(
            "60 groups, one of two brokers silent, timeout 0.5 s", servers.name_server, timeout=0.5
        )
        bounded = snapshot(
            "the same, deadline 1 s", servers.name_server, timeout=0.5, deadline="1s"
        )
        asked = servers.count(ReadCode.GET_CONSUMER_CONNECTION_LIST, "broker-1")
    assert (silent.code, bounded.code) == (4, 4), (silent, bounded)
    assert silent.groups == 60 and silent.told == 120 and asked == 0, (silent, asked)
    # Settings and connections of all groups, and offsets of all.
    assert silent.missing == {"broker broker-1": 1 + 60 + 60}, silent
    assert bounded.groups > 0 and sum(bounded.missing.values()) >= 100, bounded
    return [silent, bounded]


def many() -> list[Taken]:
    """More clients than can be asked in the time, and clients that never answer."""
    ids = [f"10.0.{i // 250}.{i % 250}@{i}" for i in range(10_000)]
    with Loopback(groups={"large": ids}) as servers:
        large = snapshot(
            "10,000 clients of one group, deadline 30 s", servers.name_server, deadline="30s"
        )
    silent = ids[:40]
    with Loopback(groups={"g": ids[:80]}, silent=silent) as servers:
        quiet = snapshot("80 clients of one group, 40 of them silent", servers.name_server)
    assert large.code == quiet.code == 4 and large.clients == 10_000, large
    assert quiet.told == 40, quiet
    return [large, quiet]


def bad_day(report: Report, is_quick: bool) -> None:
    """Take snapshots on a bad day; the runs assert what they must hold and lack."""
    if is_quick:
        found = quick()
    else:
        from clusters.badday.frozen import thousand

        with LiveCluster() as cluster:
            found = thousand(cluster)
        found += many()
    report.head(COLUMNS)
    for one in found:
        missing = ", ".join(f"{n:,} of {source}" for source, n in sorted(one.missing.items()))
        seconds = (f"{one.seconds:.1f}", f"{one.reading:.1f}", f"{one.megabytes} MB")
        counts = (one.groups, one.clients, one.told)
        report.row(one.what, *seconds, one.code, *counts, missing or "nothing")
