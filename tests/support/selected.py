"""A plugin of pytest that selects the part of the tests to run and spreads it over workers.

``--part quick`` leaves out the tests of `areas.AREAS` and those marked ``thorough``, and takes few
examples of a property. ``--part touched`` is what CI runs after it: all that are ``thorough``, all
properties with all their examples, and of the areas the tests that a change touches. ``--part
all``, the default, leaves nothing out.

``@pytest.mark.thorough`` marks a test that costs seconds while others find nearly all that it
finds; ``thorough(keep=4)`` on a family of cases leaves four of them, drawn by the test's name, in
the quick run.

Tests share a Spark session and a real RocketMQ, which are costly to start. Quick tests of Spark are
one scope, all tests at a real cluster another, and every other file is a scope of its own; a scope
runs on one worker.
"""

import functools
import random
from collections import defaultdict

import areas
import hypothesis
import hypothesis_budget
import pytest
from checkout import ROOT

SCOPES = {"tests/integration/spark/": "spark", "tests/integration/cluster/": "rocketmq"}
"""By the beginning of a test's id; where a test has the fixture `cluster`, it is in the scope "rocketmq"."""


def pytest_addoption(parser):
    group = parser.getgroup("rmqalloc")
    parts = ("quick", "touched", "all")
    group.addoption("--part", choices=parts, default="all", help=__doc__.partition("\n\n")[2])


def pytest_configure(config):
    """Say how many examples a property takes, before modules of tests are imported."""
    hypothesis_budget.load(config.getoption("part"))


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(config, items):
    """Leave out what the part does not hold, and order the rest."""
    part, left_to_thorough = config.getoption("--part"), thorough(items)
    kept, left = [], []
    for item in items:
        area, is_thorough = areas.area_of(item.nodeid), item in left_to_thorough
        if area is None and scope_of(item.nodeid) != "rocketmq" and starts_cluster(item):
            raise pytest.UsageError(
                f"a test at a real cluster belongs to tests/integration/cluster: {item.nodeid}"
            )
        match part:
            case "quick":
                holds = area is None and not is_thorough
            case "touched":
                holds = is_thorough or is_property(item) or item.nodeid in choice()
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
    """Order scopes: those with servers come first, so that workers end together; one process takes
    them last.
    """
    scopes, scope = [*SCOPES.values()], scope_of(test)
    is_spread = hasattr(config, "workerinput")
    return scopes.index(scope) if scope in scopes else len(scopes) if is_spread else -1


def scope_of(test):
    """Return the scope of a test: tests of one scope run on one worker.

    Tests of Spark in areas have sessions of their own.

    >>> scope_of("tests/integration/spark/test_spark_sql.py::test_x"), scope_of("tests/plans/test_undo.py::test_x")
    ('spark', 'tests/plans/test_undo.py')
    """
    shared = next((scope for start, scope in SCOPES.items() if test.startswith(start)), None)
    is_alone = shared is None or (shared == "spark" and areas.area_of(test) is not None)
    return test.partition("::")[0] if is_alone else shared


def pytest_ignore_collect(collection_path, config):
    """Do not import a file that lies in an area as a whole where the part has none of it."""
    part = config.getoption("--part")
    if part == "all" or not collection_path.is_relative_to(ROOT):
        return None
    test = collection_path.relative_to(ROOT).as_posix()
    if not test.endswith(".py") or areas.area_of(test) is None:
        return None
    is_chosen = part == "touched" and any(
        start.startswith(test) or test.startswith(start) for start in choice().touched
    )
    return None if is_chosen else True


@functools.cache
def choice():
    """Choose tests of areas for the commit that is checked out."""
    return areas.choose(areas.changed_files())


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


def pytest_terminal_summary(terminalreporter, config):
    """Say what the run left out, and why tests were chosen."""
    if config.getoption("--part") == "quick":
        left = ", ".join(areas.AREAS)
        terminalreporter.write_line(
            f"left to `make test-all`: thorough tests, more examples of properties, {left}"
        )
    if config.getoption("--part") == "touched":
        for start, path in choice().touched.items():
            terminalreporter.write_line(f"touched by {path}: {start}")
        for start in choice().left_out:
            terminalreporter.write_line(f"touched, but left to `make test-all`: {start}")
