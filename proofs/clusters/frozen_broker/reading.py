"""Read a large simulated cluster of which a broker is frozen.

4 brokers, 10,000 groups with 16 queues and 4 clients each; one broker takes connections and never
answers. A reading must not take longer than the time between readings, no client list or offset of
another broker may be missing, no broker may get more requests than its budget, and the reader must
not need too much memory.
"""

import contextlib
import json
import subprocess
import sys

import tied

from clusters.frozen_broker.servers import FROZEN, NAME_SERVER, Servers

GROUPS, PER_SECOND, EVERY, MOST_MEMORY = 10_000, 1000, 30, 300
QUICK = (500, 200, 10)
"""Groups, requests a second and seconds of a quick run."""
READINGS = 3
BURST = 1.1
"""A second of a server's clock may hold what 1.05 s let pass, and one request more."""
COUNTS = ("groups", "clients", "offsets", "routes", "owned", "errors")


def frozen_broker(report, is_quick):
    """Read some times, and judge each reading and what the servers counted."""
    groups, per_second, every = QUICK if is_quick else (GROUPS, PER_SECOND, EVERY)
    readings, asked = measured(groups, per_second, every)
    report.head(("seconds", *COUNTS, "requests", "peak MiB", "CPU s"))
    for one in readings:
        figures = (sum(one["requests"].values()), f"{one['memory']:.0f}", f"{one['cpu']:.1f}")
        report.row(f"{one['seconds']:.1f}", *(one[name] for name in COUNTS), *figures)
        for text in faults(one, groups, every):
            report.fault(text)
    if not readings:
        report.fault("nothing was read")
    for name, by_second in asked.items():
        if max(by_second.values()) > per_second * BURST:
            report.fault(f"{name} got {max(by_second.values()):,} requests in a second")


def measured(groups, per_second, every):
    """Return figures of each reading, and requests of each server by the second."""
    with Servers(groups) as servers, contextlib.ExitStack() as ends:
        command = [sys.executable, "-m", "clusters.frozen_broker.reader", servers.name_server]
        command += ["--per-second", str(per_second), "--every", str(every)]
        command += ["--readings", str(READINGS)]
        reader = ends.enter_context(tied.popen(command, stdout=subprocess.PIPE, text=True))
        ends.callback(reader.kill)
        printed, _ = reader.communicate(timeout=(READINGS + 2) * every + 60)
    return [json.loads(line) for line in printed.splitlines()], servers.asked


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
