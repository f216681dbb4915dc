"""A day in fast motion on a real cluster: ``python -m everyday [--quick | --long] [--seed N]
[--report FILE]``.

Real brokers of RocketMQ 5.5.0 and real Java clients on loopback; needs a JDK and Maven. Ends with 1
if anything is wrong.
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from live_cluster import LiveCluster

from everyday.flat import Flatness, measured
from everyday.judging import Judged, MoveJudge, members_judged, told_by, without_beginning
from everyday.kept import moments_judged, told_by_history
from everyday.looking import Look, Looker
from everyday.page import page
from everyday.script import Act, beginning, drawn
from everyday.stage import Stage
from rmqalloc.history import Recorder

PAUSE = 3
"""Readings between two acts."""


class _Size(NamedTuple):
    n_acts: int
    n_readings: int
    with_expiry: bool


SIZES = {
    "quick": _Size(14, 60, False),
    "usual": _Size(50, 600, True),
    "long": _Size(50, 7200, True),
}


class _Day(NamedTuple):
    judged: dict[str, Judged]
    looks: list[Look]
    flatness: Flatness

    @property
    def is_right(self) -> bool:
        """Whether nothing is wrong."""
        looks = [*self.looks, *self.flatness.looks]
        is_told = not any(one.wrong for one in self.judged.values())
        return (
            is_told
            and not self.flatness.wrong
            and not any(one.failed or one.differences for one in looks)
        )


def main() -> int:
    """Play the day, and write a page."""
    parser = argparse.ArgumentParser(prog="python -m everyday", description=__doc__)
    parser.add_argument(
        "--quick", dest="size", action="store_const", const="quick", default="usual"
    )
    parser.add_argument(
        "--long",
        dest="size",
        action="store_const",
        const="long",
        help="as many readings as two hours have",
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--report", help="page to write")
    given = parser.parse_args()
    started, size = time.monotonic(), SIZES[given.size]
    acts = drawn(given.seed, size.n_acts, size.with_expiry)
    with ExitStack() as stack:
        cluster = stack.enter_context(LiveCluster(options=()))
        stage = stack.enter_context(closing(Stage(cluster)))
        for act in beginning():
            stage.do(-1, act, time.sleep)
        path = Path(stack.enter_context(TemporaryDirectory(prefix="everyday-"))) / "history.db"
        recorder = stack.enter_context(Recorder(path))
        looker = stack.enter_context(closing(Looker(cluster.name_server, (recorder,))))
        day = _played(stage, looker, path, acts, size.n_readings)
    text = page(acts, day.judged, day.looks, day.flatness, time.monotonic() - started)
    print(text)
    if given.report:
        Path(given.report).write_text(text, encoding="utf-8")
    return 0 if day.is_right else 1


def _played(stage: Stage, looker: Looker, path: Path, acts: list[Act], n_readings: int) -> _Day:
    """Play the acts, judge what was reported of them, and go on reading."""
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
    judged = {
        "joins and leaves, by the observer": members_judged(
            stage.happened, without_beginning(members, there)
        ),
        "moves of queues, by the observer": judge.judged(moves),
        "joins and leaves, by the history": members_judged(stage.happened, told.members),
        "moves of queues, by the history": judge.judged(told.moves),
        "owners at the end of each reading, by the history": moments_judged(
            path, looks, judge.lines, stage.not_comparable
        ),
        "gaps of the history": Judged(0, tuple(told.gaps), ()),
    }
    return _Day(judged, looks, measured(looker, stage, n_readings))


if __name__ == "__main__":
    sys.exit(main())
