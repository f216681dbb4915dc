"""Requirements of Spark on this machine, and a clear error if one is missing. Imports no pyspark."""

import re
from importlib.metadata import PackageNotFoundError, version

from rmqalloc.errors import Error, needs
from spark_udfs._java_rule import INSTALL_JAVA, Release, java_fault, java_needed
from spark_udfs._java_rule import java_version as java_version

LEAST_SPARK = (3, 5)
"""Oldest supported release of Spark."""

CONNECTORS = {
    (3, 5): ("delta-spark_2.12", "iceberg-spark-runtime-3.5_2.12"),
    (4, 0): ("delta-spark_4.0_2.13", "iceberg-spark-runtime-4.0_2.13"),
    (4, 1): ("delta-spark_4.1_2.13", "iceberg-spark-runtime-4.1_2.13"),
    (4, 2): ("delta-spark_4.2_2.13",),
}
"""Jars of Delta and Iceberg that are known for a release of Spark."""

PACKAGES = ("pyspark", "pandas", "pyarrow")
"""Python packages that every job needs; PySpark requires pandas."""


class JavaNotFoundError(Error, RuntimeError):
    """No Java for Spark was found; the message names the package to install."""


class SparkTooOldError(Error, RuntimeError):
    """The release of Spark is not supported; the message names the supported releases."""


def spark_release() -> Release | None:
    """Return the major and minor version of the installed PySpark, None without PySpark."""
    for package in ("pyspark", "pyspark-client"):
        try:
            return release_of(version(package))
        except PackageNotFoundError:
            continue
    return None


def release_of(text: str) -> Release | None:
    """Return the major and minor version in the text of a version.

    Examples
    --------
    >>> release_of("4.0.0.dev1"), release_of("unknown")
    ((4, 0), None)
    """
    match = re.match(r"(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else None


def spark_problem(text: str | None = None) -> str:
    """Return the fault of a version of PySpark, by default the installed one; "" if there is none.

    Examples
    --------
    >>> spark_problem("3.4.1").partition(":")[0]
    'rmqalloc needs PySpark 3.5 or newer, got 3.4.1'
    """
    text = text or found_packages()["pyspark"] or ""
    release = release_of(text)
    if release is None or release >= LEAST_SPARK:
        return ""
    return f"rmqalloc needs PySpark {'.'.join(map(str, LEAST_SPARK))} or newer, got {text}: {needs('pyspark')}"


def require_spark(text: str) -> None:
    """Raise SparkTooOldError unless a version of PySpark is new enough."""
    if problem := spark_problem(text):
        raise SparkTooOldError(problem)


def java_problem() -> str:
    """Return the fault of this machine's Java for the installed PySpark; "" if there is none."""
    return java_fault(java_version(), spark_release())


def java_wanted() -> str:
    """Return the Java that the PySpark of this machine needs."""
    return java_needed(spark_release())


def require_java() -> None:
    """Raise JavaNotFoundError without a Java that the installed PySpark supports."""
    if problem := java_problem():
        raise JavaNotFoundError(
            f"{java_wanted()}, but {problem}. {INSTALL_JAVA}; without Spark, `rmqalloc bulk` does the same on the "
            f"threads of this machine"
        )


def works_here(release: Release) -> list[tuple[str, str]]:
    """Return which features work on a release of Spark, in two words and a sentence each.

    Examples
    --------
    >>> dict(works_here((3, 5)))["spark SQL"]
    'all functions, in Python workers and without names of arguments'
    """
    arrow, new = release >= (4, 1), release >= (4, 0)
    jars = CONNECTORS.get(release, ())
    return [
        (
            "spark columns",
            "by arrow_udf"
            if arrow
            else "by pandas_udf, slower than the arrow_udf of Spark 4.1; workers need pandas",
        ),
        (
            "spark SQL",
            "all functions"
            if new
            else "all functions, in Python workers and without names of arguments",
        ),
        (
            "spark tables",
            f"{' and '.join(jars)} are published"
            if jars
            else "no Delta or Iceberg known for this release",
        ),
    ]


def found_packages() -> dict[str, str | None]:
    """Return the installed version of each package of `PACKAGES`, None if it is missing."""
    found: dict[str, str | None] = dict.fromkeys(PACKAGES)
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
