"""How far a command line travels through the house: ``python -m trips [--quick] [--tree PATH
...]``.

Counts of some routes: files entered, calls of Python functions, rooms, changes of room and returns
to a room that was left before; `trips.counting` says exactly what counts. ``--tree`` counts the
same in another checkout, with its compiled modules, so that before and after stand in one table.
Ends with 1 if a route fails, or has other counts when it is run once more.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PROOFS = Path(__file__).parents[1]
COUNTS = ("files", "calls", "rooms", "changes", "returns")


def snapshot(n_clients: int, **of_the_last: object) -> str:
    """A group on 24 queues whose last client differs."""
    brokers = [{"broker_name": f"broker-{i}", "read_queue_nums": 8} for i in "abc"]
    clients = [{"client_id": f"c{i}"} for i in range(n_clients)]
    clients[-1] |= of_the_last  # type: ignore[arg-type]
    group = {"name": "g", "subscriptions": ["t"], "strategy": "AVG", "clients": clients}
    topics = [{"name": "t", "brokers": brokers}]
    return json.dumps(
        {"apiVersion": "rmqalloc/v2", "kind": "Snapshot", "topics": topics, "groups": [group]}
    )


FILES = {
    "four.json": snapshot(4),
    "five.json": snapshot(5),
    "stale.json": snapshot(4, sees_read_queue_nums={"t": {"broker-a": 8}}),
}
ROUTES = {
    "diff": "diff four.json five.json",
    "plan": "plan -f example:seed --scale 5 -g by-average",
    "plan, clients differ": "plan -f stale.json --remove-client c0",
    "check": "check -f example:live -o json",
    "rollout restart": "rollout restart -f example:48-pods -g by-average",
}


def imported_from() -> Path:
    """The folder that rmqalloc is imported from: this checkout, or where its wheel is installed."""
    found = importlib.util.find_spec("rmqalloc")
    if found is None or found.origin is None:
        sys.exit("rmqalloc is not there; `make dev` or `make install` makes it")
    return Path(found.origin).resolve().parents[1]


def counted(tree: Path, route: str) -> list[dict[str, int]]:
    """The counts of a route in a checkout, of two runs."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FILES.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        paths = os.pathsep.join([str(tree), str(PROOFS)])
        done = subprocess.run(
            [sys.executable, "-m", "trips.counting", str(tree), *ROUTES[route].split()],
            env=os.environ | {"PYTHONPATH": paths, "PYTHONHASHSEED": "0"}, cwd=folder, capture_output=True, text=True,
        )  # fmt: skip
    if done.returncode:
        sys.exit(f"{route} in {tree}: {done.stderr.strip()}")
    found: list[dict[str, int]] = json.loads(done.stdout)
    return found


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(
        prog="python -m trips", description="Files, calls and returns of command lines"
    )
    parser.add_argument("--quick", action="store_true", help="the first route alone")
    parser.add_argument(
        "--tree",
        type=Path,
        action="append",
        default=[],
        help="another checkout, counted before this",
    )
    options = parser.parse_args()
    trees = {"this one": imported_from()}
    trees = {path.resolve().name: path.resolve() for path in options.tree} | trees
    print(
        "| route | checkout | " + " | ".join(COUNTS) + " |\n| --- | --- |" + " ---: |" * len(COUNTS)
    )
    differing = []
    for route in list(ROUTES)[: 1 if options.quick else None]:
        for name, tree in trees.items():
            first, again = counted(tree, route)
            print(
                f"| {route} | {name} | " + " | ".join(f"{first[one]:,}" for one in COUNTS) + " |",
                flush=True,
            )
            if first != again:
                differing.append(f"{route} in {tree}: {first}, then {again}")
    print(*differing, sep="\n", end="", file=sys.stderr)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
