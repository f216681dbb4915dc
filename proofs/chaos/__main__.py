"""Search for fault schedules that break a group: ``python -m chaos [--quick] [--schedules N]
[--seed S] [--report FILE]``.

Ends with 1 if an invariant is broken without a known cause; its smallest script is printed, and
``rmqalloc simulate`` plays it. ``--replay`` plays the two most severe findings on a real cluster
instead; needs a JDK and Maven.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from chaos.page import page
from chaos.searching import Failure, Kind, Totals, search, smallest

SCHEDULES = {True: 400, False: 20_000}
"""Schedules of the quick and of the long form."""


def main() -> int:
    """Search, make small what was found, and write a page."""
    parser = argparse.ArgumentParser(prog="python -m chaos", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="few schedules, and only failures are made small"
    )
    parser.add_argument(
        "--schedules", type=int, metavar="N", help="how many (default: 20000, or 400 with --quick)"
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="S", help="of the first schedule; the others follow"
    )
    parser.add_argument("--report", metavar="FILE", help="page to write")
    parser.add_argument(
        "--replay", action="store_true", help="play the most severe findings on a real cluster"
    )
    given = parser.parse_args()
    if given.replay:
        from chaos.replay import replay

        return replay(given.report)
    started = time.monotonic()
    n = SCHEDULES[given.quick] if given.schedules is None else given.schedules
    totals = search(range(given.seed, given.seed + n))
    small = made_small(totals, only_failures=given.quick)
    text = page(totals, small, time.monotonic() - started)
    print(text)
    if given.report:
        Path(given.report).write_text(text, encoding="utf-8")
    return 1 if totals.failed or not n else 0


def made_small(totals: Totals, only_failures: bool) -> dict[Kind, Failure]:
    """Return the smallest script of every way to fail."""
    kinds = totals.failed if only_failures else sorted(totals.seen, key=str)
    return {kind: smallest(kind, totals.first[kind]) for kind in kinds}


if __name__ == "__main__":
    sys.exit(main())
