"""Runs whose driver or workers are killed, runs of two writers at once, and what readers find after
them.
"""

import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

from spark.publishing.drivers import Driver
from spark.publishing.places import (
    N_FILES,
    NEW,
    OLD,
    Directory,
    Moment,
    Names,
    Place,
    Rows,
    units_in,
)

VICTIMS = ("driver", "JVM", "both", "worker", "Ctrl-C")
CLAIM = "_rmqalloc_claim.json"
WANTED = units_in(N_FILES)


class Proof:
    """Kills at one place, and counts of what came of them."""

    def __init__(self, place: Place, where: Path, seed: int) -> None:
        self.place, self._where = place, where
        self._random = random.Random(seed)
        self._hot, self._next = self._driver(), self._driver()
        self._spans: dict[str, float] = {}
        self.rows: list[dict[str, Any]] = []
        self._row: dict[str, Any] = {}
        self._ids: dict[str, str] = {}

    def _driver(self) -> Driver:
        return Driver(self.place.release, self.place.settings, self._where)

    def end(self) -> None:
        """End the drivers."""
        for one in (self._hot, self._next):
            one.ready().end()

    # --- What readers find ---

    def _verdict(self, rows: Rows) -> str:
        """Return "none", "whole", or what is wrong."""
        by_plan: dict[str, set[tuple[str, str]]] = {}
        for plan, *unit in rows:
            by_plan.setdefault(plan, set()).add(tuple(unit))
        if any(n > 1 for n in rows.values()):
            return "twice"
        if any(seen != WANTED for seen in by_plan.values()):
            return "half"
        if isinstance(self.place, Directory) and len(by_plan) > 1:
            return "half"
        return "whole" if rows else "none"

    def _look(self, target: dict[str, str]) -> set[str]:
        """Return the plans that a reader finds; count what is wrong."""
        rows = self.place.look(target, self._hot.ask)
        verdict = self._verdict(rows)
        self._row["looks"] += 1
        if verdict in ("half", "twice"):
            self._row[verdict] += 1
            print(f"{self.place.name}: {verdict}: {str(rows)[:300]}", flush=True)
        return {plan for plan, *_ in rows}

    @contextmanager
    def _reader(self, target: dict[str, str]) -> Iterator[None]:
        """Look at a directory all the time while the block runs; a table's session is busy
        meanwhile.
        """
        over = Event()

        def looking() -> None:
            while not over.wait(0.2):
                self._look(target)

        reader = Thread(target=looking)
        if isinstance(self.place, Directory):
            reader.start()
        try:
            yield
        finally:
            over.set()
            if reader.ident:
                reader.join()

    # --- Runs ---

    def _order(self, strategy: str, target: dict[str, str], **more: Any) -> dict[str, Any]:
        return {"source": self.place.source, "strategy": strategy, **target, **more}

    def _prepared(self, moment: Moment) -> tuple[dict[str, str], dict[str, Any]]:
        """Return a target, with another plan in it where the moment says so, and the order of the
        new plan.
        """
        target = self.place.target()
        is_replaced = moment.is_beside_a_plan and isinstance(self.place, Directory)
        if moment.is_beside_a_plan:
            self._ids[OLD] = self._finish(target, self._order(OLD, target))
        return target, self._order(NEW, target, **({"overwrite": True} if is_replaced else {}))

    def _await(
        self, target: dict[str, str], is_so: Callable[[Names], bool], driver: Driver
    ) -> Names:
        """Look at the names of the files until something is so; the driver's process may have ended
        before.
        """
        until = time.monotonic() + 300
        while not is_so(names := self.place.names(target)) and driver.is_running():
            assert time.monotonic() < until, f"{self.place.name}: nothing happens at {target}"
            time.sleep(0.001)  # less than the least moment lasts
        return names

    def measure(self, moment: Moment) -> None:
        """Run once without a kill and note how long the moment lasts."""
        self._row = self._new_row(moment.name)
        target, order = self._prepared(moment)
        before = self.place.names(target)
        self._next.tell("plan", **order)
        self._await(target, lambda now: moment.began(before, now), self._next)
        started = time.monotonic()
        self._await(target, lambda now: moment.ended(before, now), self._next)
        self._spans[moment.name] = time.monotonic() - started
        done = self._next.answer()
        assert "error" not in done, done
        self._ids[NEW] = done["id"]
        assert self._ids[NEW] in self._look(target)

    def kill(self, moment: Moment, victim: str) -> None:
        """Kill within a moment, look, run again until the plan is there, and look again."""
        target, order = self._prepared(moment)
        before, driver = self.place.names(target), self._next
        driver.tell("plan", **order)
        with self._reader(target):
            self._await(target, lambda now: moment.began(before, now), driver)
            time.sleep(self._random.uniform(0, 1.1 * self._spans[moment.name]))
            driver.kill(victim)
            self._note_when(before, self.place.names(target), moment)
            if victim == "worker":  # the job fails or, where none was at work, does not
                driver.answer()
            else:
                self._next = self._driver()
                if self._random.random() < 0.5:  # else the rerun meets a JVM that works on
                    driver.wait()
            self._look(target)
            self._finish(target, order, driver)
        self._check(target, moment)
        self._row["runs"] += 1
        print(
            f"{self.place.name}, {moment.name}, {victim}: {self._row}", file=sys.stderr, flush=True
        )

    def _note_when(self, before: Names, now: Names, moment: Moment) -> None:
        """Count a kill as one before, while or after the plan was written."""
        if moment.ended(before, now) and "deletion" not in moment.name:
            self._row["after"] += 1
        else:
            is_touched = {name for name in before ^ now if not name.endswith(CLAIM)}
            self._row["while" if is_touched else "before"] += 1

    def _finish(
        self, target: dict[str, str], order: dict[str, Any], dead: Driver | None = None
    ) -> str:
        """Run until the plan is there, and return its id; the claim of a dead writer may have to be
        removed by hand.
        """
        while True:
            was_over = not dead or dead.is_over()
            done = self._hot.ask("plan", **order)
            if "error" not in done:
                return str(done["id"])
            if CLAIM not in done["error"] or not dead:
                break
            if was_over:
                self._row["by hand"] += 1
                self.place.unclaim(target)
                dead = None
            time.sleep(0.2)
        self._row["failed"] += 1
        print(f"{self.place.name}: a rerun failed: {done['error']}", flush=True)
        return ""

    def _check(self, target: dict[str, str], moment: Moment) -> None:
        """Count a plan as lost that a reader does not find at the end."""
        wanted = {self._ids[NEW]}
        if moment.is_beside_a_plan and not isinstance(self.place, Directory):
            wanted.add(self._ids[OLD])
        if (found := self._look(target)) != wanted:
            self._row["failed"] += 1
            print(f"{self.place.name}: found {found}, not {wanted}", flush=True)

    # --- All of it ---

    def run(self, n_runs: int) -> None:
        """Kill so many times, the moments and the victims in turn, and let two write at once."""
        for at, moment in enumerate(self.place.moments):
            share = n_runs // len(self.place.moments) + (at < n_runs % len(self.place.moments))
            if not share:
                continue
            self.measure(moment)
            started = time.monotonic()
            for number in range(share):
                self.kill(moment, VICTIMS[(number + at) % len(VICTIMS)])
            self._row["seconds"] = time.monotonic() - started
        self.together(max(1, n_runs // 10))

    def _new_row(self, what: str) -> dict[str, Any]:
        counts = ("runs", "before", "while", "after", "half", "twice", "failed", "by hand", "looks")
        self.rows.append({"place": self.place.name, "what": what} | dict.fromkeys(counts, 0))
        return self.rows[-1]

    def together(self, n_rounds: int) -> None:
        """Let two write one plan at once: in a directory one is refused, or finds it complete; in a
        table it is there once.
        """
        self._row, started = self._new_row("two writers at once"), time.monotonic()
        moment = self.place.moments[0]._replace(is_beside_a_plan=False)
        for _ in range(n_rounds):
            target, order = self._prepared(moment)
            with self._reader(target):
                if self.place.name == "Delta":  # whose log on a disk is not made for two sessions
                    done = self._hot.ask("plan_in_threads", n_threads=2, **order)
                else:
                    self._next.tell("plan", **order)
                    done = [self._hot.ask("plan", **order), self._next.answer()]
            wrong = [one for one in done if "error" in one and CLAIM not in one["error"]]
            n_writers = sum(one.get("was_complete") is False for one in done)
            if wrong or n_writers != 1:
                self._row["failed"] += 1
                print(f"{self.place.name}: two writers: {done}", flush=True)
            self._check(target, moment)
            self._row["runs"] += 1
        self._row["seconds"] = time.monotonic() - started
