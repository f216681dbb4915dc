"""A day in fast motion on a real cluster: consumers join, leave, are killed with their machine, or
freeze, while a service reads every second.

Joins, leaves and moves that an observer and a history report are compared with what happened.
"""

from __future__ import annotations

import time
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from live_cluster import LiveCluster
from proof import Report

from clusters.everyday.judging import Judged, MoveJudge, members_judged, told_by, without_beginning
from clusters.everyday.kept import moments_judged, told_by_history
from clusters.everyday.looking import Look, Looker
from clusters.everyday.script import Act, beginning, drawn
from clusters.everyday.stage import Stage
from rmqalloc.history import Recorder

SEED = 1
PAUSE = 3
"""Readings between two acts."""
N_ACTS, QUICK_ACTS = 50, 14


def everyday(report: Report, is_quick: bool) -> None:
    """Play a day; only the long form freezes a machine until brokers take its clients off."""
    acts = drawn(SEED, QUICK_ACTS if is_quick else N_ACTS, with_expiry=not is_quick)
    with ExitStack() as stack:
        cluster = stack.enter_context(LiveCluster(options=()))
        stage = stack.enter_context(closing(Stage(cluster)))
        for act in beginning():
            stage.do(-1, act, time.sleep)
        path = Path(stack.enter_context(TemporaryDirectory(prefix="everyday-"))) / "history.db"
        recorder = stack.enter_context(Recorder(path))
        looker = stack.enter_context(closing(Looker(cluster.name_server, (recorder,))))
        judged, looks = _played(stage, looker, path, acts)
    _reported(report, judged, looks)


def _played(
    stage: Stage, looker: Looker, path: Path, acts: list[Act]
) -> tuple[dict[str, Judged], list[Look]]:
    """Play the acts and judge what was reported of them."""
    there = {one.client_id: one.group for one in stage.happened}
    stage.happened.clear()
    looker.wait_for(2 * PAUSE)
    since = time.time()
    for place, act in enumerate(acts):
        print(f"  {place + 1} of {len(acts)}: {act}", flush=True)
        stage.do(place, act, time.sleep)
        looker.wait_for(PAUSE)
    looker.wait_for(PAUSE)
    looks = looker.taken()
    members, moves = told_by(looks)
    judge = MoveJudge(stage.holdings(), looks, stage.not_comparable)
    told = told_by_history(path, since)
    observed = without_beginning(members, there)
    owners = moments_judged(path, looks, judge.lines, stage.not_comparable)
    judged = {
        "joins and leaves, by the observer": members_judged(stage.happened, observed),
        "moves of queues, by the observer": judge.judged(moves),
        "joins and leaves, by the history": members_judged(stage.happened, told.members),
        "moves of queues, by the history": judge.judged(told.moves),
        "owners at the end of each reading, by the history": owners,
        "gaps of the history": Judged(0, tuple(told.gaps), ()),
    }
    return judged, looks


def _reported(report: Report, judged: dict[str, Judged], looks: list[Look]) -> None:
    report.head(("reported", "right", "wrong", "seconds from last seen before to first seen after"))
    for what, one in judged.items():
        widths = f"{median(one.widths):.2f}, at most {max(one.widths):.2f}" if one.widths else ""
        report.row(what, one.n_right, len(one.wrong), widths)
    for what, one in judged.items():
        for text in one.wrong:
            report.fault(f"{what}: {text}")
    report.say(f"\n{len(looks)} readings.")
    for look in looks:
        if look.failed:
            report.fault(f"a reading failed: {look.failed}")
    if not any(one.n_right for one in judged.values()):
        report.fault("nothing was reported")
