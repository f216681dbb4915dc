"""A plugin of pytest that selects the part of the tests to run, spreads it over workers, and
reports the seconds it took.

``--part quick`` leaves out the tests of `areas.AREAS` and those marked ``thorough``, and takes few
examples of a property. ``--part touched`` is what CI runs after it: all that are ``thorough``, all
properties with all their examples, and of the areas the tests that a change touches or that are in
turn. ``--part all``, the default, leaves nothing out.

``@pytest.mark.thorough`` marks a test that costs seconds while others find nearly all that it
finds; ``thorough(keep=4)`` on a family of cases leaves four of them, drawn by the test's name, in
the quick run.

Tests share a Spark session and a real RocketMQ, which are costly to start. Quick tests of Spark are
one scope, all tests at a real cluster another, and every other file is a scope of its own; a scope
runs on one worker.
"""

import functools
import random
from collections import Counter, defaultdict

import areas
import changed_files
import hypothesis
import hypothesis_budget
import pytest
from checkout import ROOT

SCOPES = {
    "tests/spark/": "spark",
    "tests/snapshot/test_live_": "rocketmq",
    "tests/client/test_beside_java.py": "rocketmq",
    "tests/client/test_live_member.py": "rocketmq",
    "tests/remoting/test_live_bodies.py": "rocketmq",
    "tests/rebalance/test_live_heartbeats.py": "rocketmq",
    "tests/simulation/test_live_simulate_group.py": "rocketmq",
    "tests/guard/test_live_guard.py": "rocketmq",
    "tests/service/test_live_service.py": "rocketmq",
}
"""By the beginning of a test's id; where a test has the fixture `cluster`, it is in the scope "rocketmq"."""
LONG = tuple(f"tests/strategies/test_{name}.py" for name in ("strategies", "golden", "promises"))
"""Files that take longest: a worker that began with one of them last would leave the other one idle."""


def pytest_addoption(parser):
    group = parser.getgroup("rmqalloc")
    group.addoption(
        "--part",
        choices=("quick", "touched", "all"),
        default="all",
        help=__doc__.partition("\n\n")[2],
    )


def pytest_configure(config):
    """Say how many examples a property takes, before modules of tests are imported."""
    hypothesis_budget.load(config.getoption("part"))


@pytest.hookimpl(
    tryfirst=True
)  # before tests are chosen by their marks, and before xdist adds scopes to their names
def pytest_collection_modifyitems(config, items):
    """Leave out what the part does not hold, and order the rest."""
    if apart := [item.nodeid for item in items if starts_cluster(item) and is_apart(item.nodeid)]:
        raise pytest.UsageError(
            f"these start a cluster of their own: add them to selected.SCOPES: {', '.join(apart)}"
        )
    part, left_to_thorough = config.getoption("--part"), thorough(items)
    chosen = choice() if part == "touched" else ()
    kept, left = [], []
    for item in items:
        is_thorough = item in left_to_thorough
        match part:
            case "quick":
                holds = areas.area_of(item.nodeid) is None and not is_thorough
            case "touched":
                holds = is_thorough or is_property(item) or item.nodeid in chosen
            case _:
                holds = True
        (kept if holds else left).append(item)
    items[:] = sorted(kept, key=lambda item: rank(config, item.nodeid))
    if left:
        config.hook.pytest_deselected(items=left)


def starts_cluster(item):
    """Return True for a test that the one RocketMQ is started for; fixtures of other tests have the
    same name.
    """
    return item.get_closest_marker("cluster") is not None and "cluster" in item.fixturenames


def is_apart(test):
    """Return True for a test of no area that is not in the scope of the one RocketMQ."""
    return areas.area_of(test) is None and scope_of(test) != "rocketmq"


def is_property(item):
    """Return True for a test of hypothesis."""
    return hypothesis.is_hypothesis_test(getattr(item, "obj", None))


def thorough(items):
    """Return the tests that the quick run leaves out because of their mark."""
    families = defaultdict(list)
    for item in items:
        if item.get_closest_marker("thorough") and areas.area_of(item.nodeid) is None:
            families[item.nodeid.partition("[")[0]].append(item)
    left = set()
    for name, cases in families.items():
        keep = cases[0].get_closest_marker("thorough").kwargs.get("keep", 0)
        kept = random.Random(name).sample(cases, min(keep, len(cases)))
        left.update(case for case in cases if case not in kept)
    return left


def rank(config, test):
    """Order scopes: those with servers and long files come first, so that workers end together; one
    process takes them last.
    """
    scopes, scope = [*SCOPES.values(), *LONG], scope_of(test)
    is_spread = hasattr(config, "workerinput")
    return scopes.index(scope) if scope in scopes else len(scopes) if is_spread else -1


def scope_of(test):
    """Return the scope of a test: tests of one scope run on one worker.

    >>> scope_of("tests/spark/test_spark_sql.py::test_x"), scope_of("tests/plans/test_undo.py::test_x")
    ('spark', 'tests/plans/test_undo.py')
    """
    shared = next((scope for start, scope in SCOPES.items() if test.startswith(start)), None)
    # Tests of areas have sessions and clusters of their own, apart from those that need the one
    # RocketMQ.
    return (
        shared
        if shared and (shared != "spark" or areas.area_of(test) is None)
        else test.partition("::")[0]
    )


def pytest_ignore_collect(collection_path, config):
    """Do not import a file that lies in an area as a whole where the part has none of it."""
    if config.getoption("--part") == "all" or collection_path.suffix != ".py":
        return None
    test = (
        collection_path.relative_to(ROOT).as_posix() if collection_path.is_relative_to(ROOT) else ""
    )
    if areas.area_of(test) is None:
        return None
    if config.getoption("--part") == "quick":
        return True
    return (
        None
        if any(start.startswith(test) or test.startswith(start) for start in choice().all())
        else True
    )


@functools.cache
def choice():
    """Choose tests of areas for the commit that is checked out."""
    return areas.choose(
        changed_files.changed(changed_files.base()), changed_files.git("rev-parse", "HEAD")
    )


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
        left = ", ".join(
            f"{name} ({sum(area.seconds.values())} s)" for name, area in areas.AREAS.items()
        )
        terminalreporter.write_line(
            f"left to `make test-all`: thorough tests, more examples of properties, {left}"
        )
    if part == "touched":
        write_choice(terminalreporter)


def write_choice(reporter):
    """Write why tests were chosen, what did not fit, and of failures whether the change reaches
    them.
    """
    chosen = choice()
    for start, path in chosen.touched.items():
        reporter.write_line(f"touched by {path}: {start}")
    for start in chosen.in_turn:
        reporter.write_line(f"in turn: {start}")
    for start in chosen.left_out:
        reporter.write_line(
            f"touched, but over the budget of {areas.BUDGET} CPU s (make test-all runs it): {start}"
        )
    reporter.write_line(
        f"to repeat: git checkout {changed_files.git('rev-parse', 'HEAD')} && make test-touched"
    )
    for report in (*reporter.stats.get("failed", []), *reporter.stats.get("error", [])):
        if any(report.nodeid.startswith(start) for start in chosen.in_turn):
            why = f"area {areas.area_of(report.nodeid)!r} depends on none of the changed files; does the base fail, too?"
            reporter.write_line(f"{report.nodeid} ran in turn: {why}")
