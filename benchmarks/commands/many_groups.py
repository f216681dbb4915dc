"""Verbs on a snapshot of many groups, beside `json.load` of the same file."""

import json
from collections.abc import Iterator
from pathlib import Path

from commands.course import PROGRAMS, in_turns, run

HEADER = (
    "groups",
    "what",
    "wall",
    "spread",
    "CPU",
    "memory",
    "wall over json.load",
    "CPU over json.load",
)


def written(groups: int, path: Path, leaves_every: int | None = None) -> Path:
    """Write a snapshot of groups of 4 clients, each on 3 topics of 16 queues; in every so many one
    client has left.
    """
    brokers = [
        {"broker_name": name, "read_queue_nums": 8, "write_queue_nums": 8}
        for name in ("broker-a", "broker-b")
    ]
    topics, found = [], []
    for group in range(groups):
        own = [f"topic-{group:05d}-{k}" for k in range(3)]
        topics += [{"name": name, "brokers": brokers} for name in own]
        stays = 3 if leaves_every and group % leaves_every == 0 else 4
        host = f"10.{group // 62500}.{group // 250 % 250}.{group % 250}"
        clients = [
            {"client_id": f"{host}@{1000 + k}#{10**12 + group * 7 + k}"} for k in range(stays)
        ]
        found.append(
            {
                "name": f"group-{group:05d}",
                "strategy": "AVG",
                "subscriptions": own,
                "clients": clients,
            }
        )
    document = {"apiVersion": "rmqalloc/v1", "kind": "Snapshot", "topics": topics, "groups": found}
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def contenders(before: Path, after: Path, packed: Path) -> dict[str, list[str]]:
    """Return the arguments of every contender."""
    verb = ["-m", "rmqalloc"]
    read = str(PROGRAMS / "read_snapshot.py")
    return {
        "json.load": [str(PROGRAMS / "json_load.py"), str(before)],
        "read": [read, str(before)],
        "read, Parquet": [read, str(packed)],
        "check": [*verb, "check", "-f", str(before)],
        "plan": [*verb, "plan", "-f", str(before), "--scale", "6"],
        "diff": [*verb, "diff", str(before), str(after)],
        "show": [*verb, "show", "-f", str(before)],
        "groups": [*verb, "groups", "-f", str(before)],
    }


def rows(groups: int, runs: int, folder: Path) -> Iterator[list[str]]:
    """Yield a row for every contender."""
    before = written(groups, folder / f"before-{groups}.json")
    after = written(groups, folder / f"after-{groups}.json", leaves_every=2)
    packed = folder / f"before-{groups}.parquet"
    run(["-m", "rmqalloc", "convert", str(before), "--out", str(packed)])
    taken = in_turns(contenders(before, after, packed), runs)
    base = taken["json.load"]
    for name, one in taken.items():
        yield [
            f"{groups:,}",
            name,
            *one.cells(),
            f"{one.wall / base.wall:.1f}",
            f"{one.cpu / base.cpu:.1f}",
        ]
