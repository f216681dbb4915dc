"""Compare RocketMQ's real classes with the product: ``python -m differential [--quick] [--half H]
[--releases R ...]``.

The client half is run twice, with answers in no time and with delays; ``--delays`` runs the latter
alone.

``--sequences N`` of the seeds from ``--seed S`` on, for each half and release; one of them again:
``--seed S --sequences 1``, with ``--quick`` if it was met there. Ends with 1 if anything differs,
or if a tolerated corner is never met in a run of the full length.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from differential.compared_releases import HALVES, RELEASES
from differential.comparing import Totals
from differential.differential_page import written
from differential.runs import run
from differential.tolerated import TOLERATED

QUICK, LONG = 1_000, 20_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for and say what differs."""
    parser = argparse.ArgumentParser(prog="differential", description=__doc__)
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"{QUICK:,} sequences each, shorter ones of the client half",
    )
    parser.add_argument("--half", choices=("client", "broker"), help="this one only")
    parser.add_argument(
        "--delays", action="store_true", help="only with answers that take time, of the client half"
    )
    parser.add_argument("--releases", nargs="+", choices=list(RELEASES), default=list(RELEASES))
    parser.add_argument(
        "--sequences", type=int, help=f"for each half and release; by default {LONG:,}"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the first sequence")
    parser.add_argument("--report", type=Path, help="write the totals into this page, too")
    given = parser.parse_args(arguments)
    n_sequences = given.sequences or (QUICK if given.quick else LONG)
    started = time.monotonic()
    if given.delays and given.half == "broker":
        parser.error(
            "only answers to the client half take time; leave out --delays or --half broker"
        )
    halves = ["delayed client"] if given.delays else [given.half] if given.half else list(HALVES)
    totals = run(halves, given.releases, n_sequences, given.seed, given.quick)
    seconds = time.monotonic() - started
    for one in totals:
        print(told(one))
    unmet = never_met(totals) if n_sequences >= LONG else []
    for line in unmet:
        print(line)
    print(f"{seconds:.0f} s")
    if given.report:
        written(given.report, totals, given.seed, seconds)
    return int(bool(unmet) or any(one.differences for one in totals))


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
