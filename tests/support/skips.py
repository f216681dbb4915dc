"""Tests that need a missing tool are skipped, in one line for each tool; ``--no-skips`` fails where
a test is skipped for a reason that is not in `ALLOWED`.
"""

from typing import Any

import pytest
import tools

IMPLIED = {"java": "maven", "go": "go", "spark": "java"}
"""What tests with these marks need."""

FIXTURES = {"cluster": "maven", "spark": "java"}

ALLOWED = (
    "only root gives files away",  # a runner may work as a plain user
    "snappy-java looks for musl's loader of x86-64 alone",  # a runner may be an ARM
)
OF_FREE_THREADS = "tests/fleet/test_free_threads.py"
"""Tests of a Python without the interpreter lock."""


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
            pytest.skip(f"no {name}: {tools.TOOLS[name].install}")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--no-skips", action="store_true", help="fail where a test is skipped")


def unexpected(config: pytest.Config) -> list[str]:
    """Skips that are not allowed, with what they report."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    reports: list[Any] = reporter.stats.get("skipped", []) if reporter else []
    found = [f"{report.nodeid}: {report.longrepr[2]}" for report in reports]
    return [
        text
        for text in found
        if not text.endswith(ALLOWED) and not text.startswith(OF_FREE_THREADS)
    ]


def pytest_sessionfinish(session: pytest.Session) -> None:
    config = session.config
    if config.option.no_skips and not session.exitstatus and unexpected(config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if found := unexpected(config):
        missing = [name for name in tools.TOOLS if any(f"no {name}: " in text for text in found)]
        if missing:
            terminalreporter.write_line(f"to run more tests: {tools.command_for(missing)}")
        if config.option.no_skips:
            terminalreporter.write_line("\n".join(["skipped:", *found]), red=True)
