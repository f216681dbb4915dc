"""Releases of Spark beside the installed one: an environment of each, and the connectors that are
published for it.

An environment holds third-party packages alone; the packages under test come by ``PYTHONPATH``, as
links to those that this process has imported. Environments and jars are made once and kept by
`cache`; ``python -m spark_releases`` makes all of them.
"""

import functools
import os
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import cache
from programs import QUICK_START

import rmqalloc
import spark_udfs


class Release(NamedTuple):
    """A release of Spark, and connectors as Maven's coordinates; "" where none is published for it."""

    version: str
    scala: str = "2.13"
    delta: str = ""
    iceberg: str = ""


RELEASES = {
    "3.5": Release(
        "3.5.9",
        "2.12",
        "io.delta:delta-spark_2.12:3.3.3",
        "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.12.0",
    ),
    "4.0": Release(
        "4.0.5",
        delta="io.delta:delta-spark_4.0_2.13:4.4.0",
        iceberg="org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.11.0",
    ),
    "4.1": Release(
        "4.1.4",
        delta="io.delta:delta-spark_4.1_2.13:4.4.0",
        iceberg="org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
    ),
    "4.2": Release("4.2.1", delta="io.delta:delta-spark_4.2_2.13:4.4.0"),
    "4.3": Release("4.3.0"),
}
"""By major and minor version; the last is what is installed."""

_WITH = ("pandas>=2.2,<3", "pyarrow>=18", "numpy>=1.26", "pyyaml>=6")
_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>io.rmqalloc</groupId><artifactId>jars</artifactId><version>1</version><packaging>pom</packaging>
<dependencies><dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency></dependencies></project>
"""


@functools.cache
def python(name: str) -> Path:
    """Return the interpreter of an environment with that release, made on the first call (half a
    minute, 700 MB).
    """
    if version("pyspark") == RELEASES[name].version:
        return Path(sys.executable)
    packages = (f"pyspark=={RELEASES[name].version}", *_WITH)

    def make(folder: Path) -> None:
        _run(sys.executable, "-m", "venv", folder)
        _run(folder / "bin" / "python", "-m", "pip", "install", "-q", *packages)

    return cache.folder(f"spark-{name}", [sys.version, *packages], make) / "bin" / "python"


def variables(name: str, *folders: Path) -> dict[str, str]:
    """The environment variables of a program on that release, which imports the packages under
    test, and these folders.
    """
    packages = [Path(str(one.__file__)).parent for one in (rmqalloc, spark_udfs)]

    def link(folder: Path) -> None:
        for package in packages:
            (folder / package.name).symlink_to(package)

    tested = cache.folder("tested", map(str, packages), link)
    interpreter = str(python(name))
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("SPARK_", "PYSPARK_"))
    }
    return kept | {
        "PYTHONPATH": os.pathsep.join(map(str, [tested, *folders])),
        "PYSPARK_PYTHON": interpreter,
        "PYSPARK_DRIVER_PYTHON": interpreter,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_SUBMIT_OPTS": QUICK_START,
        "PYTHONSAFEPATH": "1",
    }


@functools.cache
def jars(name: str, connector: str) -> list[str]:
    """Return the jars of a connector, "delta" or "iceberg", for that release: those that Spark has
    not itself.
    """
    coordinate = getattr(RELEASES[name], connector)

    def make(folder: Path) -> None:
        (folder / "pom.xml").write_text(_POM.format(*coordinate.split(":")), encoding="utf-8")
        goal = [
            "dependency:copy-dependencies",
            f"-DoutputDirectory={folder}",
            "-DincludeScope=runtime",
        ]
        _run("mvn", "-B", "-q", "-f", folder / "pom.xml", *goal)

    folder = cache.folder(f"jars-{connector}-{name}", [coordinate], make)
    [spark] = python(name).parents[1].glob("lib/python*/site-packages/pyspark/jars")
    theirs = {_artifact(path) for path in spark.glob("*.jar")}
    return sorted(str(path) for path in folder.glob("*.jar") if _artifact(path) not in theirs)


def settings(name: str, *connectors: str, warehouse: Path) -> dict[str, str]:
    """Settings of a session that has these connectors: Delta as the session's own catalog, Iceberg
    as the catalog ``ice``.
    """
    found = {
        "spark.jars": ",".join(jar for one in connectors for jar in jars(name, one)),
        "spark.sql.warehouse.dir": str(warehouse / "spark"),
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={warehouse / 'derby'}",
    }
    extensions = []
    if "delta" in connectors:
        extensions.append("io.delta.sql.DeltaSparkSessionExtension")
        found["spark.sql.catalog.spark_catalog"] = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
    if "iceberg" in connectors:
        extensions.append("org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions")
        found |= {
            "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.ice.type": "hadoop",
            "spark.sql.catalog.ice.warehouse": str(warehouse / "ice"),
        }
    return found | ({"spark.sql.extensions": ",".join(extensions)} if extensions else {})


def run(
    name: str, *command: object, folders: Iterable[Path] = (), **how: object
) -> subprocess.CompletedProcess[str]:
    """Run that release's interpreter; its output is in the answer, whatever its exit code is."""
    with_defaults = {
        "capture_output": True,
        "text": True,
        "timeout": 1800,
        "env": variables(name, *folders),
    } | how
    return subprocess.run([str(python(name)), *map(str, command)], check=False, **with_defaults)  # type: ignore[call-overload,no-any-return]


def _artifact(path: Path) -> str:
    """A jar's name without its version."""
    parts = path.stem.split("-")
    return "-".join(
        parts[: next((i for i, part in enumerate(parts) if i and part[:1].isdigit()), len(parts))]
    )


def _run(*command: object) -> None:
    """Run a program; its output is seen only if it fails."""
    done = subprocess.run(
        [*map(str, command)], capture_output=True, text=True, timeout=1800, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def make_all() -> None:
    """Make every environment and fetch every connector, for tests and proofs that ask all releases."""
    for name, release in RELEASES.items():
        python(name)
        for connector in ("delta", "iceberg"):
            if getattr(release, connector):
                jars(name, connector)


if __name__ == "__main__":
    make_all()
