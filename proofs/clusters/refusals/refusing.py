"""Start members that brokers refuse, in releases with ACL 1.0 and ACL 2.0, and judge what their
authors see.

A start that a broker refuses must raise, and say which keys or settings are missing; the log has
one warning. A permission that is taken away from a running member must be one warning, and one line
when it is given back.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import tied
from live_cluster import LiveCluster
from proof import Report

from clusters.refusals.guarded import GROUP, QUEUES, SECRET, TOPIC, Acl1, Acl2, Guarded

RELEASES: dict[str, tuple[str | None, type[Guarded]]] = {
    "ACL 2.0, 5.5": (None, Acl2),
    "ACL 1.0, 4.9": ("4.9.7", Acl1),
}
LOOKS_AFTER = 20.0
"""Seconds until a member is looked at."""

CHANGES_WITHIN = 50.0
"""Seconds in which a change of permissions is noticed: heartbeats leave every 30 s."""

ALLOWED = ("allowed-user", SECRET)
SQL, BAD_SQL = ("a > 1", "SQL92"), ("a >>> ", "SQL92")
KEYS = {
    "no keys": None,
    "wrong secret": ("allowed-user", "another-secret"),
    "no permission for the topic": ("without-topic", SECRET),
    "no permission for the group": ("without-group", SECRET),
    "right keys": ALLOWED,
}


def refusals(report: Report, is_quick: bool) -> None:
    """Try every case in every release; the newest one alone in the short form."""
    for release, (version, kind) in list(RELEASES.items())[: 1 if is_quick else None]:
        with ExitStack() as stack:
            cluster = LiveCluster(version=version)
            stack.callback(cluster.stop)
            cluster.start_name_server()
            guarded = kind(cluster)
            report.head((release, "start()", "s", "queues", "log in 20 s", "refused in health()"))
            seen = together(
                stack, cluster.name_server, {name: (keys, ()) for name, keys in KEYS.items()}
            )
            seen |= together(stack, cluster.name_server, {"SQL92 off": (ALLOWED, SQL)})
            guarded.filter_properties()
            conditions = {"bad SQL92": (ALLOWED, BAD_SQL), "SQL92 on": (ALLOWED, SQL)}
            seen |= together(stack, cluster.name_server, conditions)
            for name, found in seen.items():
                show(report, name, found)
                judge(report, f"{release}, {name}", found, name in ("right keys", "SQL92 on"))
            taken_and_given(
                report, release, guarded, stack.enter_context(started(cluster.name_server, ALLOWED))
            )


Case = tuple[tuple[str, str] | None, tuple[str, ...]]
"""Keys, and an expression with its type."""


def together(stack: ExitStack, name_server: str, cases: Mapping[str, Case]) -> dict[str, Any]:
    """Start a member for every case, and return what each said after a while."""
    processes = {
        name: stack.enter_context(started(name_server, *case)) for name, case in cases.items()
    }
    began = {name: answer(process) for name, process in processes.items()}
    time.sleep(LOOKS_AFTER)
    return {name: began[name] | ended(process) for name, process in processes.items()}


def started(
    name_server: str, keys: tuple[str, str] | None, expression: tuple[str, ...] = ()
) -> subprocess.Popen[str]:
    """Start a process with one member."""
    case = {
        "name_server": name_server,
        "keys": keys,
        "expression": expression,
        "topic": TOPIC,
        "group": GROUP,
    }
    command = [sys.executable, "-m", "clusters.refusals.member", json.dumps(case)]
    return tied.popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def answer(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Return the next line of a member."""
    assert process.stdout is not None
    found: dict[str, Any] = json.loads(process.stdout.readline())
    return found


def asked(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Return how a member is doing."""
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()
    return answer(process)


def ended(process: subprocess.Popen[str]) -> dict[str, Any]:
    """End a member; how it was doing."""
    assert process.stdin is not None
    process.stdin.close()
    found = answer(process)
    process.wait()
    return found


def show(report: Report, name: str, found: dict[str, Any]) -> None:
    """Print a row."""
    levels = ", ".join(f"{n} {level}" for level, n in sorted(found["levels"].items())) or "nothing"
    refused = "no health()" if found["refused"] is None else "; ".join(found["refused"]) or "none"
    seconds = f"{found['seconds']:.1f}" if "seconds" in found else ""
    report.row(name, found.get("started", ""), seconds, found["queues"], levels, refused)
    report.data.append({"case": name, **found})


def judge(report: Report, name: str, found: dict[str, Any], is_granted: bool) -> None:
    """Find fault with what a member's author sees."""
    n_warnings = found["levels"].get("WARNING", 0)
    if is_granted:
        is_right = found["started"] == "started" and found["queues"] == QUEUES and n_warnings == 0
    else:
        says = found["started"].partition(":")[0] == "RefusedError" and "; " in found["started"]
        is_right = says and n_warnings == 1 and bool(found["refused"]) and not found["queues"]
    if not is_right:
        report.fault(f"{name}: {found['started']}, {n_warnings} warnings, {found['queues']} queues")


def taken_and_given(report: Report, release: str, guarded: Guarded, process: Any) -> None:
    """Take the permissions of a running member away, and give them back."""
    before = answer(process)
    time.sleep(LOOKS_AFTER)
    guarded.permit(False)
    time.sleep(CHANGES_WITHIN)
    without = asked(process)
    guarded.permit(True)
    time.sleep(CHANGES_WITHIN)
    after = ended(process)
    show(report, "permission taken away", before | without)
    show(report, "permission given back", after)
    n_again = sum("grants" in line for level, line in after["lines"] if level == "INFO")
    counts = without["levels"].get("WARNING", 0), after["levels"].get("WARNING", 0), n_again
    if counts != (1, 1, 1) or not without["refused"] or after["refused"]:
        report.fault(
            f"{release}: {counts} warnings without and with the permission, and lines that it is back"
        )
