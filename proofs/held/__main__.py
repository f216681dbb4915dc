"""Run the tests behind every wrong answer of 0.1.0: ``python -m held [--quick] [--report FILE]``.

Ends with 1 if a test fails, or if there is none behind an answer.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from checkout import ROOT

from held.listed import HELD

QUICK_EVERY = 5


def passed(tests):
    """How many tests passed; 0 if any failed."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *shlex.split(tests)]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"CI": "1"}, capture_output=True, text=True, check=False
    )
    found = re.search(r"(\d+) passed", done.stdout)
    if done.returncode or found is None:
        print(done.stdout[-3000:], file=sys.stderr)
        return 0
    return int(found[1])


def main():
    parser = argparse.ArgumentParser(prog="held", description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"every {QUICK_EVERY}th answer only")
    parser.add_argument("--report", help="write the table into this file, too")
    options = parser.parse_args()
    listed = HELD[:: QUICK_EVERY if options.quick else 1]
    lines, bad = (
        ["| asked | 0.1.0 said | now | tests | passed |", "| --- | --- | --- | --- | --- |"],
        0,
    )
    print("\n".join(lines))
    for one in listed:
        n = passed(one.tests)
        bad += n == 0
        lines.append(f"| {one.what} | {one.before} | {one.now} | `{one.tests}` | {n or 'FAILED'} |")
        print(lines[-1], flush=True)
    if options.report:
        head = [
            "# What 0.1.0 answered wrongly",
            "",
            f"`make evidence`: {len(listed)} answers, {bad} not held.",
            "",
        ]
        Path(options.report).write_text("\n".join([*head, *lines]) + "\n", encoding="utf-8")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
