"""Verdicts on the list, which are committed, and what is wrong with them.

`verdicts.tsv` has the name of a mutant, the verdict, the test that failed first and a mark between
tabs; of a survivor it has, instead of the test, what was run on all survivors at once. A mark is a
digest of what a verdict depends on: the changed file and that of the test, or of all tests of the
room. A run tries what is not marked so any more, a kill with its own test first.
"""

import threading
from typing import NamedTuple

import areas
from checkout import PROOFS, ROOT

from mutation.listed import STATES, STRICT, listed
from mutation.reach import digest, files_of, folder_of, test_files
from mutation.trial import BY_TIME, KILLED, NO_PROGRAM, SURVIVES

KEPT = PROOFS / "mutation" / "verdicts.tsv"
GOAL, STRICT_GOAL = 92, 97
"""How many in a hundred of those that are not equivalent are killed, in all rooms and in those of `STRICT`."""


class Row(NamedTuple):
    """What became of a mutant."""

    what: str
    by: str = ""
    mark: str = ""


def mark(mutant, row):
    tests = (
        test_files(folder_of(mutant.file))
        if row.what == SURVIVES
        else files_of([row.by])
        if "::" in row.by
        else ()
    )
    paths = [ROOT / mutant.file, *(ROOT / file for file in tests)]
    return digest([path for path in paths if path.exists()])


def kept(path=KEPT):
    """Read the rows of a file, by the name of the mutant."""
    lines = path.read_text(encoding="utf-8").splitlines() if path and path.exists() else []
    return {key: Row(*cells) for key, *cells in (line.split("\t") for line in lines)}


class Verdicts(dict):
    """Rows that hold, by the name of the mutant; `stale` are the others of the file. Without a path
    nothing is kept.
    """

    def __init__(self, mutants, path, is_afresh=False):
        self.path, self.mutants, self.lock = (
            path,
            {mutant.key: mutant for mutant in mutants},
            threading.Lock(),
        )
        known = {key: row for key, row in kept(path).items() if key in listed()}
        self.others = {key: row for key, row in known.items() if key not in self.mutants}
        mine = {} if is_afresh else {key: row for key, row in known.items() if key in self.mutants}
        super().__init__(
            {key: row for key, row in mine.items() if row.mark == mark(self.mutants[key], row)}
        )
        self.stale = {key: row for key, row in mine.items() if key not in self}

    def note(self, key, what, by):
        with self.lock:
            self[key] = Row(what, by, mark(self.mutants[key], Row(what, by)))
            self.stale.pop(key, None)
            if self.path:
                rows = {**self.others, **self, **self.stale}
                lines = ["\t".join((key, *row)) for key, row in sorted(rows.items())]
                self.path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def untried(self):
        return [mutant for key, mutant in self.mutants.items() if key not in self]

    def alive(self, part):
        """Survivors on which a part of the tests has not been run."""
        rows = ((self.mutants[key], row) for key, row in self.items() if row.what == SURVIVES)
        return [mutant for mutant, row in rows if part not in row.by.split(", ")]

    def note_part(self, part, tried, killed):
        for mutant in tried:
            survived = ", ".join(filter(None, [self[mutant.key].by, part]))
            self.note(mutant.key, *killed.get(mutant.key, (SURVIVES, survived)))


class Counts(NamedTuple):
    """Figures of a room: mutants that were tried and compile, and what became of them."""

    mutants: int
    killed: int
    by_time: int
    by_all: int
    survive: int
    equivalent: int
    open: int

    @property
    def shares(self):
        """Of a hundred mutants those that are killed: of all, and of those that are not equivalent."""
        return tuple(
            100 * self.killed / max(n, 1) for n in (self.mutants, self.mutants - self.equivalent)
        )


def counts(rows, entries):
    """Figures of some rows, by the name of the mutant. A survivor without a note counts as open."""
    tried = {key: row for key, row in rows.items() if row.what != NO_PROGRAM}
    alive = [key for key, row in tried.items() if row.what == SURVIVES]
    equivalent = sum(entries[key].is_equivalent for key in alive)
    by_time = sum(row.what == BY_TIME for row in tried.values())
    by_all = sum(row.what == KILLED and bool(areas.area_of(row.by)) for row in tried.values())
    n = len(alive)
    return Counts(len(tried), len(tried) - n, by_time, by_all, n, equivalent, n - equivalent)


def shares(rooms, rows, entries):
    """Name, goal and figures: of all rooms and of those with the higher goal, where some were
    tried.
    """
    strict = {key: row for key, row in rows.items() if rooms[key] in STRICT}
    for name, goal, some in (("all rooms", GOAL, rows), (", ".join(STRICT), STRICT_GOAL, strict)):
        numbers = counts(some, entries)
        if numbers.mutants:
            yield name, goal, numbers


def wrong(rooms, rows, entries, gone):
    """What a run ends badly for; the goals are those of the whole list."""
    found = [f"not in today's code any more: {key}" for key in gone]
    for key, row in rows.items():
        is_noted = entries[key].note.startswith(STATES)
        if row.what == SURVIVES and not is_noted:
            found.append(f"survives and has no note: {key}\n    {entries[key].change}")
        if row.what in (KILLED, BY_TIME) and is_noted:
            found.append(f"is killed, take its note off: {key} by {row.by or row.what}")
    for name, goal, numbers in (
        shares(rooms, rows, entries) if len(rows) + len(gone) == len(entries) else ()
    ):
        if numbers.shares[1] < goal:
            found.append(f"{numbers.shares[1]:.1f} % are killed in {name}; the goal is {goal} %")
    return found
