"""The long form: so many random snapshots for every verb, as a table; exit code 1 if any answer
differs.
"""

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path

from checkout import DATA

from bruteforce import golden
from bruteforce.runs import differences, run
from bruteforce.shrink import shrunk
from bruteforce.tally import Tally
from bruteforce.verbs import VERBS

SHARES = {"command line": 0.2, "plan of mixed groups": 3}
"""Verbs of which another number of snapshots is enough, or needed."""

QUICK, QUICK_GOLDEN = 10, 10
"""Snapshots of each verb in the short form, and every so many of the committed answers."""

HEAD = """# Every verb beside a brute force

`make evidence`; a case is found again by its verb, seed and number (`python -m bruteforce -h`).
"""

COLUMNS = ("verb", "snapshots", "answers compared", "differences", "seed", "CPU seconds")


def main():
    parser = argparse.ArgumentParser(prog="bruteforce", description=__doc__)
    parser.add_argument("--snapshots", type=int, default=1000, help="of each verb")
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"{QUICK} snapshots of each verb, a tenth of the golden answers",
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first")
    parser.add_argument("--verb", action="append", choices=list(VERBS), help="only these")
    parser.add_argument(
        "--show", type=int, default=0, metavar="N", help="N cases of each difference, made small"
    )
    parser.add_argument("--report", help="write the table into this file, too")
    given = parser.parse_args()
    n_snapshots, table = QUICK if given.quick else given.snapshots, Table()
    if not given.verb:
        table.row(
            "the brute force itself beside Java's committed answers",
            "–",
            *golden_figures(QUICK_GOLDEN if given.quick else 1),
        )
    for verb in given.verb or VERBS:
        n = max(1, int(n_snapshots * SHARES.get(verb, 1)))
        done = run(verb, given.seed, range(given.first, given.first + n))
        table.row(verb, f"{n:,}", done.compared, done.n_differences, done.seed, done.seconds)
        show(done, given.show)
    if given.report:
        Path(given.report).write_text("\n".join([HEAD, *table.lines]) + "\n", encoding="utf-8")
    return int(table.differs)


class Table:
    """Prints rows as they come, and keeps them."""

    def __init__(self):
        self.lines, self.differs = [], False
        self._line(COLUMNS)
        self._line(["---"] * len(COLUMNS))

    def _line(self, cells):
        self.lines.append(f"| {' | '.join(map(str, cells))} |")
        print(self.lines[-1], flush=True)

    def row(self, what, n_snapshots, compared, n_differences, seed, seconds):
        self.differs |= n_differences > 0
        self._line(
            (what, n_snapshots, f"{compared:,}", f"{n_differences:,}", seed, f"{seconds:.1f}")
        )


def golden_figures(every):
    """The brute force itself beside the answers of the real Java classes."""
    start, tally = time.process_time(), Tally()
    golden.compare(DATA / "golden.jsonl.gz", tally, every)
    return tally.compared, len(tally.differences), "–", time.process_time() - start


def show(done, n_cases):
    """Kinds of differences on standard error, with cases made small."""
    kinds = Counter(one.kind for *_, found in done.differing for one in found)
    for kind, n in kinds.most_common():
        numbers = [
            number for number, _, found in done.differing if any(one.kind == kind for one in found)
        ]
        print(
            f"{done.verb}: {kind}: {n:,} in {len(numbers):,} cases: {numbers[:8]}", file=sys.stderr
        )
        for number, case, _ in [one for one in done.differing if one[0] in numbers][:n_cases]:
            show_case(done.verb, number, case, kind)


def show_case(verb, number, case, kind):
    small = shrunk(verb, case, kind)
    print(f"  case {number}, made small: {json.dumps(small, ensure_ascii=False)}", file=sys.stderr)
    for one in differences(verb, small).differences[:5]:
        print(f"    {one}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
