"""The strategies of `java/` and `go/` as programs that answer the cases of `strategy_vectors`."""

import os
from collections.abc import Iterable
from pathlib import Path

import go_driver
import java_driver
from checkout import DATA, ROOT
from strategy_vectors import StrategyCase

JAVA_PROJECT = ROOT / "java"
GO_MODULE = ROOT / "go"
ORDINAL_TABLES = ROOT / "rmqalloc" / "strategies" / "ordinal-tables.txt"


def tested_java() -> str:
    """Build the Java project and run its tests; returns the class path of its own classes, without
    RocketMQ's.
    """
    folder = _tested()
    return os.pathsep.join(str(folder / name) for name in ("test-classes", "classes"))


def _tested() -> Path:
    vectors = sorted(DATA.glob("*-vectors.tsv"))
    return java_driver.output(JAVA_PROJECT, None, "test", (ORDINAL_TABLES, *vectors))


def java_answers(cases: Iterable[StrategyCase], rocketmq: str | None = None) -> list[str]:
    """What the Java classes answer: owners between commas, or an error.

    Parameters
    ----------
    cases : iterable of StrategyCase
        The groups.
    rocketmq : str, optional
        Class path of a RocketMQ client; by default of the one that the project is compiled with.
    """
    jars = os.pathsep.join(java_driver.jars_of(_tested())) if rocketmq is None else rocketmq
    classpath = os.pathsep.join([tested_java(), jars])
    main = "io.github.rmqalloc.strategies.Answers"
    return answers([java_driver.command("java"), "-cp", classpath, main], cases)


def go(*arguments: str) -> str:
    """Run ``go`` in the module and return what it prints."""
    return java_driver.run(
        [go_driver.command(), "-C", str(GO_MODULE), *arguments], f"go {' '.join(arguments)}"
    )


def go_answers(cases: Iterable[StrategyCase]) -> list[str]:
    """What the Go functions answer: owners between commas, or an error."""
    return answers([str(go_driver.built("internal/answers", GO_MODULE))], cases)


def answers(program: list[str], cases: Iterable[StrategyCase]) -> list[str]:
    """One line for each case."""
    lines = [f"{one.line()}\n" for one in cases]
    said = java_driver.run(program, program[-1], "".join(lines)).splitlines()
    assert len(said) == len(lines)
    return said
