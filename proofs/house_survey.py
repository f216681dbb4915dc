"""The structure of a checkout in figures: ``python -m house_survey [--quick] [--report PAGE]``.

``--root`` names another checkout.

Rooms, what they import, circles (imports inside functions and under TYPE_CHECKING included), names
that occur more than once, public names, and four walks through the code, each with the files it
enters and the Python functions that return on its way.
"""

import argparse
import ast
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

from checkout import DATA, ROOT
from source_modules import circles, needs_of, python_modules, repeated

BEFORE = DATA / "house-before.json"
COUNTS = {"modules": "modules", "lines": "lines", "public": "public names"}
WALKS = """
import sys, json, io, contextlib, pathlib
def walk(action):
    files, returns = set(), 0
    def seen(frame, event, _):
        nonlocal returns
        name = frame.f_code.co_filename
        if ("/rmqalloc/" in name or "/spark_udfs/" in name) and "/tests/" not in name and not name.endswith("/lazy.py"):
            files.add(name)
            returns += event == "return"
    action()  # what is imported and kept at the first call is not the walk
    sys.setprofile(seen)
    try:
        action()
    finally:
        sys.setprofile(None)
    return [len(files), returns]

import pyarrow as pa
from rmqalloc.snapshot.files import read_snapshot
from rmqalloc.report.html import report
try:
    from rmqalloc.plans import plan_snapshot
except ImportError:
    from rmqalloc.whatif.plans import plan_snapshot
seed = next(str(path) for path in pathlib.Path(ROOT).rglob("examples/snapshots/seed.yaml"))
change = [{"name": "one less", "changes": [{"remove_clients": {"count": 1}}]}]

try:
    from spark_udfs._arrow_owners import allocate_arrays
except ImportError:
    from spark_udfs.columns import allocate as allocate_arrays
queues = [[{"broker_name": "b", "queue_id": i} for i in range(4)]]
lists = pa.array(queues), pa.array([["c1", "c2"]])

from loopback import Loopback
from rmqalloc.snapshot.live._take import take_snapshot

from little_cluster import LittleCluster, manager_of, push, started
cluster = LittleCluster()
cluster.add_topic("T", 5)
consumer = started(push(cluster, "x", manager=manager_of(cluster)))
cluster.clock.run_for(3000)

with Loopback() as servers:
    print(json.dumps({
        "snapshot file to report": walk(lambda: report(plan_snapshot(read_snapshot(seed), change))),
        "Arrow batch to owners to Arrow, as a Spark worker does": walk(lambda: allocate_arrays("AVG", *lists)),
        "live answers to snapshot": walk(lambda: take_snapshot([servers.name_server])),
        "one do_rebalance of one topic": walk(lambda: consumer.rebalance.do_rebalance(False)),
    }))
"""


def room_of(module, modules):
    """The room of a module: a folder of the package, or a file beside them."""
    parts = module.split(".")
    if (
        parts[:2] == ["spark_udfs", "job"]
        and modules.get("spark_udfs.job", Path()).name == "__init__.py"
    ):
        return "spark_udfs.job"
    return ".".join(parts[: 1 if parts[0] == "spark_udfs" else 2])


def public_names(name, path):
    """Names that a module offers: those of its ``__all__``, else what it defines without an
    underscore.
    """
    if any(part.startswith("_") and part != "__main__" for part in name.split(".")):
        return []
    tree = ast.parse(path.read_text())
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(
            getattr(one, "id", "") == "__all__" for one in node.targets
        ):
            return list(ast.literal_eval(node.value))
    defined = [node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    return [one for one in defined if not one.startswith("_")]


def walks_of(root):
    """Files entered and functions returned from on each of the four walks.

    They go through the checkout's own package if it is compiled in place, and else through the one
    that is installed.
    """
    is_compiled = any((root / "rmqalloc" / "_engine").glob("*.so"))
    folders = [*([root] if is_compiled else []), root / "tests" / "support", root / "tests"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))}
    command = [sys.executable, "-c", f"ROOT = {str(root)!r}\n{WALKS}"]
    done = subprocess.run(
        command, env=environment, cwd=root, capture_output=True, text=True, timeout=120, check=True
    )
    return json.loads(done.stdout)


def survey(root):
    """All figures of a checkout, as plain data."""
    modules = python_modules(root)
    needs = needs_of(modules)
    lines = Counter()
    arrows = defaultdict(set)
    for name, path in modules.items():
        lines[room_of(name, modules)] += len(path.read_text().splitlines())
        arrows[room_of(name, modules)] |= {room_of(one, modules) for one in needs[name]}
    offered = sorted(
        {(name, one) for name, path in modules.items() for one in public_names(name, path)}
    )
    return {
        "modules": len(modules),
        "lines": sum(lines.values()),
        "rooms": {room: [n, sorted(arrows[room] - {room})] for room, n in lines.most_common()},
        "circles": sorted(circles(needs)),
        "repeated": {kind: sorted(found) for kind, found in repeated(modules).items()},
        "public": len(offered),
        "walks": walks_of(root),
    }


def figures(before, after):
    """Rows of the first table of the page."""
    yield from ((text, before[key], after[key]) for key, text in COUNTS.items())
    yield (
        "modules in circles of imports, hidden ones included",
        len(before["circles"]),
        len(after["circles"]),
    )
    for kind in ("modules", "classes", "functions"):
        yield (
            f"names of {kind} that several have",
            len(before["repeated"][kind]),
            len(after["repeated"][kind]),
        )
    largest = [max((n, room) for room, (n, _) in one["rooms"].items()) for one in (before, after)]
    yield (
        "largest room",
        *(
            f"{room}, {n / one['lines']:.1%}"
            for (n, room), one in zip(largest, (before, after), strict=True)
        ),
    )


def table(head, rows):
    """A table of Markdown; numbers with commas."""
    yield from ("", f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}")
    for row in rows:
        yield f"| {' | '.join(f'{cell:,}' if isinstance(cell, int) else str(cell) for cell in row)} |"
    yield ""


def page_of(before, after):
    """The page of both."""
    walks = (
        (name, before["walks"][name][0], new[0], before["walks"][name][1], new[1])
        for name, new in after["walks"].items()
    )
    rooms = (
        (f"`{room}`", n, f"{n / after['lines']:.1%}", ", ".join(arrows).replace("rmqalloc.", ""))
        for room, (n, arrows) in after["rooms"].items()
    )
    return "\n".join(
        [
            "# The structure of the code",
            "",
            "Made by `make evidence` (`proofs/house_survey.py`): before the rooms were rebuilt, and now.",
            *table(("figure", "before", "now"), figures(before, after)),
            "A walk is the code that one call enters; what is imported and kept at the first call is not counted.",
            *table(("walk", "files before", "now", "returns before", "now"), walks),
            *table(("room", "lines", "share", "imports"), rooms),
            *(
                f"{kind.capitalize()} of one name: {', '.join(names) or 'none'}.\n"
                for kind, names in after["repeated"].items()
            ),
        ]
    )


def main():
    """Print the figures, or write the page of before and now."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout to measure")
    parser.add_argument("--keep", type=Path, help="write the figures into this file")
    parser.add_argument("--report", type=Path, help="write the page of before and now")
    parser.add_argument(
        "--quick", action="store_true", help="changes nothing: all of it takes seconds"
    )
    options = parser.parse_args()
    found = survey(options.root)
    if options.keep:
        options.keep.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    page = (
        page_of(json.loads(BEFORE.read_text(encoding="utf-8")), found)
        if BEFORE.exists()
        else json.dumps(found, indent=1)
    )
    if options.report:
        options.report.write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
