"""The rules of `result_rules` on every plan, comparison, rollout and difference that a
test makes.

Objects are noted as they are made, whoever makes them, and checked at the end of the test at the
latest: then tables that are made when they are read exist, or are made for it. What is larger than
`MOST_ROWS` is counted and not checked, and so are most results of a test that makes very many,
unless ``--all-invariants`` is given. A test that plants defects, or makes results that contradict
themselves, has the mark ``broken_results``.
"""

import functools
import sys
import time
from collections import Counter
from typing import Any

import pytest

MOST_ROWS = 5_000
"""Units times states, steps or queues of the largest result that is checked."""

FIRST, EVERY = 1, 24
"""Of each kind the first results of a test are checked, and then one of so many."""

MOST_WAITING = 16
"""Results that wait for the end of their test: those of a test with very many examples are checked meanwhile."""

KINDS = {
    "rmqalloc.plans._plan": ["Plan"],
    "rmqalloc.plans.comparison": ["Comparison"],
    "rmqalloc.rollouts.rollout_result": ["Rollout"],
    "rmqalloc.plans.diffs._diff_result": ["Diff"],
}
"""Classes of results by the modules that define them."""

FROM_FILES = {"rmqalloc.plans._plan_files"}
"""Modules that make results of what others wrote: these may contradict themselves."""

STASH = pytest.StashKey[Counter[str]]()


def size_of(result: Any) -> int:
    """About how many rows there are to check, without making a table."""
    kind = type(result).__name__
    if kind == "Plan":
        queues = result.units["n_queues"]
        return (
            int(sum(one or 0 for one in queues.to_pylist()))
            if result.units.num_rows < MOST_ROWS
            else MOST_ROWS + 1
        )
    return max(getattr(result, name).num_rows for name in type(result).TABLES)


class Keeper:
    """Notes what is made, and checks it."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.waiting: list[tuple[Any, Any]] = []
        self.broken: list[str] = []
        self.is_on = self.is_all = False
        self.made: Counter[str] = Counter()

    def note(self, result: Any) -> None:
        """A result was made."""
        kind = type(result).__name__
        self.made[kind] += 1
        if not self.is_on:
            return
        if not self.is_all and self.made[kind] > FIRST and self.made[kind] % EVERY:
            self.counts["left out"] += 1
            return
        self.waiting.append((result, _plan_of_caller(result)))
        if len(self.waiting) > MOST_WAITING:
            self.check()

    def check(self) -> None:
        """Check what waits."""
        from result_rules import broken_invariants

        waiting, self.waiting = self.waiting, []
        was_on, self.is_on = self.is_on, False
        start = time.process_time()
        for result, plan in waiting:
            kind = type(result).__name__
            if size_of(result) > MOST_ROWS:
                self.counts[f"{kind} too large"] += 1
                continue
            found = broken_invariants(result, plan)
            self.counts[kind] += 1
            self.counts["broken"] += bool(found)
            self.broken += map(str, found)
        self.is_on = was_on
        self.counts["ms"] += round(1000 * (time.process_time() - start))


def _plan_of_caller(result: Any) -> Any:
    """Of a difference, the plan that `diff` was given."""
    if type(result).__name__ != "Diff" or not result.of_plan:
        return None
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_name == "diff" and isinstance(frame.f_locals.get("plans"), list):
            return (frame.f_locals["plans"] or [None])[0]
        frame = frame.f_back
    return None


KEEPER = Keeper()


def watch() -> None:
    """Note every result that the product makes from now on."""
    import importlib

    for module, names in KINDS.items():
        for name in names:
            kind = getattr(importlib.import_module(module), name)
            if not hasattr(kind, "_is_watched"):
                kind.__init__ = _noting(kind.__init__)
                kind._is_watched = True


def _noting(make: Any) -> Any:
    @functools.wraps(make)
    def noting(self: Any, *args: Any, **fields: Any) -> None:
        make(self, *args, **fields)
        maker = sys._getframe(1).f_globals.get("__name__", "")
        if maker.startswith("rmqalloc.") and maker not in FROM_FILES:
            KEEPER.note(self)

    return noting


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Any:
    """Check what the test made, if it passes."""
    KEEPER.made.clear()
    KEEPER.is_on = item.get_closest_marker("broken_results") is None
    if KEEPER.is_on and "rmqalloc" in sys.modules:
        watch()
    try:
        result = yield
        KEEPER.check()
        if KEEPER.broken:
            lines = "\n".join(f"  {one}" for one in KEEPER.broken[:20])
            pytest.fail(
                f"{item.nodeid} makes results that contradict themselves:\n{lines}", pytrace=False
            )
        return result
    finally:
        KEEPER.is_on = False
        KEEPER.waiting.clear()
        KEEPER.broken.clear()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--all-invariants",
        action="store_true",
        help="check every result that tests make, see invariants_kept",
    )


def pytest_configure(config: pytest.Config) -> None:
    KEEPER.is_all = config.option.all_invariants


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["invariants"] = dict(KEEPER.counts)
    else:
        session.config.stash[STASH] = session.config.stash.get(STASH, Counter()) + KEEPER.counts


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A process that runs tests for this one is done: its counts are added."""
    counts = Counter(getattr(node, "workeroutput", {}).get("invariants", {}))
    node.config.stash[STASH] = node.config.stash.get(STASH, Counter()) + counts


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    counts = config.stash.get(STASH, Counter()) + Counter()
    broken, seconds = counts.pop("broken", 0), counts.pop("ms", 0) / 1000
    if counts:
        said = ", ".join(f"{n:,} × {kind}" for kind, n in sorted(counts.items()))
        terminalreporter.write_line(
            f"invariants: {said}; {broken:,} broken; {seconds:.0f} s of CPU"
        )
