"""A plugin of pytest that selects the part of the tests to run, spreads it over workers, and reports the seconds it took.

``--part quick`` leaves out the tests of `areas.AREAS`; ``--part touched`` runs those of them that a change touches or that are
in turn; ``--part all``, the default, leaves nothing out.

Tests share a Spark session and a real RocketMQ, which are costly to start. Quick tests of Spark are one scope, all tests at a
real cluster another, and every other file is a scope of its own; a scope runs on one worker.
"""

import functools
from collections import Counter

import areas
import changed_files
import pytest
from checkout import ROOT

SCOPES = {"tests/spark/": "spark", "tests/snapshot/test_live_": "rocketmq"}
"""By the beginning of a test's id."""
LONG = tuple(f"tests/strategies/test_{name}.py" for name in ("strategies", "golden", "promises"))
"""Files that take longest: a worker that began with one of them last would leave the other one idle."""


def pytest_addoption(parser):
    group = parser.getgroup("rmqalloc")
    group.addoption("--part", choices=("quick", "touched", "all"), default="all", help=__doc__.partition("\n\n")[2])


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks, and before xdist adds scopes to their names
def pytest_collection_modifyitems(config, items):
    """Leave out what the part does not hold, and order the rest."""
    part = config.getoption("--part")
    chosen = choice() if part == "touched" else ()
    kept, left = [], []
    for item in items:
        is_quick = areas.area_of(item.nodeid) is None
        holds = part == "all" or (is_quick if part == "quick" else item.nodeid in chosen)
        (kept if holds else left).append(item)
    items[:] = sorted(kept, key=lambda item: rank(config, item.nodeid))
    if left:
        config.hook.pytest_deselected(items=left)


def rank(config, test):
    """Order scopes: those with servers and long files come first, so that workers end together; one process takes them last."""
    scopes, scope = [*SCOPES.values(), *LONG], scope_of(test)
    is_spread = hasattr(config, "workerinput")
    return scopes.index(scope) if scope in scopes else len(scopes) if is_spread else -1


def scope_of(test):
    """Return the scope of a test: tests of one scope run on one worker.

    >>> scope_of("tests/spark/test_spark_sql.py::test_x"), scope_of("tests/plans/test_undo.py::test_x")
    ('spark', 'tests/plans/test_undo.py')
    """
    shared = next((scope for start, scope in SCOPES.items() if test.startswith(start)), None)
    # Tests of areas have sessions and clusters of their own, apart from those that need the one RocketMQ.
    return shared if shared and (shared != "spark" or areas.area_of(test) is None) else test.partition("::")[0]


def pytest_ignore_collect(collection_path, config):
    """Do not import a file that lies in an area as a whole where the part has none of it."""
    if config.getoption("--part") == "all" or collection_path.suffix != ".py":
        return None
    test = collection_path.relative_to(ROOT).as_posix() if collection_path.is_relative_to(ROOT) else ""
    is_quick = areas.area_of(test) is None
    if config.getoption("--part") == "quick":
        return None if is_quick else True
    return None if any(start.startswith(test) or test.startswith(start) for start in choice().all()) else True


@functools.cache
def choice():
    """Choose tests of areas for the commit that is checked out."""
    return areas.choose(changed_files.changed(changed_files.base()), changed_files.git("rev-parse", "HEAD"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give each scope to one worker."""
    if config.getoption("dist") != "loadscope":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return scope_of(nodeid)

    return Scheduling(config, log)


def part_of(test):
    """Name the part of a run that a test counts for: its area, or its folder.

    >>> part_of("tests/plans/test_plans.py::test_x"), part_of("tests/strategies/test_go.py::test_x")
    ('plans', 'go')
    """
    return areas.area_of(test) or "/".join(test.partition("::")[0].split("/")[1:-1]) or "tests"


def pytest_terminal_summary(terminalreporter, config):
    """Write a line for each part, and what the run left out."""
    part = config.getoption("--part")
    if part == "all" and not config.getoption("numprocesses", None):
        return
    seconds, tests = Counter(), Counter()
    for reports in terminalreporter.stats.values():
        for one in reports:
            if isinstance(one, pytest.TestReport):
                seconds[part_of(one.nodeid)] += one.duration
                tests[part_of(one.nodeid)] += one.when == "call"
    terminalreporter.section("parts", sep="-")
    for name, spent in seconds.most_common():
        terminalreporter.write_line(f"{name}: {tests[name]} tests, {spent:.0f} s")
    if part == "quick":
        left = ", ".join(f"{name} ({sum(area.seconds.values())} s)" for name, area in areas.AREAS.items())
        terminalreporter.write_line(f"left to `make test-all`: {left}")
    if part == "touched":
        write_choice(terminalreporter)


def write_choice(reporter):
    """Write why tests were chosen, what did not fit, and of failures whether the change reaches them."""
    chosen = choice()
    for start, path in chosen.touched.items():
        reporter.write_line(f"touched by {path}: {start}")
    for start in chosen.in_turn:
        reporter.write_line(f"in turn: {start}")
    for start in chosen.left_out:
        reporter.write_line(f"touched, but over the budget of {areas.BUDGET} CPU s (make test-all runs it): {start}")
    reporter.write_line(f"to repeat: git checkout {changed_files.git('rev-parse', 'HEAD')} && make test-touched")
    for report in (*reporter.stats.get("failed", []), *reporter.stats.get("error", [])):
        if any(report.nodeid.startswith(start) for start in chosen.in_turn):
            why = (
                f"area {areas.area_of(report.nodeid)!r} depends on none of the changed files; does the base fail, too?"
            )
            reporter.write_line(f"{report.nodeid} ran in turn: {why}")
