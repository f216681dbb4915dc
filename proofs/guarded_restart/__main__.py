"""A rolling restart of six real consumers with and without the guard: ``python -m guarded_restart
[--quick] [--report FILE]``.

A real RocketMQ on loopback. Fails if, with the guard, ever more queues are unowned than planned, or
if it answers other than "unknown" while a consumer hangs. Takes a few minutes.
"""

from __future__ import annotations

import argparse
import contextlib
import time
from pathlib import Path

from live_cluster import LiveCluster
from live_consumers import Consumers
from live_proofs import make_topic

from guarded_restart.observed import LASTING, Span
from guarded_restart.restarts import (
    Cast,
    Planned,
    Step,
    Unguarded,
    frozen_and_killed,
    guarded,
    unguarded,
)

N_MEMBERS, N_PROCESSES, PER_BROKER = 6, 3, 12
TOPIC = "guarded-orders"
REPORTS = ("-Drmqalloc.reportEvery=5",)
"""Milliseconds between two looks of a process at the queues of its consumers."""
UNGUARDED = ((2.0, 1), (0.2, 1), (2.0, 2))
"""Seconds of the pause, and how many stop at once."""

HEAD = f"""# A rolling restart, with the guard and without

{N_MEMBERS} Java consumers in {N_PROCESSES} processes at a real RocketMQ of two brokers, {2 * PER_BROKER} queues, AVG, RocketMQ's own settings:
consumers are notified when one joins or leaves, and rebalance every 20 s besides. They are shut down and started again one by
one. With the guard: `rmqalloc guard --wait` before every stop, `rmqalloc guard --after` before every start, both as programs.
Without: a fixed pause instead. An observer beside it counts open queues from what the consumers themselves report at every
change of their queues, looked at every 5 ms; a consumer that is being shut down owns nothing from the first moment of that.

A consumer drops what it loses and then takes what it gains, queue by queue, with a request to a broker for each; the plan has it
do so at once. So "unowned" is what lasted {LASTING:g} ms, and in brackets stands the most at any look. "Planned" is the largest
number of unowned queues at one moment by the plan of that stop or start (`unowned` of the transition), and in brackets all queues
that change owner, of which a look may find any unowned. For a whole restart it is the largest of these, one consumer stopping at
a time.
"""  # noqa: E501 - as long once it is filled in as the lines below it
STEPS = """| consumer | waited before (s) | after (s) | unowned after the stop | planned | unowned after the start | planned |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |"""
WHOLE = """| restart | s | stops | at which a queue had no owner or several | most unowned | planned | unowned queue-seconds | \
most double-owned |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"""
ANSWERS = """| asked about a consumer of another process | answer | reason |
| --- | --- | --- |"""


def step_line(one: Step) -> str:
    """A row of the table of steps."""
    cells = (
        one.member,
        f"{one.waited:.1f}",
        f"{one.after:.1f}",
        _unowned(one.stop),
        _planned(one.planned_stop),
        _unowned(one.start),
    )
    return f"| {' | '.join(map(str, (*cells, _planned(one.planned_start))))} |"


def _unowned(span: Span) -> str:
    return f"{span.lasting} ({span.at_look})"


def _planned(one: Planned) -> str:
    return f"{one.unowned} ({one.moved})"


def whole_line(
    what: str, seconds: float, n_stops: int, n_unsettled: int, span: Span, planned: int
) -> str:
    """A row of the table of restarts."""
    cells = (
        what,
        f"{seconds:.0f}",
        n_stops,
        n_unsettled,
        _unowned(span),
        planned,
        f"{span.unowned_seconds:.1f}",
    )
    return f"| {' | '.join(map(str, (*cells, span.double_owned)))} |"


def page(
    steps: list[Step],
    whole: Span,
    seconds: float,
    others: list[Unguarded],
    answers: list[tuple[str, str, str]],
) -> str:
    """The report."""
    planned = max(max(one.planned_stop.unowned, one.planned_start.unowned) for one in steps)
    lines = [HEAD, "## With the guard", "", STEPS, *map(step_line, steps), "", "## Both", "", WHOLE]
    lines.append(whole_line("with the guard", seconds, len(steps), 0, whole, planned))
    for one in others:
        what = f"without, {one.at_once} at once, pauses of {one.pause:g} s"
        lines.append(
            whole_line(what, one.seconds, one.n_stops, one.n_unsettled, one.whole, one.planned)
        )
    lines += ["", "## A consumer process that hangs, and one that dies", "", ANSWERS]
    lines += [f"| {what} | {verdict} | {reason} |" for what, verdict, reason in answers]
    wrong = [one.member for one in steps if not one.is_kept]
    said = (
        f"More unowned than planned at {', '.join(wrong)}."
        if wrong
        else "With the guard never more than planned."
    )
    return "\n".join([*lines, "", said, ""])


def main() -> int:
    """Restart with and without; 1 if a plan is not kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three consumers, and the guard alone")
    parser.add_argument("--report", type=Path)
    arguments = parser.parse_args()
    began = time.monotonic()
    n_members, ways = (3, ()) if arguments.quick else (N_MEMBERS, UNGUARDED)
    with LiveCluster() as cluster, contextlib.ExitStack() as stack:
        processes = [
            stack.enter_context(Consumers(cluster.name_server, REPORTS)) for _ in range(N_PROCESSES)
        ]
        make_topic(cluster, processes[0], TOPIC, PER_BROKER)
        steps, whole, seconds = guarded(Cast(cluster, processes, "guarded", TOPIC, n_members))
        others = []
        for number, (pause, at_once) in enumerate(ways):
            for process in processes:
                process.leave_all()
            cast = Cast(cluster, processes, f"unguarded-{number}", TOPIC, n_members)
            others.append(unguarded(cast, pause, at_once))
        for process in processes:
            process.leave_all()
        answers = frozen_and_killed(Cast(cluster, processes, "frozen", TOPIC, n_members))
    text = (
        page(steps, whole, seconds, others, answers)
        + f"\n{time.monotonic() - began:.0f} s in all.\n"
    )
    if arguments.report:
        arguments.report.write_text(text, encoding="utf-8")
    print(text)
    is_right = answers[0][1] == "unknown" and answers[-1][1] == "yes"
    return 0 if all(one.is_kept for one in steps) and is_right else 1


if __name__ == "__main__":
    raise SystemExit(main())
