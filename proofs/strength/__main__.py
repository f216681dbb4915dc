"""Try a fixed list of mutants against the quick tier, and its survivors against all tests: ``python -m strength``.

Ends with 1 if the quick tier misses too many that other tests kill, or if an entry of the list does not apply any more.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import areas
import cache
from mutation.kernels import Kernels
from mutation.reach import KEPT
from mutation.tree import Tree
from mutation.trial import SURVIVED

from strength import drawn, page, stages, verdicts
from strength.nearest import NO_SERVERS, QUICK, QuickReach, folder_of
from strength.verdicts import BY_NONE, BY_QUICK, FARTHER, NO_PROGRAM, SERVERS, Row, Verdicts

FEW = ("diffs", "evidence", "store", "transitions")
"""Rooms of the short form: their tests take seconds."""
SERVERS_SECONDS = 300
BUDGET = 1500
"""Seconds of areas that a run takes, by their own figures."""


def options_of():
    parser = argparse.ArgumentParser(prog="strength", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help=f"two of each of {', '.join(FEW)}, by tests of their rooms"
    )
    parser.add_argument("--report", help="write the page into this file")
    parser.add_argument("--budget", type=int, default=BUDGET, help="seconds of areas, by their own figures")
    parser.add_argument("--draw", action="store_true", help="rewrite the list: entries that apply stay")
    return parser.parse_args()


def try_alone(found, rows, tree, kernels, reach):
    """Try mutants one by one against quick tests without servers."""
    for mutant in found:
        if mutant.key in rows:
            continue
        started, (what, by) = time.monotonic(), stages.alone(tree, kernels, mutant, reach)
        tier = {SURVIVED: BY_NONE, NO_PROGRAM: NO_PROGRAM}.get(what, BY_QUICK)
        rows.note(mutant.key, Row(tier, by or ("" if what == SURVIVED else what)))
        print(f"{what} {by} ({time.monotonic() - started:.0f} s): {mutant.key}", flush=True)


def parts_of(alive, reach, budget):
    """What is run on all survivors at once: seconds, arguments of pytest, and which tests."""
    farther = {test for mutant in alive for test in stages.slices(reach.nearest(mutant), reach.seconds)[2]}
    if farther:
        chosen = {"marks": NO_SERVERS, "tests": sorted(farther)}
        yield FARTHER, sum(map(reach.seconds, farther)), stages.files_of(sorted(farther)), chosen
    yield SERVERS, SERVERS_SECONDS, [*QUICK, "tests"], {"marks": "servers"}
    for name in stages.order_of(areas.AREAS, [mutant.file for mutant in alive]):
        starts = areas.AREAS[name].seconds
        seconds = sum(starts.values())
        if seconds <= budget:
            budget -= seconds
            yield name, seconds, stages.files_of(starts), {"marks": "", "starts": list(starts)}


def try_together(rows, tree, kernels, reach, budget):
    """Try all survivors at once: quick tests that are farther away or have servers, then areas within the budget."""
    for part, seconds, arguments, chosen in parts_of(rows.alive(""), reach, budget):
        alive = rows.alive(part)
        if alive:
            print(f"{part}: {len(alive)} survivors, about {seconds:.0f} s", flush=True)
            killed = stages.together(tree, kernels, alive, arguments, seconds, **chosen)
            rows.note_part(part, alive, killed)
            print("\n".join(f"    {key}: {by}" for key, by in killed.items()), flush=True)


def main():
    options = options_of()
    if options.draw:
        drawn.LIST.write_text(drawn.draw(), encoding="utf-8")
        return 0
    os.environ["RMQALLOC_CACHE"] = str(cache.HOME)  # the copy of the tree shares what is costly to make
    found, gone = drawn.of_today()
    if options.quick:
        found = [pair for name in FEW for pair in [one for one in found if one[0].name == name][:2]]
    rooms, mutants = {mutant.key: room.name for room, mutant in found}, [mutant for _, mutant in found]
    rows = Verdicts(mutants, None if options.quick else KEPT / "verdicts-strength.json")
    with tempfile.TemporaryDirectory() as home, Tree(Path(home)) as tree:
        kernels = Kernels(Path(home))
        folders = tuple(dict.fromkeys(folder_of(one.file) for one in mutants)) if options.quick else ("tests",)
        reach = QuickReach(tree, mutants, folders)
        if not any(known["seconds"] for known in reach.by_file.values()):
            sys.exit("no test passes without a mutant")
        try_alone(mutants, rows, tree, kernels, reach)
        if not options.quick:
            try_together(rows, tree, kernels, reach, options.budget)
    wrong = verdicts.wrong(rooms, rows, gone)
    quick, lost, none = verdicts.counts(rows.values())
    print(f"{len(rows)} mutants: {quick} killed by quick, {lost} only by all, {none} by none", flush=True)
    print("\n".join(wrong), end="\n" if wrong else "", file=sys.stderr)
    if options.report:
        Path(options.report).write_text(page.page(rooms, rows, gone), encoding="utf-8")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
