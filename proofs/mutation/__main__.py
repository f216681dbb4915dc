"""Would the tests fail? ``python -m mutation [--quick] [--all] [--report F]``: a list of machine-made
mutants of every room, and faults put in by hand, which the tests named for them must notice.

A fault of the proof is a mutant that survives without a note, one with a note that is killed, an
entry of the list that does not apply any more, or a goal that is missed. `verdicts.tsv` keeps what
is known; ``--all`` has survivors meet tests with servers and those of areas, too (JDK, Maven).
"""

import os
import sys
import time
from functools import cache as once

import cache
from checkout import ROOT
from proof import Report, options

from mutation import by_hand, listed, trial, verdicts
from mutation.reach import Reach, files_of, folder_of, test_files
from mutation.tree import Workers
from mutation.verdicts import Verdicts

COUNTS = (
    "mutants",
    "killed",
    "of these by time",
    "only by `make test-all`",
    "survive",
    "equivalent",
    "open",
)
FEW = ("documents", "evidence", "ownership", "watching")
"""Rooms of the short form: their tests take seconds."""
BUDGET = 3000
"""Seconds of areas that a run takes, by their own figures."""


def options_of():
    parser = options("mutation", __doc__)
    parser.add_argument("--room", action="append", help="only mutants of these rooms")
    parser.add_argument("--only", default="", help="mutants whose name holds this text")
    parser.add_argument("--all", action="store_true", help="tests with servers and of areas, too")
    parser.add_argument("--budget", type=int, default=BUDGET, help="seconds of areas")
    parser.add_argument("--afresh", action="store_true", help="try again what is known, too")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="copies of the tree")
    parser.add_argument("--draw", action="store_true", help="rewrite the list")
    parser.add_argument("--by-hand", action="store_true", help="only faults put in by hand")
    parser.add_argument("--area", choices=by_hand.areas(), help="of one part of that list")
    return parser.parse_args()


def chosen(found, options):
    """Room and mutant of those to try, and the files of tests to try them with."""
    found = [pair for pair in found if not options.room or pair[0] in options.room]
    found = [pair for pair in found if options.only in pair[1].key]
    if not options.quick:
        return found, test_files("tests")
    by = {key: row.by for key, row in verdicts.kept().items()}
    own = [
        pair for pair in found if by.get(pair[1].key, "").startswith(f"{folder_of(pair[1].file)}/")
    ]
    few = [pair for name in FEW for pair in [one for one in own if one[0] == name][:2]]
    return few, [file for file in files_of(by[one.key] for _, one in few) if (ROOT / file).exists()]


def try_known(workers, rows):
    """Try those that were killed with the test that did it, if that is still there and passes
    without a mutant.
    """
    tests = {key: row.by for key, row in rows.stale.items() if "::" in row.by}
    seconds = trial.passing(workers, list(dict.fromkeys(tests.values())))

    def attempt(tree, key):
        what, by = trial.by_test(tree, rows.mutants[key], tests[key], seconds[tests[key]])
        if what != trial.SURVIVES:
            rows.note(key, what, by)
            print(f"{what} again {by}: {key}", flush=True)

    workers.map(attempt, [key for key, test in tests.items() if test in seconds])


def try_alone(workers, rows, reach):
    """Try mutants one by one."""

    def attempt(tree, mutant):
        started, (what, by) = time.monotonic(), trial.alone(tree, mutant, reach)
        rows.note(mutant.key, what, by)
        print(
            f"{what} {by} ({time.monotonic() - started:.0f} s): {mutant.key}\n    {mutant.change}",
            flush=True,
        )

    workers.map(attempt, rows.untried())


def try_together(workers, rows, reach, options):
    """Try all survivors at once with tests that are farther away or, if asked for, have servers or
    belong to areas.
    """
    for part, seconds, arguments, which in trial.parts_of(rows, reach, options.all, options.budget):
        if alive := rows.alive(part):
            print(f"{part}: {len(alive)} survivors, about {seconds:.0f} s", flush=True)
            killed = trial.together(workers, alive, arguments, seconds, **which)
            rows.note_part(part, alive, killed)
            print("\n".join(f"    {key}: {by}" for key, (_, by) in killed.items()), flush=True)


def tried(mutants, files, options):
    """Verdicts on mutants; tests are only traced where that is needed."""
    rows = Verdicts(mutants, None if options.quick else verdicts.KEPT, options.afresh)
    with Workers(options.workers) as workers:

        @once
        def reach():
            every = mutants if options.quick else [mutant for _, mutant in listed.of_today()[0]]
            found = Reach(workers, every, files, "" if options.quick else "list")
            if not found.every:
                sys.exit("no test passes without a mutant")
            return found

        try_known(workers, rows)
        if rows.untried():
            try_alone(workers, rows, reach())
        if not options.quick:
            try_together(workers, rows, reach, options)
    return rows


def machine_made(report, given):
    """Try mutants of the list, and report shares by room and survivors."""
    found, gone = listed.of_today()
    found, files = chosen(found, given)
    rooms = {mutant.key: room for room, mutant in found}
    rows = tried([mutant for _, mutant in found], files, given)
    entries = listed.listed()
    report.head(("room", *COUNTS))
    for room in sorted({rooms[key] for key in rows}):
        mine = {key: row for key, row in rows.items() if rooms[key] == room}
        report.row(room, *verdicts.counts(mine, entries))
    report.row("all", *verdicts.counts(rows, entries))
    for name, goal, numbers in verdicts.shares(rooms, rows, entries):
        of_all, of_those = (f"{share:.1f} %" for share in numbers.shares)
        text = f"{of_all} of {numbers.mutants} are killed, {of_those} without equivalent ones"
        report.say(f"{name}: {text}; the goal is {goal} %")
    for text in verdicts.wrong(rooms, rows, entries, gone):
        report.fault(text)
    if not rows:
        report.fault("no mutant was tried")


def main():
    given = options_of()
    if given.draw:
        listed.LIST.write_text(listed.draw(), encoding="utf-8")
        return 0
    os.environ["RMQALLOC_CACHE"] = str(
        cache.HOME
    )  # the copy of the tree shares what is costly to make
    report = Report("Would the tests fail?")
    is_by_hand = given.by_hand or given.area
    if not is_by_hand:
        machine_made(report, given)
    if is_by_hand or not (given.room or given.only):
        by_hand.reported(report, given)
    return report.end(given.report)


if __name__ == "__main__":
    sys.exit(main())
