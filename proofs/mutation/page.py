"""The page of evidence, from the verdicts that are kept of each room."""

import json

from checkout import ROOT

from mutation import survivors
from mutation.reach import BUDGET, KEPT, digest
from mutation.rooms import ROOMS
from mutation.trial import ALIVE, BY_TIME, KILLED, NO_PROGRAM

HEAD = """# Machine-made mutants

`make mutation`, or `python -m mutation --seed {seed}` (`proofs/mutation/`). A mutant
is one small change: a comparison that takes in its bound or leaves it out, another operator, a constant one larger, a
condition that always or never holds, `None` for an answer, a statement left out, a sort the other way round. In Python it is
made over the syntax tree, in C and Cython over tokens, and the modules that hold it are compiled anew. The sample of a room
depends on the seed and on the names of its mutants alone, so that it hardly changes with the code. The tests that reach the
line are run, the cheapest first, to {budget} s of tests for each mutant; tests that start servers, a Spark session among them,
are not; `rooms.py` names the files of tests of each room. Beside other work on the machine fewer tests fit in. A mutant whose
tests do not end counts as killed, by time.

Of kept tools mutmut 3.8.1 was run on `rmqalloc/transitions`, in a copy of the tree with the compiled kernels beside it: of its
1,557 mutants it judged 446 in four minutes (113 killed, 56 survived, 277 reached by no test of `tests/transitions`). It changes
neither C and Cython nor what stands outside functions, draws no sample, and numbers the mutants of a function, so that an edit
renames those behind it. mutatest 3.1.0 asks for a coverage older than 6; cosmic-ray 8.7 has a command run for each mutant. So a
program of our own makes the mutants, with coverage.py and pytest.
"""
COLUMNS = ("room", "possible", "tried", "killed", "of these by time", "survive", "equivalent", "open", "seconds")


def mark_of(mutant, by):
    """What a kill depends on: the changed file and the test that failed."""
    files = [ROOT / mutant.file, *([ROOT / by.split("::")[0]] if "::" in by else [])]
    return digest([file for file in files if file.exists()])


def row_of(verdict):
    """What is kept of a verdict."""
    mark = mark_of(verdict.mutant, verdict.by)
    return {"key": verdict.mutant.key, "what": verdict.what, "by": verdict.by, "seconds": verdict.seconds, "mark": mark}


def is_killed_still(row, mutant):
    """Whether a mutant was killed before by a test that is still the same."""
    return row.get("what") in (KILLED, BY_TIME, NO_PROGRAM) and row["mark"] == mark_of(mutant, row["by"])


def line(cells):
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def cells_of(room, rows, known):
    """One line of the table, as numbers."""
    rows = [row for row in rows if row["what"] != NO_PROGRAM]
    count = {what: sum(row["what"] == what for row in rows) for what in (KILLED, BY_TIME)}
    alive = [row["key"] for row in rows if row["what"] in ALIVE]
    equivalent = sum(key in known and known[key].is_equivalent for key in alive)
    seconds = round(sum(row["seconds"] for row in rows))
    killed = sum(count.values())
    return (
        len(room.mutants()),
        len(rows),
        killed,
        count[BY_TIME],
        len(alive),
        equivalent,
        len(alive) - equivalent,
        seconds,
    )


def page(seed):
    known, table = survivors.listed(), []
    for room in ROOMS:
        path = KEPT / f"verdicts-{room.name}-{seed}.json"
        if path.exists():
            there = {mutant.key for mutant in room.mutants()}
            rows = [row for row in json.loads(path.read_text("utf-8")) if row["key"] in there]
            table.append((room.name, *cells_of(room, rows, known)))
    sums = ("all", *(sum(column) for column in list(zip(*table, strict=True))[1:]))
    lines = [
        HEAD.format(seed=seed, budget=BUDGET),
        line(COLUMNS),
        line(["---"] * len(COLUMNS)),
        *map(line, [*table, sums]),
        "",
    ]
    lines += [
        f"Seed {seed}. Seconds are of the clock. `tests/data/mutation-survivors.tsv` says why a survivor is equivalent, or",
        "what is open.",
        "",
    ]
    lines += ["| survivor | change | |", "| --- | --- | --- |"]
    for one in known.values():
        change = one.change.replace("|", "\\|")
        lines.append(line([f"`{one.key}`", f"`{change}`", one.state]))
    return "\n".join(lines) + "\n"
