"""The strategies of `java/` and `go/` as programs that answer the cases of `strategy_vectors`."""

import functools
import os
import subprocess
from collections.abc import Iterable

import go_driver
import java_driver
from checkout import ROOT
from strategy_vectors import StrategyCase

JAVA_PROJECT = ROOT / "java"
GO_MODULE = ROOT / "go"


@functools.cache
def tested_java() -> str:
    """Build the Java project and run its tests; returns the class path of its own classes, without RocketMQ's.

    The local Maven repository is tried first, as `java_driver.maven_classpath` does.
    """
    java_driver.require_tools()
    maven = [java_driver.command("mvn"), "-B", "-q", "-f", str(JAVA_PROJECT / "pom.xml"), "test"]
    if subprocess.run([*maven, "-o"], capture_output=True).returncode != 0:
        java_driver.run(maven, "building and testing java/ with Maven")
    return os.pathsep.join(str(JAVA_PROJECT / "target" / name) for name in ("test-classes", "classes"))


def java_answers(cases: Iterable[StrategyCase], rocketmq: str | None = None) -> list[str]:
    """What the Java classes answer: owners between commas, or an error.

    Parameters
    ----------
    cases : iterable of StrategyCase
        The groups.
    rocketmq : str, optional
        Class path of a RocketMQ client; by default of the one that the project is compiled with.
    """
    jars = os.pathsep.join(java_driver.jars(JAVA_PROJECT)) if rocketmq is None else rocketmq
    classpath = os.pathsep.join([tested_java(), jars])
    main = "io.github.rmqalloc.strategies.Answers"
    return answers([java_driver.command("java"), "-cp", classpath, main], cases)


def go(*arguments: str) -> str:
    """Run ``go`` in the module and return what it prints."""
    return java_driver.run([go_driver.command(), "-C", str(GO_MODULE), *arguments], f"go {' '.join(arguments)}")


def go_answers(cases: Iterable[StrategyCase]) -> list[str]:
    """What the Go functions answer: owners between commas, or an error."""
    program = ROOT / "build" / "go-answers"
    go("build", "-o", str(program), "./internal/answers")
    return answers([str(program)], cases)


def answers(program: list[str], cases: Iterable[StrategyCase]) -> list[str]:
    """One line for each case."""
    lines = [f"{one.line()}\n" for one in cases]
    said = java_driver.run(program, program[-1], "".join(lines)).splitlines()
    assert len(said) == len(lines)
    return said
