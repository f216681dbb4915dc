"""One room's sample: each mutant is put into a copy of the tree, and the tests that reach it are run."""

import time
from contextlib import contextmanager
from typing import NamedTuple

from checkout import ROOT

from mutation.kernels import Kernels
from mutation.mutant import Mutant
from mutation.reach import Reach

KILLED, BY_TIME, SURVIVED, UNREACHED, NO_PROGRAM = "killed", "killed by time", "SURVIVED", "NOT REACHED", "not compiled"
ALIVE = (SURVIVED, UNREACHED)


class Verdict(NamedTuple):
    """What became of a mutant.

    Attributes
    ----------
    mutant : Mutant
    what : str
    by : str
        The test that failed first.
    seconds : float
    left_out : int
        Tests that reach the line, and were not run, as they take too long.
    """

    mutant: Mutant
    what: str
    by: str
    seconds: float
    left_out: int = 0

    def __str__(self):
        more = f" ({self.left_out} slow tests left out)" if self.left_out else ""
        by = f" by {self.by}" if self.by else ""
        return f"{self.what}{by}{more}: {self.mutant.key} (line {self.mutant.line})\n    {self.mutant.change}"


@contextmanager
def mutated(tree, kernels, mutants):
    """A copy of the tree with mutants in it; False if they do not compile."""
    files = {file: (ROOT / file).read_text(encoding="utf-8") for file in {mutant.file for mutant in mutants}}
    replaced = {}
    try:
        for file, text in files.items():
            for mutant in sorted(mutants, key=lambda mutant: -mutant.edit.start):  # places before an edit stay
                text = mutant.applied(text) if mutant.file == file else text
            (tree.folder / file).write_text(text, encoding="utf-8")
        compiled = [file for file in files if file.startswith("pyx/")]
        replaced = kernels.built(*compiled) if compiled else {}
        yield replaced is not None
    finally:
        for file, text in files.items():
            (tree.folder / file).write_text(text, encoding="utf-8")
        for old, content in (replaced or {}).items():
            old.unlink()
            old.write_bytes(content)


def judgement(answer):
    """What the tests say, and the first that failed: any end but a good one is a kill."""
    if answer["code"] == "timeout":
        return BY_TIME, ""
    if answer["code"] in (0, 5):  # 5: no test was run
        return SURVIVED, ""
    return KILLED, next(iter(answer.get("failures", ())), str(answer["signal"] or "import"))


class Trial:
    """Tries mutants of a room in one copy of the tree."""

    def __init__(self, room, tree):
        self.room, self.tree = room, tree
        self.reach = Reach(room, tree)
        self.kernels = Kernels(tree.folder) if room.is_compiled else None

    def is_reached(self, mutant):
        return bool(self.reach.tests(mutant, (ROOT / mutant.file).read_text(encoding="utf-8"))[0])

    def verdict(self, mutant):
        started = time.monotonic()
        text = (ROOT / mutant.file).read_text(encoding="utf-8")
        tests, left_out = self.reach.tests(mutant, text)
        if not tests:
            return Verdict(mutant, UNREACHED, "", 0.0)
        with mutated(self.tree, self.kernels, [mutant]) as is_program:
            what, by = self.judged(tests) if is_program else (NO_PROGRAM, "")
        return Verdict(mutant, what, by, time.monotonic() - started, left_out)

    def judged(self, tests):
        files = list(dict.fromkeys(test.split("::")[0] for test in tests))
        needed = sum(self.reach.seconds(test) for test in tests)
        answer = self.tree.run(["-x", *files], int(40 + 4 * needed), tests=tests, cpu=int(10 + needed))
        if answer["code"] == 5:
            raise RuntimeError(f"none of these tests is there: {tests[:3]}\n{self.tree.log()[-2000:]}")
        return judgement(answer)
