"""Random directories of Parquet (names that are patterns too, hidden names, partitions, files of no
bytes, columns of nulls, columns that differ) are planned by `bulk`, by Spark's workers, and through
Spark's JVM.

Each directory has one plan, or is refused in the same words by all three.
"""

import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

from spark.directories import drawn, roads

DIRECTORIES, QUICK, FIRST_SEED = 200, 12, 40
OUTCOMES = ("one plan", "refused by all", "roads differ")


def directories(report, is_quick):
    """Compare the roads to the plan of some directories."""
    counts, kinds = Counter(), Counter()
    spark = session()
    for seed in range(FIRST_SEED, FIRST_SEED + (QUICK if is_quick else DIRECTORIES)):
        outcome, special = compared(seed, spark)
        counts[outcome] += 1
        kinds.update((what, outcome) for what in special)
        if outcome == "roads differ":
            report.fault(f"roads differ at seed {seed}")
    spark.stop()
    report.head(("directories with", *OUTCOMES))
    report.row("anything", *(counts[one] for one in OUTCOMES))
    for what in sorted({what for what, _ in kinds}):
        report.row(what, *(kinds[what, one] for one in OUTCOMES))
    if not counts["one plan"] or not counts["refused by all"]:
        report.fault("every directory came out alike: nothing is compared")


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
        path, asked, special = drawn.home(seed, Path(folder))
        special += drawn.directory(seed, path)
        with tempfile.TemporaryDirectory() as out:
            found = {
                "bulk": roads.answer(roads.bulk, asked, Path(out, "out")),
                "workers": roads.answer(roads.workers, asked, spark),
                "JVM": roads.answer(roads.jvm, asked, spark),
            }
        first = found["bulk"]
        if all(one == first for one in found.values()):
            return "one plan" if isinstance(first, list) else "refused by all", special
        names = sorted(one.relative_to(path).as_posix() for one in path.rglob("*") if one.is_file())
        print(f"seed {seed}: {asked}: {', '.join(special)}: {names}", file=sys.stderr)
        for name, one in found.items():
            print(f"  {name}: {str(one)[:500]}", file=sys.stderr)
        return "roads differ", special
