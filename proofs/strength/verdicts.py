"""Verdicts, kept in the cache so that an interrupted run goes on, and what they add up to."""

import json
from typing import NamedTuple

import areas
from checkout import ROOT
from mutation.page import mark_of
from mutation.reach import digest

from strength.drawn import STRICT

BY_QUICK, BY_ALL, BY_NONE, NO_PROGRAM = "quick", "only by all", "none", "not compiled"
FARTHER, SERVERS = QUICK_PARTS = "quick, farther away", "quick, with servers"
"""Parts of the quick tier that are run on all survivors at once; the other such parts are areas."""


class Row(NamedTuple):
    """What became of a mutant: which tier killed it, the test or the cause, and what it survived.

    A row holds while its mark does: for a kill the changed file and the test, else the file and all tests.
    """

    what: str
    by: str = ""
    survived: tuple[str, ...] = ()
    mark: str = ""


def mark(mutant, row):
    if row.what in (BY_QUICK, BY_ALL):
        return mark_of(mutant, row.by)
    return digest([ROOT / mutant.file, *ROOT.glob("tests/**/test_*.py")])


def holds(mutant, row):
    """Whether a row is still true: a kill by the quick tier is not once its test has left that tier."""
    return row.mark == mark(mutant, row) and not (row.what == BY_QUICK and areas.area_of(row.by))


class Verdicts(dict):
    """Rows by the name of the mutant; nothing is kept without a path."""

    def __init__(self, mutants, path):
        kept = json.loads(path.read_text("utf-8")) if path and path.exists() else {}
        self.path = path
        self.mutants = {mutant.key: mutant for mutant in mutants}
        rows = {
            key: Row(**row | {"survived": tuple(row["survived"])}) for key, row in kept.items() if key in self.mutants
        }
        super().__init__({key: row for key, row in rows.items() if holds(self.mutants[key], row)})

    def note(self, key, row):
        self[key] = row._replace(mark=mark(self.mutants[key], row))
        if self.path:
            rows = {name: one._asdict() for name, one in self.items()}
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(json.dumps(rows, indent=1), encoding="utf-8")

    def alive(self, part):
        """Mutants that nothing has killed and that a part of the tests has not been run on."""
        return [self.mutants[key] for key, row in self.items() if row.what == BY_NONE and part not in row.survived]

    def note_part(self, part, tried, killed):
        for mutant in tried:
            row = self[mutant.key]
            by = killed.get(mutant.key)
            what = BY_NONE if by is None else BY_QUICK if part in QUICK_PARTS else BY_ALL
            self.note(mutant.key, row._replace(what=what, by=by or "", survived=(*row.survived, part)))


def counts(rows):
    """How many are killed by the quick tier, only by all tests, and by none."""
    rows = list(rows)
    return [sum(row.what == what for row in rows) for what in (BY_QUICK, BY_ALL, BY_NONE)]


def wrong(rooms, verdicts, gone):
    """What misses the goal: at most one in twenty of those killed is lost to the quick tier, none in `STRICT` rooms."""
    quick, lost, _ = counts(verdicts.values())
    found = [f"not in today's code any more: {key}" for key in gone]
    if 20 * lost > quick + lost:
        found.append(f"{lost} of {quick + lost} killed are lost to the quick tier, more than 5 %")
    return found + [
        f"lost in {rooms[key]}: {key}" for key, row in verdicts.items() if row.what == BY_ALL and rooms[key] in STRICT
    ]


def not_run(verdicts):
    """Parts that were not run on every survivor."""
    return [part for part in (*QUICK_PARTS, *areas.AREAS) if verdicts.alive(part)]
