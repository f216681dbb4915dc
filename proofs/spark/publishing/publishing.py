"""The Spark job is killed at random moments, and two write at once; what has `_SUCCESS`, or is in a
Delta or Iceberg table, is a whole plan.

Killed in turn are the driver's Python process, its JVM, both, the Python workers (SIGKILL), and the
Python process by SIGINT. Then another driver gets the same order. *Before*, *while*, *after* say
what of the plan was there at the kill; *by hand* counts claims of a dead writer that had to be
removed by hand.

Then pairs write different plans to one directory, one run in another PID namespace: `pairs.py`.
"""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from proof import Report

from spark.publishing.drivers import ELSEWHERE
from spark.publishing.kills import Proof
from spark.publishing.pairs import COUNTS, Pairs
from spark.publishing.places import Directory, Place, Tables, disk

RUNS = {"disk": 40, "s3": 40, "delta": 20, "iceberg": 20}
QUICK = {"disk": 3}
PAIRS, QUICK_PAIRS = 100, 2
SEED = 1
COLUMNS = (
    "place",
    "what",
    "runs",
    "before",
    "while",
    "after",
    "half",
    "twice",
    "failed",
    "by hand",
    "looks",
)


@contextmanager
def place_of(name: str, where: Path) -> Iterator[Place]:
    """Make a place for plans."""
    if name == "disk":
        yield disk(where)
    elif name == "s3":
        from s3_server import jars, s3_server

        with s3_server("plans") as server:
            settings = {f"spark.hadoop.{key}": value for key, value in server.hadoop().items()}
            settings["spark.jars"] = ",".join(jars())
            yield Directory("S3", server.files, "plans", "s3a://plans", settings)
    else:
        yield Tables(name, where)


def publishing(report: Report, is_quick: bool) -> None:
    """Kill as often as `RUNS` says at each place; the short form kills on a disk alone."""
    report.head(COLUMNS)
    for name, n_runs in (QUICK if is_quick else RUNS).items():
        with tempfile.TemporaryDirectory() as folder, place_of(name, Path(folder)) as place:
            proof = Proof(place, Path(folder), SEED)
            proof.run(n_runs)
            proof.end()
        for row in proof.rows:
            report.row(*(row[column] for column in COLUMNS))
            for bad in ("half", "twice", "failed"):
                if row[bad]:
                    report.fault(f"{name}, {row['what']}: {row[bad]} {bad}")
    _pairs(report, QUICK_PAIRS if is_quick else PAIRS)


def _pairs(report: Report, n_pairs: int) -> None:
    """Let two runs write different plans to one directory of a disk, by each road."""
    if subprocess.run([*ELSEWHERE, "true"], capture_output=True, check=False).returncode:
        report.say("Pairs of writers are left out: a PID namespace of its own is not allowed here.")
        return
    report.head(("road", *COUNTS))
    with tempfile.TemporaryDirectory() as folder:
        pairs = Pairs(disk(Path(folder), n_files=4), Path(folder), SEED)
        pairs.run(n_pairs)
        pairs.end()
    for row in pairs.rows:
        report.row(*row.values())
        for bad in ("mixed", "lost"):
            if row[bad]:
                report.fault(f"two writers by {row['road']}: {row[bad]} {bad}")
