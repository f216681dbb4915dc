"""Compare RocketMQ's real classes with the product: ``python -m differential [--quick] [--half H]
[--releases R ...] [--report FILE]``.

Random sequences of events go through the classes of a release, with the transport stubbed and the
clock replaced, and through the product; both are compared after every event. The client half is run
twice, with answers in no time and with delays. `conformance` compares the data for authors of
clients with the product; ``python -m differential.conformance`` makes them.

``--sequences N`` of the seeds from ``--seed S`` on, for each half and release; one of them again:
``--seed S --sequences 1``, with ``--quick`` if it was met there. Needs a JDK and Maven.
"""

import sys
from collections.abc import Sequence

from proof import Report, options

from differential.compared_releases import HALVES, RELEASES
from differential.comparing import Totals
from differential.conformance.__main__ import conformance
from differential.runs import run
from differential.tolerated import TOLERATED

QUICK, LONG = 200, 20_000
CONFORMANCE = "conformance"
COLUMNS = ("half", "release", "sequences", "events", "differences", "tolerated", "cut short")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for and say what differs."""
    parser = options("differential", __doc__)
    parser.add_argument("--half", action="append", choices=(*HALVES, CONFORMANCE))
    parser.add_argument("--releases", nargs="+", choices=list(RELEASES), default=list(RELEASES))
    parser.add_argument("--sequences", type=int, help="for each half and release")
    parser.add_argument("--seed", type=int, default=1, help="of the first sequence")
    given = parser.parse_args(arguments)
    report = Report("RocketMQ's real classes and the product under the same events")
    halves = given.half or [CONFORMANCE, *HALVES]
    if CONFORMANCE in halves:
        conformance(report, given.quick)
        halves = [half for half in halves if half != CONFORMANCE]
    if halves:
        n_sequences = given.sequences or (QUICK if given.quick else LONG)
        totals = run(halves, given.releases, n_sequences, given.seed, given.quick)
        reported(report, totals, is_long=n_sequences >= LONG)
    return report.end(given.report)


def reported(report: Report, totals: list[Totals], is_long: bool) -> None:
    """Report totals, what differs, and corners that are tolerated for nothing."""
    report.head(COLUMNS)
    for one in totals:
        counts = (one.sequences, one.events, one.differences)
        report.row(one.half, one.version, *counts, one.met.total(), one.cut.total())
    for one in totals:
        if one.differences or not one.sequences:
            report.fault(told(one))
    for line in never_met(totals) if is_long else ():
        report.fault(line)


def told(one: Totals) -> str:
    """A line of totals, and what differs."""
    met = ", ".join(f"{name} {count:,}" for name, count in sorted(one.met.items())) or "none"
    line = f"{one.half} half, {one.version}: {one.sequences:,} sequences, {one.events:,} events, "
    cut = f"; cut short: {one.cut.total():,}" if one.cut else ""
    return "\n".join([f"{line}{one.differences:,} differences; tolerated: {met}{cut}", *one.first])


def never_met(totals: list[Totals]) -> list[str]:
    """Corners that are tolerated for nothing."""
    return [
        f"{one.half} half, {one.version}: the corner {corner.name!r} is tolerated and was never met"
        for one in totals
        for corner in TOLERATED
        if corner.half == one.half
        and corner.may_be_met(one.half, one.version)
        and not one.met[corner.name]
    ]


if __name__ == "__main__":
    sys.exit(main())
