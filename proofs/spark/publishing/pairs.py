"""Pairs of runs that write different plans into one directory, one of them in another PID namespace.

Sometimes their claim is removed meanwhile, as people do who take its writer for dead. A plan with
``_SUCCESS`` must be whole at every look, and its parts those that ``_SUCCESS`` lists.
"""

import json
import random
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

from spark.publishing.drivers import Driver
from spark.publishing.kills import CLAIM
from spark.publishing.places import NEW, OLD, Directory

ROADS = {"workers write": True, "Spark's writer": False}
COUNTS = (
    "pairs",
    "by hand",
    "done",
    "refused",
    "failed",
    "whole",
    "none",
    "mixed",
    "lost",
    "looks",
)
_LOOK_EVERY = 0.1
_LONGEST_OFFSET = 1.5  # seconds; a run takes one or two


class Pairs:
    """Two drivers that get orders for one directory, and counts of what came of them."""

    def __init__(self, place: Directory, where: Path, seed: int) -> None:
        self.place = place
        self._random = random.Random(seed)
        self._drivers = [
            Driver(place.release, place.settings, where, is_apart=is_apart)
            for is_apart in (False, True)
        ]
        self.rows: list[dict[str, Any]] = []

    def end(self) -> None:
        """End the drivers."""
        for driver in self._drivers:
            driver.ready().end()

    def run(self, n_pairs: int) -> None:
        """Run pairs by each road."""
        for road, in_workers in ROADS.items():
            row = Counter(dict.fromkeys(COUNTS, 0))
            for _ in range(n_pairs):
                self._pair(row, in_workers)
            self.rows.append({"road": road, **row})

    def _pair(self, row: Counter[str], in_workers: bool) -> None:
        target, over = self.place.target(), Event()
        orders = [
            {
                "source": self.place.source,
                "strategy": strategy,
                "in_workers": in_workers,
                "overwrite": self._random.random() < 0.5,
                **target,
            }
            for strategy in (OLD, NEW)
        ]
        self._random.shuffle(orders)
        looking = Thread(target=self._look_until, args=(target, over, row))
        removing = Thread(target=self._unclaim, args=(target, self._moments(), over, row))
        drivers = self._random.sample(self._drivers, 2)
        looking.start()
        drivers[0].tell("plan", **orders[0])
        removing.start()
        time.sleep(self._random.uniform(0, _LONGEST_OFFSET))
        drivers[1].tell("plan", **orders[1])
        answers = [driver.answer() for driver in drivers]
        over.set()
        looking.join()
        removing.join()
        row["pairs"] += 1
        self._judge(target, answers, row)

    def _moments(self) -> list[float]:
        """Return when the claim is removed, in seconds after each other."""
        n_times = self._random.choice((0, 0, 1, 3))
        return [self._random.uniform(0, 1.5 * _LONGEST_OFFSET / n_times) for _ in range(n_times)]

    def _unclaim(
        self, target: dict[str, str], moments: list[float], over: Event, row: Counter[str]
    ) -> None:
        """Remove the claim at these moments, or as soon after one as it is there."""
        for seconds in moments:
            over.wait(seconds)
            while CLAIM not in self.place.names(target) and not over.wait(0.01):
                pass
            with suppress(FileNotFoundError):
                self.place.unclaim(target)
                row["by hand"] += 1

    def _look_until(self, target: dict[str, str], over: Event, row: Counter[str]) -> None:
        while not over.wait(_LOOK_EVERY):
            self._look(target, row)

    def _look(self, target: dict[str, str], row: Counter[str]) -> str:
        """Return the plan that a reader finds, "" if there is none; count a mixed one."""
        row["looks"] += 1
        before = self.place.success(target)
        found = self.place.look(target)
        parts = {name for name in self.place.names(target) if name.startswith("part-")}
        if before is None or self.place.success(target) != before:
            return ""
        success = json.loads(before)
        plans = {plan for plan, *_ in found}
        units = {tuple(unit) for _, *unit in found}
        is_whole = units == self.place.wanted and found.total() == len(units)
        if not is_whole or plans != {success["plan"]} or parts != success["parts"].keys():
            row["mixed"] += 1
            print(f"mixed: {success}, {sorted(parts)}, {str(found)[:300]}", flush=True)
        return str(success["plan"])

    def _judge(
        self, target: dict[str, str], answers: list[dict[str, Any]], row: Counter[str]
    ) -> None:
        """Count the answers; one plan may have been replaced, a second one that is gone is lost."""
        plan = self._look(target, row)
        row["whole" if plan else "none"] += 1
        done = [answer["id"] for answer in answers if "error" not in answer]
        row["done"] += len(done)
        for answer in answers:
            if "error" in answer:
                is_refused = "is being written by" in answer["error"] or "holds" in answer["error"]
                row["refused" if is_refused else "failed"] += 1
        if sum(plan_id != plan for plan_id in done) > 1:
            row["lost"] += 1
            print(f"lost: {answers}, found {plan!r}", flush=True)
