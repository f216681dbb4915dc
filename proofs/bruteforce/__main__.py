"""Every verb beside a brute force that shares no code with it: ``python -m bruteforce [--quick]
[--snapshots N] [--seed S] [--verb V] [--report FILE]``.

A difference is a fault; a case is found again by its verb, seed and number, and ``--show N`` prints
N of each difference, made small.
"""

import json
import sys
import time
from collections import Counter

from checkout import DATA
from proof import Report, options

from bruteforce import golden
from bruteforce.runs import differences, run
from bruteforce.shrink import shrunk
from bruteforce.tally import Tally
from bruteforce.verbs import VERBS

SHARES = {"plan of mixed groups": 3, "silence": 5}
"""Verbs of which another number of snapshots is needed."""

QUICK, QUICK_GOLDEN = 10, 10
"""Snapshots of each verb in the short form, and every so many of the committed answers."""
LONG = 1000
COLUMNS = ("verb", "snapshots", "answers compared", "differences", "CPU seconds")


def main():
    parser = options("bruteforce", __doc__)
    parser.add_argument("--snapshots", type=int, default=LONG, help="of each verb")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first")
    parser.add_argument("--verb", action="append", choices=list(VERBS), help="only these")
    parser.add_argument("--show", type=int, default=0, metavar="N", help="cases of each difference")
    given = parser.parse_args()
    n_snapshots = QUICK if given.quick else given.snapshots
    report = Report("Every verb beside a brute force")
    report.head(COLUMNS)
    if not given.verb:
        of_java(report, QUICK_GOLDEN if given.quick else 1)
    for verb in given.verb or VERBS:
        n = max(1, int(n_snapshots * SHARES.get(verb, 1)))
        done = run(verb, given.seed, range(given.first, given.first + n))
        report.row(verb, n, done.compared, done.n_differences, f"{done.seconds:.1f}")
        if not done.compared:
            report.fault(f"{verb}: nothing was compared")
        for text in kinds(done):
            report.fault(text)
        show(done, given.show)
    return report.end(given.report)


def of_java(report, every):
    """The brute force itself beside the answers of the real Java classes."""
    start, tally = time.process_time(), Tally()
    golden.compare(DATA / "golden.jsonl.gz", tally, every)
    seconds = time.process_time() - start
    found = tally.differences
    report.row("Java's committed answers", "–", tally.compared, len(found), f"{seconds:.1f}")
    for one in found[:3]:
        report.fault(str(one))


def kinds(done):
    """Kinds of differences, with the numbers of their first cases."""
    counts = Counter(one.kind for *_, found in done.differing for one in found)
    for kind, n in counts.most_common():
        numbers = [number for number, *_ in cases_of(done, kind)]
        yield f"{done.verb}: {kind}: {n:,} in {len(numbers):,} cases: {numbers[:8]}"


def cases_of(done, kind):
    """Cases with a difference of a kind."""
    return [case for case in done.differing if any(one.kind == kind for one in case[2])]


def show(done, n_cases):
    """Print cases of every kind of difference on standard error, made small."""
    for kind in {one.kind for *_, found in done.differing for one in found}:
        for number, case, _ in cases_of(done, kind)[:n_cases]:
            show_case(done.verb, number, case, kind)


def show_case(verb, number, case, kind):
    small = shrunk(verb, case, kind)
    print(f"  case {number}, made small: {json.dumps(small, ensure_ascii=False)}", file=sys.stderr)
    for one in differences(verb, small).differences[:5]:
        print(f"    {one}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
