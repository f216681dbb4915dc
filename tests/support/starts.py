"""Counts what a run of tests starts: JVMs, browsers, compilers, interpreters, Maven; shown at the
end of the run.

Each costs more than most tests. Programs that are started by programs are not counted, apart from
Spark's JVM, which is what ``spark-submit`` becomes.
"""

import re
import sys
from collections import Counter
from pathlib import Path

import pytest

NAMES = {
    "spark-submit": "Spark session",
    "java": "JVM",
    "mvn": "Maven",
    "chromium": "Chromium",
    "go": "Go",
    "python": "Python",
}
COMPILERS = re.compile(r"(?:.*-)?(?:cc|gcc|clang)(?:-\d+)?")
started = Counter()


def kind_of(program):
    """Name the kind of a program by its path.

    >>> kind_of("/usr/bin/java"), kind_of("/x/python3.11"), kind_of("clang-14"), kind_of("ls")
    ('JVM', 'Python', 'C compiler', '')
    """
    name = Path(program).name
    if COMPILERS.fullmatch(name):
        return "C compiler"
    return next(
        (kind for start, kind in NAMES.items() if re.fullmatch(rf"{start}[\d.]*", name)), ""
    )


def _count(event, arguments):
    if event == "subprocess.Popen":
        executable, command = arguments[0], arguments[1]
        first = executable or (command if isinstance(command, str) else command[0])
        if kind := kind_of(str(first)):
            started[kind] += 1


def pytest_configure():
    sys.addaudithook(_count)


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["started"] = dict(started)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    started.update(getattr(node, "workeroutput", {}).get("started", {}))


def pytest_terminal_summary(terminalreporter):
    if started:
        counts = ", ".join(f"{n} × {kind}" for kind, n in started.most_common())
        terminalreporter.write_line(f"started by tests: {counts}")
