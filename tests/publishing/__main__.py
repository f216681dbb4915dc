"""``python -m publishing [--quick] [--report F]``: the plan is whole at every step, whoever is killed, asleep, or out of space.

Ends with 1 if a plan was lost or half of one was seen.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from publishing.disk_proofs import Proof, prove


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="some steps only, on a disk, without Spark")
    parser.add_argument("--report", help="write the tables into this file, too")
    options = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as where:
        proof = Proof(where, every=9 if options.quick else 1)
        mounted = prove(proof)
    lines = [f"| {what} | {n} | {seconds:.0f} |" for what, n, seconds in proof.rows]
    n_points = sum(n for _, n, _ in proof.rows)
    verdict = (
        f"{n_points} points, {proof.lost} plans lost, {proof.half} plans half seen in {proof.looks:,} looks "
        f"({proof.replaced} looks at the plain path were overtaken by --force and failed as such), {time.monotonic() - started:.0f} s"
    )
    print("\n".join([*lines, "" if mounted else "no disk could be mounted here", verdict]))
    if options.report:
        Path(options.report).write_text(verdict)
    return int(proof.lost + proof.half > 0)


if __name__ == "__main__":
    sys.exit(main())
