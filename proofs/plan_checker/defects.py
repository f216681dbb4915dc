"""Plants defects in the planner and runs what its twin says of them: ``python -m plan_checker.defects [--report PAGE]``.

Ends with 1 if more survive than are looked into (`LOOKED_INTO`), for then the twin has lost sight of something.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from mutation.rooms import Room
from mutation.tree import Tree
from mutation.trial import ALIVE, Trial

SAMPLE, SEED = 120, 1
PLANS = ("states", "diff", "mixed_figures", "merged_views", "reader_sets", "owner_sets", "shared_takers", "plan_tables",
         "evaluate_views", "ways_back", "unit_rows")  # fmt: skip
SOURCES = (
    *(f"rmqalloc/plans/_{name}.py" for name in PLANS),
    *(f"rmqalloc/evaluation/_{name}.py" for name in ("evaluate", "assigner", "balance", "movement", "equivalence", "rows")),
    *(f"rmqalloc/scenarios/_{name}.py" for name in ("apply", "client_changes", "queue_changes", "subfleet")),
)  # fmt: skip
TESTS = ("tests/proofs/test_plan_checker.py", "tests/proofs/test_plan_checker_strategies.py")
LOOKED_INTO = 0
"""Defects of the sample that survive, and that change no plan or only what the twin does not look at."""

HEAD = """# Planted defects of the planner

`make evidence`, or `python -m plan_checker.defects --report PAGE`. Replay repeats a defect of the planner, so a second planner
finds those (`proofs/plan_checker/`). Here machine-made defects are planted in the files that plan, each reached by the twin's
tests, and these are run.

"""


def main():
    parser = argparse.ArgumentParser(prog="plan_checker.defects", description=__doc__.partition("\n")[0])
    parser.add_argument("--sample", type=int, default=SAMPLE)
    parser.add_argument("--report", help="write the page, too")
    given = parser.parse_args()
    room = Room("planner", SOURCES, TESTS, given.sample, reached_alone=True)
    verdicts = []
    with tempfile.TemporaryDirectory() as home, Tree(Path(home)) as tree:
        trial = Trial(room, tree)
        for mutant in room.sampled(SEED, given.sample * 4):
            if len(verdicts) == given.sample:
                break
            if trial.is_reached(mutant):
                verdicts.append(trial.verdict(mutant))
                print(verdicts[-1], flush=True)
    alive = [one for one in verdicts if one.what in ALIVE]
    print(f"{len(verdicts)} defects, {len(alive)} survive")
    if given.report:
        Path(given.report).write_text(HEAD + page(verdicts, alive), encoding="utf-8")
    return int(len(alive) > LOOKED_INTO)


def page(verdicts, alive):
    """Numbers and lists of a run."""
    lines = [f"{len(verdicts)} defects, {len(verdicts) - len(alive)} found, {len(alive)} not.", ""]
    lines += ["| defect | change | found by |", "| --- | --- | --- |"]
    for one in sorted(verdicts, key=lambda one: one.mutant.key):
        change = one.mutant.change.replace("|", "\\|").replace("\n", " ")
        lines.append(f"| `{one.mutant.key}` | `{change}` | {one.by.rpartition('::')[2] or one.what} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
