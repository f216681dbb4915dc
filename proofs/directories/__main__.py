"""Read random directories by every road to a plan: ``python -m directories [--quick] [--directories
N] [--report FILE]``.

Ends with 1 if two roads differ: each directory has one plan, or is refused in the same words by
bulk, workers and Spark.
"""

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from directories import drawn, roads

QUICK = 12

HEAD = """# One reading of a directory

`make evidence`. Random directories of Parquet (hidden names, partitions, other directories, files of no bytes, columns of
nulls, names in another case, columns that differ, other forms of text and lists) are planned by `bulk`, by Spark's workers,
which read the files by themselves, and through Spark's JVM. Equal are the rows of the plan, bad ones and their messages
included, or the words of the refusal.
"""


def main():
    parser = argparse.ArgumentParser(prog="directories", description=__doc__)
    parser.add_argument("--directories", type=int, default=200)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} directories")
    parser.add_argument("--seed", type=int, default=40, help="of the first")
    parser.add_argument("--report", help="write the page, too")
    given = parser.parse_args()
    n = QUICK if given.quick else given.directories
    start, counts, kinds = time.monotonic(), Counter(), Counter()
    spark = session()
    for seed in range(given.seed, given.seed + n):
        outcome, special = compared(seed, spark)
        counts[outcome] += 1
        kinds.update((what, outcome) for what in special)
    spark.stop()
    columns = ("one plan", "refused by all", "roads differ")
    lines = [row(("directories", *columns, "seconds")), row(["---"] * 5)]
    lines += [
        row((f"{n:,}", *(counts[one] for one in columns), round(time.monotonic() - start))),
        "",
    ]
    lines += [row(("of them with", *columns)), row(["---"] * 4)]
    lines += [
        row((what, *(kinds[what, one] for one in columns)))
        for what in sorted({what for what, _ in kinds})
    ]
    print("\n".join(lines))
    if given.report:
        Path(given.report).write_text("\n".join([HEAD, *lines]) + "\n", encoding="utf-8")
    if not counts["one plan"] or not counts["refused by all"]:
        raise SystemExit("every directory came out alike: nothing is compared")
    return int(counts["roads differ"] > 0)


def session():
    os.environ.update(
        PYSPARK_PYTHON=sys.executable,
        PYSPARK_DRIVER_PYTHON=sys.executable,
        SPARK_LOCAL_IP="127.0.0.1",
    )
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("directories").master("local[2]")
    for name in ("ui.enabled", "ui.showConsoleProgress"):
        builder = builder.config(f"spark.{name}", "false")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def compared(seed, spark):
    """How a directory came out, and what is special about it; roads that differ are printed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "fleet")
        path.mkdir()
        special = drawn.directory(seed, path)
        found = {
            "bulk": roads.answer(roads.bulk, path, Path(folder, "out")),
            "workers": roads.answer(roads.workers, path, spark),
            "JVM": roads.answer(roads.jvm, path, spark),
        }
        first = found["bulk"]
        if all(one == first for one in found.values()):
            return "one plan" if isinstance(first, list) else "refused by all", special
        names = sorted(one.relative_to(path).as_posix() for one in path.rglob("*") if one.is_file())
        print(f"seed {seed}: {', '.join(special)}: {names}", file=sys.stderr)
        for name, one in found.items():
            print(f"  {name}: {str(one)[:500]}", file=sys.stderr)
        return "roads differ", special


def row(cells):
    return f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    sys.exit(main())
