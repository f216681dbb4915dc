"""``python -m publishing [--quick] [--seed N] [--report F]``: kill the Spark job at random moments;
what is complete is whole.

Ends with 1 if half of a plan was seen, a row twice, or a plan that the next run did not complete.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from publishing.kills import Proof
from publishing.places import Directory, Place, Tables, disk

RUNS = {"disk": 40, "s3": 40, "delta": 20, "iceberg": 20}
QUICK = {"disk": 3}
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

HEAD = """# The Spark job, killed

`python -m publishing` in proofs/. A driver in a process of its own writes a plan. At a random moment of the part of a run that
the second column names, one of these is killed in turn: its Python process, its JVM, both, the Python workers (all by SIGKILL);
or its Python process gets SIGINT, as by Ctrl-C. Then another driver gets the same order, in half of the runs at once, while the
JVM of a dead Python process may still be at work.

*Before*, *while*, *after*: what of the plan was there at the kill. *Half*: looks that found a plan complete (`_SUCCESS`, rows
in the table) and saw other rows than all of it. *Twice*: a row more than once. *Failed*: the plan was not there after a second
run. *By hand*: a claim of a dead writer had to be removed by hand. A reader looks all the time. Two writers start at once with
the same order: in a directory one of them is refused by the claim of the other, or finds the plan complete.
"""


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


def main() -> int:
    """Kill as often as asked for, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK['disk']} kills on a disk")
    for name, n_runs in RUNS.items():
        parser.add_argument(
            f"--{name}",
            type=int,
            metavar="N",
            help=f"so many runs there instead of {n_runs}, 0 for none",
        )
    parser.add_argument("--seed", type=int, default=1, help="of the random moments")
    parser.add_argument("--report", type=Path, help="write the table into this file, too")
    options = parser.parse_args()
    given = {name: n for name in RUNS if (n := getattr(options, name)) is not None}
    wanted = {name: n for name, n in (given or (QUICK if options.quick else RUNS)).items() if n}
    proofs, started = [], time.monotonic()
    for name, n_runs in wanted.items():
        with tempfile.TemporaryDirectory() as folder, place_of(name, Path(folder)) as place:
            proof = Proof(place, Path(folder), options.seed)
            proof.run(n_runs)
            proof.end()
            proofs.append(proof)
    rows = [row for proof in proofs for row in proof.rows]
    text = "\n".join(
        [*table(rows), "", f"Seed {options.seed}; {time.monotonic() - started:.0f} s."]
    )
    print(text)
    if options.report:
        options.report.write_text(f"{HEAD}\n{text}\n", encoding="utf-8")
    return int(any(row[bad] for row in rows for bad in ("half", "twice", "failed")))


def table(rows: list[dict[str, object]]) -> Iterator[str]:
    """Yield the lines of a table in Markdown."""
    yield f"| {' | '.join(COLUMNS)} |"
    yield f"| --- | --- |{' ---: |' * (len(COLUMNS) - 2)}"
    for row in rows:
        yield f"| {' | '.join(str(row[name]) for name in COLUMNS)} |"


if __name__ == "__main__":
    sys.exit(main())
