"""Faults put in by hand, and the tests that have to notice them: ``python -m mutation --by-hand
[--area A]``.

`by_hand.tsv` has a line for each: file, old text, new text, what is then wrong, and arguments of
pytest, between tabs. ``↵`` is the end of a line in a text, ``[name]`` begins an area.
"""

import sys
from typing import NamedTuple

from checkout import PROOFS, ROOT

from mutation.mutant import Edit, Mutant
from mutation.tree import Workers, mutated
from mutation.trial import BY_TIME, KILLED, judgement

LIST = PROOFS / "mutation" / "by_hand.tsv"
QUICK_EVERY = 20
TIMEOUT = 600
DOES_NOT_FIT, NO_VERDICT = "DOES NOT FIT", "no verdict"


class Fault(NamedTuple):
    """One small change that makes the product answer wrongly."""

    area: str
    file: str
    old: str
    new: str
    what: str
    tests: str

    def mutant(self):
        """It as a mutant, or None if the old text does not stand in the file just once."""
        text = (ROOT / self.file).read_text(encoding="utf-8")
        if text.count(self.old) != 1:
            return None
        start = text.index(self.old)
        edit = Edit("", "by hand", start, start + len(self.old), self.new)
        return Mutant(
            self.what, self.file, text.count("\n", 0, start) + 1, f"{self.old} -> {self.new}", edit
        )


def faults():
    """Read the list."""
    found, area = [], ""
    for text in LIST.read_text(encoding="utf-8").splitlines():
        if text.startswith("["):
            area = text.strip("[]")
        elif text and not text.startswith("#"):
            file, old, new, what, tests = text.split("\t")
            found.append(
                Fault(area, file, old.replace("↵", "\n"), new.replace("↵", "\n"), what, tests)
            )
    return found


def areas():
    return list(dict.fromkeys(fault.area for fault in faults()))


def verdict(tree, fault):
    """What the tests of a fault say: pytest ends with 1 where one fails, and any other bad end is
    no verdict.
    """
    mutant = fault.mutant()
    if mutant is None:
        return DOES_NOT_FIT
    with mutated(tree, [mutant]) as is_program:
        answer = (
            tree.run(["-x", *fault.tests.split()], TIMEOUT, marks="", memory=0)
            if is_program
            else {"code": None}
        )
    what = judgement(answer)[0] if answer["code"] in (0, 1, "timeout") else NO_VERDICT
    print(f"{what}: {fault.file}: {fault.what}", flush=True)
    if what == NO_VERDICT:
        print(tree.log()[-2000:], file=sys.stderr)
    return what


def reported(report, options):
    """Try what is chosen, and report what no test noticed."""
    chosen = [
        one for one in faults() if options.area in (None, one.area) and options.only in one.file
    ]
    chosen = chosen[:: QUICK_EVERY if options.quick else 1]
    with Workers(options.workers) as workers:
        found = workers.map(verdict, chosen)
    report.say(f"\n## Faults put in by hand\n\n{len(found)} were tried.")
    for one, what in zip(chosen, found, strict=True):
        if what not in (KILLED, BY_TIME):
            report.fault(f"{what}: {one.file}: {one.what} ({one.tests})")
    if not found:
        report.fault("no fault by hand was tried")
