"""Measure everything, print the page, and end with 1 if a promise is not kept; in a quick run they
mean nothing.
"""

import argparse
import sys
from pathlib import Path

from movement.bounds import checks
from movement.contenders import KAFKA, STRATEGIES
from movement.kafka import why_missing
from movement.page import page
from movement.run import FULL, QUICK, run


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(
        prog="python -m movement", description="How much strategies move, and Kafka's"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="few trials of the small shapes: shows that all of it runs",
    )
    parser.add_argument(
        "--no-kafka",
        action="store_true",
        help="leave out Kafka's assignors, which need a JDK and Maven",
    )
    parser.add_argument(
        "--report", type=Path, help="file to write the page to, besides printing it"
    )
    options = parser.parse_args()
    if options.quick and options.report:
        parser.error("a quick run has no figures to publish: leave out --quick")
    missing = None if options.no_kafka else why_missing()
    if missing and options.report:
        parser.error(f"the page needs Kafka's assignors: {missing}")
    kafka = KAFKA if not options.no_kafka and missing is None else []
    results = run(QUICK if options.quick else FULL, [*STRATEGIES, *kafka])
    text = page(results)
    print(text)
    if options.report:
        options.report.write_text(text, encoding="utf-8")
    above = [] if options.quick else [check for check in checks(results) if not check.is_kept]
    for check in above:
        print(
            f"{check.contender}: {check.what}: {check.found:.3f}, at most {check.most:g}",
            file=sys.stderr,
        )
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
