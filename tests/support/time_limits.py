"""How long a test may take, with what its fixtures take to start. A test that takes longer fails
and shows where it stands.

The limit is for a test that hangs, not for one that is slow: at least ten times what the longest of
each kind takes on a quiet machine. All limits are below `faulthandler_timeout`, which ends the
whole run.
"""

import hypothesis_budget
import pytest

QUICK = 600
"""Seconds; the longest test without a server took 43 beside others, less than 20 alone."""

BUILDS = 1800
"""A cold build of client-go, or mypy over everything, takes one or two minutes."""

SERVERS = 3000
"""The longest test with servers took 274 beside others, the start of a cluster 91; the first downloads what it needs, too."""

NIGHTLY = 3000
"""Twenty-five times as many examples. Code that does not return to Python for an hour ends the run (`faulthandler_timeout`)."""


def limit(item: pytest.Item) -> int:
    """Seconds of one test, unless it has a mark ``timeout`` of its own."""
    marks = {mark.name for mark in item.iter_markers()}
    if hypothesis_budget.NIGHTLY:
        return NIGHTLY
    if "servers" in marks:
        return SERVERS
    return BUILDS if marks & {"go", "slow"} else QUICK


@pytest.hookimpl(trylast=True)  # after the marks are set
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.pluginmanager.hasplugin("timeout"):
        return
    for item in items:
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(limit(item)))
