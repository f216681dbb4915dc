"""The page of evidence."""

import areas

from mutation import trial
from mutation.listed import SEED, listed
from mutation.trial import NO_PROGRAM, SURVIVES
from mutation.verdicts import counts, shares

HEAD = """# Machine-made mutants

`make mutation`, or `python -m mutation` (`proofs/mutation/`). A mutant is one small change: a comparison that takes in its
bound or leaves it out, another operator, a constant one larger, a condition that always or never holds, `None` for an answer, a
statement left out, a sort the other way round. In Python it is made over the syntax tree, in C and Cython over tokens, and the
modules that hold it are compiled. `mutants.tsv` has {listed}, drawn with seed {seed} from all rooms in proportion to their
possible ones, four at least.

1. The tests of `make test` without servers that reach its line are run on each mutant, nearest first, to the first failure or
   to {limit} s of tests. A kernel is not traced; it gets the tests of `engine`, `strategies` and `fleet`, its own first.
2. All survivors are put into one copy of the tree, for those of these tests that had no time; with `--all` for the tests with
   a Spark session or a real RocketMQ, too, and for the areas that `make test-all` adds.

A test that fails in 2 is run without a mutant and then on each survivor alone. A mutant whose tests do not end counts as
killed, by time. Tests of the lists of mutants, which fail with any change of the code they name, do not count. `verdicts.tsv`
names the test that failed first.

Of kept tools mutmut 3.8.1 was run on `rmqalloc/transitions`: of its 1,557 mutants it judged 446 in four minutes. It changes
neither C and Cython nor what stands outside functions, draws no sample, and numbers the mutants of a function, so that an edit
renames those behind it. mutatest 3.1.0 asks for a coverage older than 6; cosmic-ray 8.7 has a command run for each mutant. So a
program of our own makes the mutants, with coverage.py and pytest.
"""
COLUMNS = (
    "room",
    "mutants",
    "killed",
    "of these by time",
    "only by `make test-all`",
    "survive",
    "equivalent",
    "open",
)


def line(cells):
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def cell(text):
    return f"`{text}`".replace("|", "\\|")


def table(rooms, rows, entries):
    yield line(COLUMNS)
    yield line(["---"] * len(COLUMNS))
    for room in sorted({rooms[key] for key in rows}):
        yield line(
            (room, *counts({key: row for key, row in rows.items() if rooms[key] == room}, entries))
        )
    yield line(("all", *counts(rows, entries)))


def sentence(name, goal, numbers):
    """Figures of `shares` in words."""
    of_all, of_those = (f"{share:.1f} %" for share in numbers.shares)
    return f"{name}: {of_all} of {numbers.mutants} are killed, {of_those} without equivalent ones; the goal is {goal} %"


def page(rooms, rows, gone):
    entries = listed()
    lines = [HEAD.format(listed=len(entries), seed=SEED, limit=trial.LIMIT)]
    lines += [f"* {sentence(*one)}." for one in shares(rooms, rows, entries)]
    lines += ["", *table(rooms, rows, entries), ""]
    untried = entries.keys() - rows.keys() - set(gone)
    lines += [f"{len(untried)} of the list were not tried.", ""] if untried else []
    no_program = [key for key, row in rows.items() if row.what == NO_PROGRAM]
    for what, keys in (("no longer in the code", gone), ("not compiled", no_program)):
        lines += [f"{len(keys)} {what}: {', '.join(map(cell, keys))}.", ""] if keys else []
    alive = {key: row for key, row in rows.items() if row.what == SURVIVES}
    parts = (trial.FARTHER, trial.SERVERS, *areas.AREAS)
    lacking = [
        part for part in parts if any(part not in row.by.split(", ") for row in alive.values())
    ]
    lines += [f"Not run on every survivor: {', '.join(lacking)}.", ""] if lacking else []
    lines += ["| survivor | change | |", "| --- | --- | --- |"] if alive else ["None survives."]
    for key in alive:
        lines.append(
            line([cell(key), cell(entries[key].change), entries[key].note or "not looked into"])
        )
    return "\n".join(lines) + "\n"
