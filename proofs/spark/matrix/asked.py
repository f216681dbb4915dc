"""What probes ask with, and how they compare: a session, a hostile fleet, answers in one order."""

from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import random_units as units
import spark_answers

N_UNITS = 300


class Asked(NamedTuple):
    """A session, the hostile fleet as a table and as Parquet, and a folder for what is written."""

    spark: object
    fleet: pa.Table
    source: Path
    folder: Path

    @property
    def frame(self):
        """The fleet as Spark reads it."""
        return self.spark.read.parquet(str(self.source))

    def column(self, name):
        """A column of the fleet in one piece."""
        return self.fleet.column(name).combine_chunks()

    def in_rows(self, column):
        """The values of an expression, row by row."""
        found = dict(as_values(self.frame.select("row", column.alias("answer"))))
        return [found[row] for row in range(self.fleet.num_rows)]


def as_values(frame):
    """Rows as tuples of plain values."""
    return [tuple(row.asDict(recursive=True).values()) for row in frame.collect()]


def write_hostile(folder):
    """Units fine and bad in every way, each with a number, in two files; returns the table."""
    batch, _ = units.mixed()
    table = pa.concat_tables([units.synthetic(N_UNITS, seed=8), pa.table(batch)] * 2)
    table = table.append_column("row", pa.array(range(table.num_rows), pa.int32())).combine_chunks()
    folder.mkdir(parents=True)
    half = table.num_rows // 2
    for part in range(2):
        pq.write_table(
            table.slice(part * half, half), folder / f"part-{part}.parquet", row_group_size=100
        )
    return table


def same(got, expected):
    """How many answers were compared; AssertionError with the first that differs."""
    got, expected = list(got), list(expected)
    assert len(got) == len(expected), f"{len(got)} answers, not {len(expected)}"
    for position, (one, other) in enumerate(zip(got, expected, strict=True)):
        assert one == other, f"answer {position} is {str(one)[:200]}, not {str(other)[:200]}"
    return len(got)


def ordered(batches):
    """Rows of Arrow batches in an order of their own."""
    return spark_answers.in_order(pa.Table.from_batches(list(batches)).to_pylist())
