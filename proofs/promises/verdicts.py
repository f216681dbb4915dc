"""The verdicts of the last run over machine-made mutants: which test killed which."""

from collections import Counter
from functools import cache

from checkout import PROOFS

FILE = PROOFS / "mutation" / "verdicts.tsv"
"""Key, verdict and killing test of a mutant, one a line, and a mark; what `mutation` keeps."""
ALIVE = ("survives", "not compiled")


class Verdicts:
    """Mutants by their key, and the tests that killed them."""

    def __init__(self, text):
        lines = (
            line.split("\t")
            for line in text.splitlines()
            if line and not line.startswith(("#", "key\t"))
        )
        self._rows = [(key, verdict, rest[0] if rest else "") for key, verdict, *rest in lines]
        self._by_test = Counter(
            bare(test) for _, verdict, test in self._rows if verdict not in ALIVE
        )

    def __len__(self):
        return len(self._rows)

    def by(self, tests):
        """Return how many mutants these tests killed first."""
        return sum(self._by_test[test] for test in set(tests))

    def within(self, code):
        """Return the tests that killed a mutant in a function or class and how many were killed and
        tried there.
        """
        tried = [row for row in self._rows if row[0].startswith((f"{code}::", f"{code}."))]
        killed = [bare(test) for _, verdict, test in tried if verdict not in ALIVE]
        return sorted({test for test in killed if test}), len(killed), len(tried)


def bare(test):
    """Return the name of a test without its parameters."""
    return test.partition("[")[0].strip()


@cache
def of_last_run():
    """Return the verdicts of the last run; none where its file is not there."""
    return Verdicts(FILE.read_text(encoding="utf-8") if FILE.exists() else "")
