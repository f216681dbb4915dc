"""Read a large cluster of which a broker is frozen: ``python -m frozen_broker [--quick] [--report
FILE]``.

The cluster is simulated (`frozen_broker.servers`): 4 brokers, 10,000 groups with 16 queues and 4
clients each; one broker takes connections and never answers. Ends with 1 if a reading takes longer
than the time between readings, if a client list or an offset of another broker is missing, if a
broker got more requests than its budget, or if the reader needs too much memory.
"""

import argparse
import contextlib
import json
import subprocess
import sys
from pathlib import Path

import tied

from frozen_broker.servers import FROZEN, NAME_SERVER

GROUPS, PER_SECOND, EVERY, MOST_MEMORY = 10_000, 1000, 30, 300
QUICK = (500, 200, 10)
"""Groups, requests a second and seconds of a quick run."""

BURST = 1.1
"""A second of a server's clock may hold what 1.05 s let pass, and one request more."""

HEAD = """# A frozen broker costs its own share

`python -m frozen_broker`. Simulated servers on loopback, the reader in a process of its own: {groups:,} groups of 16 queues
and 4 clients on 4 brokers, 5 groups a topic, {per_second:,} requests a second to each server, a reading every {every} s. One
broker takes connections and requests and never answers. Complete is a group with all clients, and with offsets of all queues
of the other three brokers. Of the clients, some are asked in each reading, in rotation.

| reading | s | groups | with clients | with offsets | routes | clients known | other errors | requests | peak MiB | CPU s |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
"""


def main():
    parser = argparse.ArgumentParser(prog="frozen_broker", description=__doc__)
    parser.add_argument(
        "--quick",
        action="store_true",
        help="500 groups, 200 requests a second, a reading every 10 s",
    )
    parser.add_argument("--readings", type=int, default=3)
    parser.add_argument("--report", help="write the page, too")
    given = parser.parse_args()
    groups, per_second, every = QUICK if given.quick else (GROUPS, PER_SECOND, EVERY)
    page = [HEAD.format(groups=groups, per_second=per_second, every=every).rstrip()]
    rows, counted = measured(groups, per_second, every, given.readings)
    page += [row(i, one) for i, one in enumerate(rows, 1)]
    page += ["", "| server | requests | most in one second |", "| --- | ---: | ---: |"]
    page += [
        f"| {name} | {n:,} | {counted['most'][name]:,} |"
        for name, n in sorted(counted["requests"].items())
    ]
    wrong = [text for one in rows for text in faults(one, groups, every)]
    wrong += [
        f"{name} got {n:,} in a second"
        for name, n in counted["most"].items()
        if n > per_second * BURST
    ]
    page += ["", "Wrong: " + ("; ".join(dict.fromkeys(wrong)) or "nothing") + "."]
    print("\n".join(page))
    if given.report:
        Path(given.report).write_text("\n".join(page) + "\n", encoding="utf-8")
    return int(bool(wrong))


def measured(groups, per_second, every, readings):
    """Return a row per reading, and the requests that the servers counted."""
    pipes = {"stdout": subprocess.PIPE, "text": True}
    command = [sys.executable, "-m", "frozen_broker.servers", str(groups)]
    with (
        tied.popen(command, stdin=subprocess.PIPE, **pipes) as servers,
        contextlib.ExitStack() as ends,
    ):
        ends.callback(servers.kill)
        address = servers.stdout.readline().strip()
        options = [
            "--per-second",
            str(per_second),
            "--every",
            str(every),
            "--readings",
            str(readings),
        ]
        with tied.popen(
            [sys.executable, "-m", "frozen_broker.reader", address, *options], **pipes
        ) as reader:
            ends.callback(reader.kill)
            printed, _ = reader.communicate(timeout=(readings + 2) * every + 60)
        counted = json.loads(servers.communicate("", timeout=60)[0])
    return [json.loads(line) for line in printed.splitlines()], counted


def row(i, one):
    """Return a line of the table."""
    counts = [one[name] for name in ("groups", "clients", "offsets", "routes", "owned", "errors")]
    numbers = [f"{n:,}" for n in (*counts, sum(one["requests"].values()))]
    cells = (i, f"{one['seconds']:.1f}", *numbers, f"{one['memory']:.0f}", f"{one['cpu']:.1f}")
    return "| " + " | ".join(map(str, cells)) + " |"


def faults(one, groups, every):
    """Return what of a reading is not as it should be."""
    if one["seconds"] > every:
        yield f"a reading took {one['seconds']:.1f} s"
    for name in ("groups", "clients", "offsets"):
        if one[name] != groups:
            yield f"{groups - one[name]:,} groups without {name}"
    if one["errors"]:
        yield f"{one['errors']:,} errors of other servers than {FROZEN} (the {NAME_SERVER} among them)"
    if one["memory"] > MOST_MEMORY:
        yield f"the reader needs {one['memory']:.0f} MiB"


if __name__ == "__main__":
    sys.exit(main())
