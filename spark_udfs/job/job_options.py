"""Options of the planning job that both command lines have, ``rmqalloc bulk --spark`` and ``python
-m spark_udfs.job``.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

__all__ = ["JOB_ARGUMENTS", "JOB_OPTIONS", "WORST", "JobOption"]

WORST = 20
"""Groups of every scenario in a summary unless somebody says otherwise."""


class JobOption(NamedTuple):
    """One option; each command line makes its own kind of option of it."""

    flag: str
    help: str
    # {"text", "texts", "count", "share", "flag", "switch"}: A text; several; a number from 0 on; a
    # number from 0 to 1; something that is asked for; and something that is so or not
    kind: Literal["text", "texts", "count", "share", "flag", "switch"] = "text"
    default: Any = None  # used where it is not given
    metavar: str | None = None

    @property
    def name(self) -> str:
        """Its name as an argument of a function."""
        return self.flag.removeprefix("--").replace("-", "_")


JOB_OPTIONS = (
    JobOption("--master", "Spark master, local[*] unless given.", default="local[*]"),
    JobOption("--remote", "Spark Connect server.", metavar="sc://HOST"),
    JobOption(
        "--table",
        "Table to read instead of files, such as catalog.schema.table.",
        default="",
        metavar="NAME",
    ),
    JobOption(
        "--format",
        "Spark's name of the input's format, parquet unless given.",
        default="parquet",
        metavar="NAME",
    ),
    JobOption("--option", "Option of Spark's reader; may be repeated.", "texts", (), "K=V"),
    JobOption(
        "--into",
        "Delta or Iceberg table for the plan, added in one commit; with an output directory it takes the rows of that.",
        default="",
        metavar="NAME",
    ),
    JobOption("--bad", "Directory for the plan's bad rows.", default="", metavar="DIR"),
    JobOption(
        "--file-job",
        "Whether workers read Parquet themselves; they do where each sees the files.",
        "switch",
    ),
    JobOption(
        "--max-bad-fraction",
        "Fail, and write nothing, if more of the plan's rows are bad.",
        "share",
        1.0,
        "F",
    ),
    JobOption("--worst", "Groups of each scenario in the summary.", "count", WORST, "N"),
    JobOption(
        "--overwrite",
        "Replace the plan that is there; until the new one is complete there is none.",
        "flag",
        False,
    ),
)
"""In the order in which they are listed; the first two exclude each other."""

JOB_ARGUMENTS = {
    "into": "into",
    "bad": "bad",
    "file_job": "in_workers",
    "max_bad_fraction": "max_bad_fraction",
    "worst": "n_worst",
    "overwrite": "overwrite",
}
"""Arguments of `spark_udfs.plan_table` by the options that give them."""
