"""What Spark needs on this machine, and a clear error if it is missing. Imports no pyspark."""

import os
import re
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rmqalloc._extras import needs
from rmqalloc.errors import Error

LEAST_SPARK = (3, 5)
"""Oldest release of Spark that is supported."""

NEWEST_JAVA = {(3, 5): 20, (4, 0): 23, (4, 1): 23}
"""Newest Java of some releases. The Arrow of 3.5 calls a constructor that Java 21 no longer has, and the Hadoop of 4.0 and 4.1
asks a security manager who the user is, which Java 24 no longer has."""

CONNECTORS = {
    (3, 5): ("delta-spark_2.12", "iceberg-spark-runtime-3.5_2.12"),
    (4, 0): ("delta-spark_4.0_2.13", "iceberg-spark-runtime-4.0_2.13"),
    (4, 1): ("delta-spark_4.1_2.13", "iceberg-spark-runtime-4.1_2.13"),
    (4, 2): ("delta-spark_4.2_2.13",),
}
"""Jars of Delta and Iceberg that were published for a release of Spark when this was written."""

PACKAGES = ("pyspark", "pandas", "pyarrow")
"""Python packages that every job needs; pandas is required by PySpark."""

Release = tuple[int, int]


class JavaNotFoundError(Error, RuntimeError):
    """There is no Java that Spark can run on; the message says what to install."""


class SparkTooOldError(Error, RuntimeError):
    """The release of Spark is not supported; the message says which are."""


def spark_release() -> Release | None:
    """Major and minor version of the PySpark that is installed, None without one."""
    for package in ("pyspark", "pyspark-client"):
        try:
            return release_of(version(package))
        except PackageNotFoundError:
            continue
    return None


def release_of(text: str) -> Release | None:
    """Major and minor version in the text of a version.

    Examples
    --------
    >>> release_of("4.0.0.dev1"), release_of("unknown")
    ((4, 0), None)
    """
    match = re.match(r"(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else None


def spark_problem(text: str | None = None) -> str:
    """What is wrong with a version of PySpark, by default the installed one; "" if nothing.

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


def java_version() -> tuple[str, int] | None:
    """Path and major version of the Java that Spark would start, None without one."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if java is None or not os.access(java, os.X_OK):
        return None
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    match = re.search(r'version "(?:1\.)?(\d+)', said.stderr + said.stdout)
    return (java, int(match[1])) if match else None


def java_bounds(release: Release | None) -> tuple[int, int | None]:
    """Oldest Java that a release of Spark runs on, and the newest if it fails on newer ones; None is the newest release.

    Examples
    --------
    >>> java_bounds((3, 5)), java_bounds((4, 3))
    ((8, 20), (17, None))
    """
    return 8 if release is not None and release < (4, 0) else 17, NEWEST_JAVA.get(release) if release else None


def java_problem() -> str:
    """What is wrong with the Java of this machine for the PySpark that is installed, "" if nothing."""
    found, (least, newest) = java_version(), java_bounds(spark_release())
    if found is None:
        home = os.environ.get("JAVA_HOME")
        return f"no Java was found{f' (JAVA_HOME is {home})' if home else ''}"
    if found[1] < least:
        return f"Java {found[1]} at {found[0]} is too old"
    if newest is not None and found[1] > newest:
        return f"Java {found[1]} at {found[0]} is too new"
    return ""


def java_wanted() -> str:
    """The Java that the PySpark of this machine needs.

    Examples
    --------
    >>> java_wanted()  # doctest: +SKIP
    'Spark 3.5 needs Java 8 to 20'
    """
    release = spark_release()
    least, newest = java_bounds(release)
    name = f"Spark {release[0]}.{release[1]}" if release else "Spark"
    return f"{name} needs Java {least} {f'to {newest}' if newest else 'or newer'}"


def require_java() -> None:
    """Raise JavaNotFoundError unless there is a Java that the installed PySpark runs on."""
    if problem := java_problem():
        raise JavaNotFoundError(
            f"{java_wanted()}, but {problem}. Install it (Debian or Ubuntu: apt-get install "
            f"openjdk-17-jre-headless; Fedora: dnf install java-17-openjdk-headless; macOS: brew install openjdk@17) "
            f"or point JAVA_HOME at one; without Spark, `rmqalloc bulk` does the same on the threads of this machine"
        )


def works_here(release: Release) -> list[tuple[str, str]]:
    """What there is on a release of Spark, in two words and a sentence each.

    Examples
    --------
    >>> dict(works_here((3, 5)))["spark data source"]
    'needs Spark 4.0'
    """
    arrow, new = release >= (4, 1), release >= (4, 0)
    jars = CONNECTORS.get(release, ())
    return [
        (
            "spark columns",
            "by arrow_udf" if arrow else "by pandas_udf, slower than the arrow_udf of Spark 4.1; workers need pandas",
        ),
        ("spark SQL", "all functions" if new else "all functions, in Python workers and without names of arguments"),
        ("spark data source", "can be used" if new else "needs Spark 4.0"),
        (
            "spark tables",
            f"{' and '.join(jars)} are published" if jars else "no Delta or Iceberg known for this release",
        ),
    ]


def found_packages() -> dict[str, str | None]:
    """Installed version of each of `PACKAGES`, None where it is missing."""
    found: dict[str, str | None] = dict.fromkeys(PACKAGES)
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
