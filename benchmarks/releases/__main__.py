"""Measure a wheel, make the page, or hold a wheel to its bounds."""

import argparse
import json
import sys
from pathlib import Path

from releases.bounds import UNRELEASED, Check, Entry, checks, order
from releases.measure import measured
from releases.page import FOLDER, entries, write


def save(entry: Entry) -> None:
    """Write the file of a release."""
    path = FOLDER / f"{entry['version']}.json"
    path.write_text(json.dumps(entry, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def digits(value: float) -> str:
    """Write a count in full, and a ratio or a time with three digits."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def told(found: list[Check]) -> int:
    """Print all checks, and on the other stream those beyond their bound; how many these are."""
    for check in found:
        print(f"{check.what}: {digits(check.found)}, at most {digits(check.most)}")
    above = [check for check in found if not check.is_kept]
    for check in above:
        print(
            f"{check.what}: {digits(check.found)} is more than {digits(check.most)}; if that is meant, run"
            " `make performance` and commit the files that it writes",
            file=sys.stderr,
        )
    return len(above)


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m releases", description="What releases cost")
    parser.add_argument("verb", choices=["measure", "page", "check"])
    parser.add_argument("wheel", type=Path, nargs="?", help="a wheel that this Python can import")
    parser.add_argument(
        "--version", default=UNRELEASED, help=f"name of the release (default: {UNRELEASED})"
    )
    parser.add_argument("--quick", action="store_true", help="only what is the same in every run")
    options = parser.parse_args()
    if options.verb == "page":
        write()
        return 0
    if options.wheel is None or not options.wheel.is_file():
        parser.error(
            f"{options.verb} needs the file of a wheel, {options.wheel} is none: build one with `make install`"
        )
    if options.verb == "measure" and options.quick:
        parser.error("a file holds all figures: leave out --quick")
    entry = measured(options.wheel, options.version, options.quick)
    before = [one for one in entries() if order(one["version"]) <= order(options.version)]
    above = told(list(checks(entry, before[-1]))) if before else 0
    if options.verb == "measure":
        save(entry)
        write()
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
