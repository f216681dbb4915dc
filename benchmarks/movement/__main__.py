"""Measure everything and print the page."""

import argparse
import sys
from pathlib import Path

from movement.kafka import why_missing
from movement.page import page
from movement.run import FULL, QUICK, run


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m movement", description="How much strategies move, and Kafka's")
    parser.add_argument(
        "--quick", action="store_true", help="few trials of the small shapes: shows that all of it runs"
    )
    parser.add_argument(
        "--no-kafka", action="store_true", help="leave out Kafka's assignors, which need a JDK and Maven"
    )
    parser.add_argument("--report", type=Path, help="file to write the page to, besides printing it")
    options = parser.parse_args()
    if options.quick and options.report:
        parser.error("a quick run has no figures to publish: leave out --quick")
    missing = None if options.no_kafka else why_missing()
    if missing and options.report:
        parser.error(f"the page needs Kafka's assignors: {missing}")
    text = page(run(QUICK if options.quick else FULL, not options.no_kafka))
    print(text)
    if options.report:
        options.report.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
