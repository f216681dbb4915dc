"""Verbs on a snapshot of many groups, beside `json.load` of the same file."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from commands.course import RMQALLOC, Heat, run

SECTION, OF = "many-groups", 0
HEADER = (
    *("groups", "what", "wall", "spread", "CPU", "memory"),
    *("beside", "wall over it", "CPU over it"),
)
FLOOR = "json.load"
_LOAD = "import json, sys; json.load(open(sys.argv[1], encoding='utf-8'))"
_READ = "import sys, rmqalloc; rmqalloc.read(sys.argv[1])"


def heats(groups: int, folder: Path) -> Iterator[Heat]:
    """Yield the one heat."""
    before, after = folder / f"before-{groups}.json", folder / f"after-{groups}.json"
    packed = folder / f"before-{groups}.parquet"
    scaled, lone = ["--scale", "6"], ["-g", f"group-{groups // 2:05d}"]
    commands = {
        FLOOR: ["-c", _LOAD, str(before)],
        "read": ["-c", _READ, str(before)],
        "read, Parquet": ["-c", _READ, str(packed)],
        "check": [*RMQALLOC, "check", "-f", str(before)],
        "plan": [*RMQALLOC, "plan", "-f", str(before), *scaled],
        "plan, one group": [*RMQALLOC, "plan", "-f", str(before), *scaled, *lone],
        "diff": [*RMQALLOC, "diff", str(before), str(after)],
        "show": [*RMQALLOC, "show", "-f", str(before)],
        "show, one group": [*RMQALLOC, "show", "-f", str(before), *lone],
        "groups": [*RMQALLOC, "groups", "-f", str(before)],
    }
    beside = {**dict.fromkeys(commands, FLOOR), "read, Parquet": "read"}
    pairs = [(name, rival) for name, rival in beside.items() if name != FLOOR]
    prepare = partial(_prepare, groups, before, after, packed)
    yield Heat(f"{groups:,} groups", (f"{groups:,}",), commands, pairs, prepare)


def _prepare(groups: int, before: Path, after: Path, packed: Path) -> None:
    written(groups, before)
    written(groups, after, leaves_every=2)
    run([*RMQALLOC, "convert", str(before), "--out", str(packed)])


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
