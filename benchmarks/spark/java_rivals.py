"""Build ``java`` beside this file with Maven, and make what it holds known to a session."""

import os
import re
import sys
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "support"))

from java_driver import command, require_tools, run  # noqa: E402

PROJECT = Path(__file__).resolve().parent / "java"
TARGET = ROOT / "build" / "spark-java"
SPARK_JARS = Path(pyspark.__file__).parent / "jars"

FIGURES = "n_queues int, n_clients int, owners array<int>, unowned int, idle int, min_load int, max_load int, skew double"
"""What every contender answers about a unit; ``Figures.java`` has the same."""

BEST = "n_queues int, n_clients int, idle int, unowned int, min_load int, max_load int, skew double, moved int"
"""What every contender answers about the best of many scenarios; ``Best.java`` has the same."""


def build() -> list[str]:
    """Compile against the jars of the installed pyspark, and return the jars that a session needs.

    Raises
    ------
    java_driver.JavaMissing
        There is no JDK or no Maven.
    java_driver.JavaFailed
        Maven could not build, even with the network.
    """
    require_tools()
    properties = [
        f"-Dspark.jars={SPARK_JARS}",
        f"-Dspark.version={_version('spark-catalyst_2.13')}",
    ]
    properties.append(f"-Dscala.version={_version('scala-library')}")
    maven = [command("mvn"), "-B", "-q", "-f", str(PROJECT / "pom.xml"), "package", *properties]
    run(maven, "building benchmarks/spark/java with Maven")
    return [
        str(TARGET / "spark-rivals-1.jar"),
        *(TARGET / "classpath").read_text(encoding="utf-8").split(os.pathsep),
    ]


def _version(jar: str) -> str:
    """Version of one of Spark's jars, from the name of its file."""
    [path] = [
        path
        for path in SPARK_JARS.glob(f"{jar}-*.jar")
        if re.fullmatch(rf"{jar}-[\d.]+\.jar", path.name)
    ]
    return path.stem.removeprefix(f"{jar}-")


def settings(jars: list[str]) -> dict[str, str]:
    """What a session needs to know when it starts."""
    return {"spark.jars": ",".join(jars), "spark.sql.catalog.jvm": "io.rmqalloc.spark.Functions"}


def register(spark: SparkSession) -> None:
    """Make the ordinary Java UDFs known; the functions of the catalog are found by themselves."""
    spark.udf.registerJavaFunction("java_allocate", "io.rmqalloc.spark.Allocate", FIGURES)
    spark.udf.registerJavaFunction("java_allocate_best", "io.rmqalloc.spark.AllocateBest", BEST)
