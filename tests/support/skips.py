"""Tests that need a missing tool are skipped, in one line for each tool; ``--no-skips`` fails where
a test is skipped.

`ALLOWED` has the skips that ``--no-skips`` lets pass.
"""

import fnmatch
from typing import Any, NamedTuple

import pytest
import tools

IMPLIED = {"java": "maven", "go": "go", "spark": "java"}
"""What tests with these marks need."""

FIXTURES = {"cluster": "maven", "spark": "java"}
WHERE = "no {}: {}"


class Allowed(NamedTuple):
    """A skip that is as it should be: patterns of the test and of what it says, and why."""

    test: str
    said: str
    why: str


ALLOWED = [
    Allowed(
        "tests/house/test_workflows.py::*",
        "no actionlint:*",
        "a program of Go; the job `workflows` of ci.yml runs it",
    ),
    Allowed(
        "tests/fleet/test_free_threads.py::*",
        "*",
        "of a Python without the interpreter lock; `make proof NAME=platforms` has one",
    ),
    Allowed("*", "only root gives files away", "a runner may work as a plain user"),
    Allowed("*", "snappy-java looks for musl's loader of x86-64 alone", "a runner may be an ARM"),
]


def needed(item: pytest.Item) -> set[str]:
    """Tools that a test needs, by its marks and fixtures."""
    marks = {name for mark in item.iter_markers("needs") for name in mark.args}
    marks |= {IMPLIED[mark.name] for mark in item.iter_markers() if mark.name in IMPLIED}
    return marks | {
        FIXTURES[name] for name in getattr(item, "fixturenames", ()) if name in FIXTURES
    }


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip before a fixture is set up; all skips for one tool have one place, so that pytest counts
    them in one line.
    """
    for name in sorted(needed(item)):
        if not tools.is_here(name):
            pytest.skip(WHERE.format(name, tools.TOOLS[name].install))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--no-skips",
        action="store_true",
        help="fail where a test is skipped, but for those in skips.py",
    )


def reason(report: Any) -> str:
    """What a skipped test said."""
    return str(report.longrepr[2]).removeprefix("Skipped: ")


def unexpected(reports: list[Any]) -> list[str]:
    """Skips that are not allowed, with what they said."""
    found = [(report.nodeid, reason(report)) for report in reports]
    return sorted(
        f"{test}: {said}"
        for test, said in found
        if not any(
            fnmatch.fnmatch(test, one.test) and fnmatch.fnmatch(said, one.said) for one in ALLOWED
        )
    )


def _skipped(config: pytest.Config) -> list[Any]:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    return reporter.stats.get("skipped", []) if reporter else []


def pytest_sessionfinish(session: pytest.Session) -> None:
    if (
        session.config.option.no_skips
        and not session.exitstatus
        and unexpected(_skipped(session.config))
    ):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = [reason(report) for report in skipped]
    starts = {name: WHERE.format(name, "") for name in tools.TOOLS}
    missing = {
        name: n
        for name, start in starts.items()
        if (n := sum(text.startswith(start) for text in reasons))
    }
    if missing:
        counts = ", ".join(f"{n} without {name}" for name, n in missing.items())
        terminalreporter.write_line(f"skipped: {counts}; to run them: {tools.command_for(missing)}")
    if config.option.no_skips and (found := unexpected(skipped)):
        terminalreporter.write_line(
            "\n".join(["skipped, and not among those that may be (skips.py):", *found]), red=True
        )
