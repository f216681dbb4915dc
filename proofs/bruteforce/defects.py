"""Plants defects in the planner and runs what should find them: ``python -m bruteforce.defects
[--report PAGE]``.

Ends with 1 if a defect survives all that is not looked into (`LOOKED_INTO`), for then they have
lost sight of something.
"""

import argparse
import os
import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from mutation.listed import Room
from mutation.mutant import Mutant
from mutation.reach import Reach
from mutation.tree import Workers, mutated
from mutation.trial import KILLED, SURVIVES, alone

SAMPLE, QUICK, SEED = 100, 4, 1
LIMIT = 20
"""Seconds of the twin's tests for a defect."""
OWNERSHIP = (
    "between",
    "group_figures",
    "_laid_views",
    "reader_sets",
    "_shared_views",
    "states",
    "unit_figures",
)
SOURCES = (
    *(f"rmqalloc/ownership/{name}.py" for name in OWNERSHIP),
    *(f"rmqalloc/plans/{name}.py" for name in ("_plan_tables", "evaluate_views", "_ways_back", "_unit_rows")),
    *(f"rmqalloc/evaluation/{name}.py" for name in ("evaluate", "assigner", "balance", "movement", "_equivalence", "rows")),
    *(f"rmqalloc/scenarios/{name}.py" for name in ("applied_changes", "client_changes", "_queue_changes", "subfleet")),
)  # fmt: skip
TESTS = ("tests/proofs/test_twin.py", "tests/proofs/test_twin_strategies.py")
ROOMS = (
    "tests/plans/test_undo.py", "tests/plans/test_plans.py", "tests/evaluation/test_plan_batch.py",
    "tests/evaluation/test_plan_before.py", "tests/evaluation/test_evaluate.py", "tests/evaluation/test_bulk_strategies.py",
    "tests/scenarios/test_scenarios.py", "tests/engine/test_tally.py",
)  # fmt: skip
OTHERS = {
    "the brute force": (
        "bruteforce",
        "--seed=7",
        "--snapshots=150",
        "--verb=plan",
        "--verb=plan of mixed groups",
    ),
    "tests of the rooms": ("pytest", "-q", "-x", "-p", "no:cacheprovider", *ROOMS),
}
"""What is run on a defect that the twin misses: modules of Python with their arguments."""
TIMEOUT = 900
LOOKED_INTO = {
    "rmqalloc/ownership/between.py::Between.lost_and_gained::condition true::1": "without sets there is nothing to do",
    "rmqalloc/evaluation/movement.py::_queue_keys::constant turned::1": "the lists are of one length",
    "rmqalloc/evaluation/movement.py::_same_queues::return None::3": "queues are then found by keys, which takes longer",
    "rmqalloc/ownership/_laid_views.py::MixedUnits._put_slots::constant + 1::1": "any number below 0 is that of no client",
    "rmqalloc/evaluation/assigner.py::Assigner._points_of::condition false::3": "points are kept that are not asked for again",
    "rmqalloc/evaluation/evaluate.py::EvaluatedUnits.owners::constant + 1::2": "any number below 0 is that of no client",
    "rmqalloc/scenarios/_queue_changes.py::QueuesUnderChange.add::condition true::2": "without retry topics both are equal",
}
"""Why a defect of the sample that survives changes no plan, by its key."""

HEAD = """# Planted defects of the planner

`make evidence`, or `python -m bruteforce.defects --report PAGE`. Replay repeats a defect of the planner, so others have to
find those. Here machine-made defects are planted in the files that plan. The tests of the planner's twin
(`bruteforce.twin`) run first, for 20 seconds of tests at most; what survives them is planned by the brute force
(`proofs/bruteforce/`, 150 snapshots with like clients and 450 with differing ones), and then the tests
of plans, scenarios, the evaluator and figures run.

"""


class Verdict(NamedTuple):
    """What became of a defect, and what found it."""

    mutant: Mutant
    what: str
    by: str


def main():
    parser = argparse.ArgumentParser(
        prog="bruteforce.defects", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--sample", type=int, default=SAMPLE)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} defects")
    parser.add_argument("--report", help="write the page, too")
    given = parser.parse_args()
    n = QUICK if given.quick else given.sample
    mutants = list(islice(Room("planner", SOURCES).ranked(SEED), SAMPLE * 4))
    with Workers(1) as workers:
        reach = Reach(workers, mutants, TESTS, options=())
        reached = [mutant for mutant in mutants if reach.reached(mutant)][:n]
        verdicts = workers.map(lambda tree, mutant: judged(tree, mutant, reach), reached)
    alive = [one for one in verdicts if one.what == SURVIVES]
    print(f"{len(verdicts)} defects, {len(alive)} survive")
    if given.report:
        Path(given.report).write_text(HEAD + page(verdicts, alive), encoding="utf-8")
    return int(any(one.mutant.key not in LOOKED_INTO for one in alive))


def judged(tree, mutant, reach):
    """The verdict of the twin's tests, or that of the brute force on what survives them."""
    verdict = Verdict(mutant, *alone(tree, mutant, reach, LIMIT))
    if verdict.what == SURVIVES:
        verdict = of_others(tree, verdict)
    print(f"{verdict.what} {verdict.by}: {mutant.key}\n    {mutant.change}", flush=True)
    return verdict


def of_others(tree, verdict):
    """The verdict of what is run on a defect that the twin misses."""
    folder = tree.folder
    paths = (".", "proofs", "tests", "tests/support")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(str(folder / one) for one in paths)}
    with mutated(tree, [verdict.mutant]):
        for name, command in OTHERS.items():
            if not _passes([sys.executable, "-m", *command], cwd=folder, env=environment):
                return verdict._replace(what=KILLED, by=name)
    return verdict


def _passes(command, **where):
    """Does a command end well, and within `TIMEOUT`?"""
    try:
        return (
            subprocess.run(command, capture_output=True, timeout=TIMEOUT, **where).returncode == 0
        )
    except subprocess.TimeoutExpired:
        return False


def page(verdicts, alive):
    """Numbers and lists of a run."""
    later = {name: sum(one.by == name for one in verdicts) for name in OTHERS}
    found = {"the twin": len(verdicts) - len(alive) - sum(later.values()), **later}
    counts = ", ".join(f"{name} {n}" for name, n in found.items())
    lines = [f"{len(verdicts)} defects, found by {counts}; {len(alive)} survive.", ""]
    lines += ["| defect | change | found by |", "| --- | --- | --- |"]
    for one in sorted(verdicts, key=lambda one: one.mutant.key):
        change = one.mutant.change.replace("|", "\\|").replace("\n", " ")
        survives = LOOKED_INTO.get(one.mutant.key, "not looked into")
        found_by = "a crash" if one.by.isdigit() else one.by.rpartition("::")[2] or one.what
        by = f"none: {survives}" if one.what == SURVIVES else found_by
        lines.append(f"| `{one.mutant.key}` | `{change}` | {by} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
