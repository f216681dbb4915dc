"""A rolling restart of real consumers, each stop allowed by the guard: never more queues are
unowned than planned, and the guard answers "unknown" while a consumer hangs.
"""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from live_cluster import LiveCluster
from live_consumers import Consumers
from live_proofs import Tally, assigned, make_topic, settled
from live_restarts import Members, owners
from programs import environment
from proof import Report

import rmqalloc
from clusters.guarded_restart.observed import Span, now, open_between, timeline
from rmqalloc import strategy
from rmqalloc.guard import may_stop

WAIT = "120s"
N_MEMBERS, N_PROCESSES, PER_BROKER = 6, 3, 12
TOPIC = "guarded-orders"
REPORTS = ("-Drmqalloc.reportEvery=5",)
"""Milliseconds between two looks of a process at the queues of its consumers."""
STEPS = (
    "consumer",
    "waited (s)",
    "after (s)",
    "unowned after the stop",
    "planned",
    "unowned after the start",
    "planned",
)


class Planned(NamedTuple):
    """Queues unowned at the worst moment of a change, each client acting at once; and queues that
    change owner.
    """

    unowned: int
    moved: int

    def holds(self, span: Span) -> bool:
        """Whether no more was open: what lasted within the worst moment, and at any look only what
        changes owner.
        """
        return span.lasting <= self.unowned and span.at_look <= self.moved


class Step(NamedTuple):
    """One client stopped and started again.

    Attributes
    ----------
    member : str
    waited, after : float
        Seconds until the guard said yes, before the stop and after it.
    planned_stop, planned_start : Planned
    stop, start : Span
        What was open from the stop to the start, and from there to the next stop.
    """

    member: str
    waited: float
    after: float
    planned_stop: Planned
    planned_start: Planned
    stop: Span
    start: Span

    @property
    def is_kept(self) -> bool:
        """Whether never more queues were unowned than planned."""
        return self.planned_stop.holds(self.stop) and self.planned_start.holds(self.start)


class Cast:
    """Six consumers of a group, by name."""

    def __init__(
        self,
        cluster: LiveCluster,
        processes: Sequence[Consumers],
        group: str,
        topic: str,
        n_members: int,
    ) -> None:
        self.cluster, self.processes, self.group, self.topic = cluster, processes, group, topic
        self.members = Members(processes, group, topic, "AVG")
        self.numbers = {f"web-{number}": number for number in range(n_members)}
        self._shares = assigned(strategy("AVG"))
        for member, number in self.numbers.items():
            self.members.start(member, number)
        self.wait_settled()

    def wait_settled(self) -> None:
        """Wait until the consumers, running info and the engine agree on every owner."""
        settled(self.cluster, self.processes, self.group, len(self.numbers), self._shares, Tally())

    def client_id(self, member: str) -> str:
        """The client id of a member that is up."""
        for process in self.processes:
            shown = process.do("show")
            if f"{self.group}/{member}" in shown:
                return str(shown[f"{self.group}/{member}"]["client_id"])
        raise AssertionError(f"{member} is not up")

    def planned(self, change: dict[str, Any]) -> Planned:
        """What a change does by the plan to the queues of the topic, which are those that are
        observed.
        """
        snapshot = rmqalloc.fetch(self.cluster.name_server, (self.group,), lag=False)
        plan = rmqalloc.plan(
            snapshot, [{"name": "change", "changes": [change]}], topics=[self.topic]
        )
        [row] = plan.transitions().to_pylist()
        return Planned(int(row["unowned"]), plan.groups.to_pylist()[-1]["moved"])


def asked(cast: Cast, client_id: str, *more: str) -> subprocess.CompletedProcess[str]:
    """Ask ``rmqalloc guard`` as a pipeline does."""
    command = [
        sys.executable,
        "-m",
        "rmqalloc",
        "guard",
        "-n",
        cast.cluster.name_server,
        "-g",
        cast.group,
    ]
    command += ["--stop", client_id, "-o", "json", *more]
    return subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=600)


def guard(cast: Cast, client_id: str, *more: str) -> float:
    """Wait for the guard to say yes; how long it took."""
    began = time.monotonic()
    done = asked(cast, client_id, "--wait", WAIT, *more)
    if done.returncode:
        raise AssertionError(
            f"guard {client_id} {more}: exit {done.returncode}: {done.stdout}{done.stderr}"
        )
    return time.monotonic() - began


def guarded(cast: Cast) -> list[Step]:
    """Restart all members, each stop after a yes of the guard."""
    begun, start_owners = now(), owners(cast.processes, cast.group, cast.topic)
    marks: list[tuple[str, float, float, Planned, Planned, float, float]] = []
    for member in sorted(cast.numbers, reverse=True):
        client_id = cast.client_id(member)
        waited = guard(cast, client_id)
        planned_stop = cast.planned({"remove_clients": {"ids": [client_id]}})
        stopped = now()
        cast.members.stop(member, cast.numbers[member])
        after = guard(cast, client_id, "--after")
        planned_start = cast.planned({"add_clients": {"ids": [client_id]}})
        started = now()
        cast.members.start(member, cast.numbers[member])
        marks.append((member, waited, after, planned_stop, planned_start, stopped, started))
        print(f"{member}: waited {waited:.1f} s, after {after:.1f} s", file=sys.stderr, flush=True)
    cast.wait_settled()
    moments = timeline(start_owners, cast.members.reports(begun))
    ends = [one[5] for one in marks[1:]] + [now()]
    return [
        Step(*one[:5], open_between(moments, one[5], one[6]), open_between(moments, one[6], until))
        for one, until in zip(marks, ends, strict=True)
    ]


def frozen_and_killed(cast: Cast) -> list[tuple[str, str, str]]:
    """What the guard says while a process is frozen, once it goes on, and after it was killed:
    what, answer, reason.
    """
    *others, victim = cast.processes
    survivor = next(
        one
        for one, number in cast.numbers.items()
        if cast.processes[number % len(cast.processes)] is others[0]
    )
    client_id, found = cast.client_id(survivor), []

    def ask(what: str, *more: str) -> None:
        done = asked(cast, client_id, *more)
        said = json.loads(done.stdout)
        found.append((f"{what}: exit code {done.returncode}", said["verdict"], said["reason"]))

    victim.process.send_signal(signal.SIGSTOP)
    try:
        ask("another process is frozen (SIGSTOP)")
    finally:
        victim.process.send_signal(signal.SIGCONT)
    ask("it goes on, `--wait`", "--wait", WAIT)
    victim.process.kill()
    killed = time.monotonic()
    while True:
        snapshot = rmqalloc.fetch(cast.cluster.name_server, (cast.group,), lag=False)
        said, ago = may_stop(snapshot, client_id, (cast.group,)), time.monotonic() - killed
        if not found or (said.verdict, said.reason) != found[-1][1:]:
            found.append((f"{ago:.1f} s after it was killed (SIGKILL)", said.verdict, said.reason))
        if (
            said.verdict == "yes" and len(snapshot.groups[0].clients) < len(cast.numbers)
        ) or ago > 60:
            break
    ask("then, `--wait`", "--wait", WAIT)
    return found


def guarded_restart(report: Report, is_quick: bool) -> None:
    """Restart with the guard; "unowned" lasted 100 ms, and in brackets stands the most at any look.

    "Planned" is the most at one moment by the plan, and in brackets all queues that change owner.
    """
    n_members = 3 if is_quick else N_MEMBERS
    with LiveCluster() as cluster, contextlib.ExitStack() as stack:
        processes = [
            stack.enter_context(Consumers(cluster.name_server, REPORTS)) for _ in range(N_PROCESSES)
        ]
        make_topic(cluster, processes[0], TOPIC, PER_BROKER)
        steps = guarded(Cast(cluster, processes, "guarded", TOPIC, n_members))
        for process in processes:
            process.leave_all()
        answers = frozen_and_killed(Cast(cluster, processes, "frozen", TOPIC, n_members))
    report.table(STEPS, map(_cells, steps))
    report.table(("asked about a consumer of another process", "answer", "reason"), answers)
    for one in steps:
        if not one.is_kept:
            report.fault(f"more unowned than planned at {one.member}")
    if answers[0][1] != "unknown" or answers[-1][1] != "yes":
        report.fault("the guard is wrong about a process that hangs or was killed")


def _cells(one: Step) -> list[str]:
    """Cells of a row of the table of steps."""
    cells = [one.member, f"{one.waited:.1f}", f"{one.after:.1f}"]
    for span, planned in ((one.stop, one.planned_stop), (one.start, one.planned_start)):
        cells.append(f"{span.lasting} ({span.at_look})")
        cells.append(f"{planned.unowned} ({planned.moved})")
    return cells
