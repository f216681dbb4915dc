"""``python -m publishing [--quick] [--report F]``: the plan is whole at every step, whoever is killed, asleep, or out of space.

Ends with 1 if a plan was lost or half of one was seen.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from publishing.disk_proofs import Proof, prove

QUICK_EVERY = 29
"""Of the steps on a disk, the quick form takes each of this number."""

QUICK_TABLES = 30
"""The same of the steps of a driver that puts a plan into a table."""

HEAD = """# Plans of the Spark job are seen whole or not at all

`python -m publishing` in proofs/. A point is a step at storage: a file or folder made, linked, put in its place, removed,
listed or brought to the disk; in an object store a text written, read, or files listed. *Killed* is SIGKILL before that step,
and then the same command again; *asleep* is SIGSTOP before it, while others run from beginning to end, and then SIGCONT. On a
disk it is the job without Spark, of 4 buckets, in processes of their own; on S3 it is the whole job by S3A at a server of
moto: a driver dies or sleeps there in a thread of one Spark session, and executors that outlive it go on. Readers look all
the time. *Lost* is a plan that was complete and is no more, or that the next run cannot complete; *half seen* is a look that
saw neither what was there before nor all.

In Delta and Iceberg tables (`--into`) it is the whole job again, on the release of Spark named: drivers die and sleep in
threads of one session, and as processes of their own that SIGKILL ends. A step is the start of a run, its records, ranking,
its manifest, each look into the table, each commit (before and after), and the removal of what was staged. *Twice* is a look
that found rows more than once.
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="some steps only, on a disk, without Spark")
    parser.add_argument("--disk", type=int, metavar="N", help="only a disk, and there each N-th step")
    parser.add_argument("--s3", type=int, metavar="N", help="only S3, and there each N-th step")
    parser.add_argument(
        "--tables", type=int, metavar="N", help="only Delta and Iceberg on Spark 4.1, and there each N-th step"
    )
    parser.add_argument("--report", help="write the tables into this file, too")
    options = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as where:
        proof = Proof(where, every=options.disk or (QUICK_EVERY if options.quick else 1))
        alone = options.s3 or options.tables
        mounted = None if alone else prove(proof)
        if not (options.quick or options.disk or options.tables):
            from publishing import s3

            s3.prove(proof, options.s3 or 1)
        if options.tables or options.quick or not (options.disk or options.s3):
            from publishing import table_proofs

            is_short = options.tables or options.quick
            names = ["4.1"] if is_short else ["4.1", "3.5", "4.0", "4.2"]
            every = options.tables or (QUICK_TABLES if options.quick else 1)
            table_proofs.prove(proof, names, every, 0 if options.quick else max(every, 3))
    text = report(proof, mounted, time.monotonic() - started)
    print(text)
    if options.report:
        Path(options.report).write_text(f"{HEAD}\n{text}\n", encoding="utf-8")
    return int(proof.lost + proof.half + proof.twice > 0)


def report(proof, mounted, seconds):
    """A table of what was tried, and what came of it."""
    lines = [f"| {what} | {n} | {seconds:.0f} |" for what, n, seconds in proof.rows]
    n_points = sum(n for _, n, _ in proof.rows)
    counted = f"{proof.lost} plans lost, {proof.half} half seen, {proof.twice} with rows twice"
    seen = f"{n_points} points tried, {counted} in {proof.looks:,} looks"
    note = "" if mounted is not False else "No disk could be mounted here: the disk of too little space was left out.\n"
    return (
        "| what | points | seconds |\n| --- | ---: | ---: |\n" + "\n".join(lines) + f"\n\n{seen}; {seconds:.0f} s.\n"
        f"{note}{proof.replaced} looks at the plain path were overtaken by a `--force` that replaced it."
    )


if __name__ == "__main__":
    sys.exit(main())
