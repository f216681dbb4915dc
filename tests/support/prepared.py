"""Makes what tests share before they start, one thing after another: ``python -m prepared quick`` or ``all``.

A test that needs one of these makes it itself if it is not there; made here, it delays no worker and counts for no test. What a
tool is missing for is named and left out, as the tests that need it are.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import go_driver
import java_driver

SUPPORT = Path(__file__).parent
QUICK = (SUPPORT / "java", SUPPORT / "live_java")
"""Projects of Maven: RocketMQ's own classes, and real servers with Java consumers."""
FURTHER = tuple(SUPPORT / "live_java" / name for name in ("clients/v4", "clients/v5", "clients/grpc", "proxy"))
PROGRAMS = (".", "member")
"""Go programs."""


def tasks(part: str) -> list[Callable[[], object]]:
    """List what to make for a part of the tests."""
    projects = (*QUICK, *(FURTHER if part == "all" else ()))
    found: list[Callable[[], object]] = [lambda project=project: java_driver.output(project) for project in projects]
    if part == "all":
        from spark_releases import make_all

        found += [lambda program=program: go_driver.built(program) for program in PROGRAMS]
        found.append(make_all)
    return found


def main(part: str = "quick") -> int:
    """Make everything that a part of the tests needs."""
    for task in tasks(part):
        try:
            task()
        except (java_driver.JavaMissing, go_driver.GoMissing) as missing:
            print(missing, file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
