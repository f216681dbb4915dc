"""One room's sample: each mutant is put into a copy of the tree, and the tests that reach it are run."""

import time
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
        path, replaced = self.tree.folder / mutant.file, {}
        path.write_text(mutant.applied(text), encoding="utf-8")
        try:
            if self.kernels:
                replaced = self.kernels.built(mutant.file)
                if replaced is None:
                    return Verdict(mutant, NO_PROGRAM, "", time.monotonic() - started)
            what, by = self.judged(tests)
        finally:
            path.write_text(text, encoding="utf-8")
            for old, content in (replaced or {}).items():
                old.unlink()
                old.write_bytes(content)
        return Verdict(mutant, what, by, time.monotonic() - started, left_out)

    def judged(self, tests):
        """What the tests say: any end but a good one is a kill."""
        files = list(dict.fromkeys(test.split("::")[0] for test in tests))
        needed = sum(self.reach.seconds(test) for test in tests)
        answer = self.tree.run(["-x", *files], int(40 + 4 * needed), tests=tests, cpu=int(10 + needed))
        if answer["code"] == "timeout":
            return BY_TIME, ""
        if answer["code"] == 0:
            return SURVIVED, ""
        if answer["code"] == 5:
            raise RuntimeError(f"none of these tests is there: {tests[:3]}\n{self.tree.log()[-2000:]}")
        return KILLED, answer.get("failed") or str(answer["signal"] or "import")
