"""What a test gives back: the folder, variables, limits, handlers, threads and children of the
process that runs it.

The state is compared after each test, when the test's fixtures have ended; a test that leaves a
change behind fails, once: the next test is held to the state that it finds. What a fixture of a
wider scope changes is expected while that fixture holds it. The one Spark session is compared after
each file.
"""

import contextlib
import os
import resource
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

PATIENCE = 60.0
"""Seconds that a thread or a program has to end after its test: a safety net, waited for only where one is left behind."""

LIBRARIES = {"execnet", "pyspark", "py4j", "pytest_timeout"}
"""Packages that start a thread when they need one, and keep it."""

OF_OTHERS = {"PYTEST_CURRENT_TEST", "_RJEM_MALLOC_CONF"}
"""Variables that pytest sets for each test, and Polars for its allocator when it is imported."""

GONE = "not there"
State = dict[tuple[str, Any], Any]
"""Values by what they are and their name."""


def state() -> State:
    """Everything that is compared."""
    found: State = {
        ("working directory", ""): os.getcwd(),
        ("limit", "RLIMIT_FSIZE"): resource.getrlimit(resource.RLIMIT_FSIZE),
        ("sys.path", ""): tuple(sys.path),
        ("digits of the longest number", ""): sys.get_int_max_str_digits(),
        ("recursion limit", ""): sys.getrecursionlimit(),
    }
    for name, value in os.environ.items():
        if name not in OF_OTHERS:
            found["variable", name] = value
    for number in (signal.SIGALRM, signal.SIGINT, signal.SIGTERM, signal.SIGXFSZ):
        found["handler of", number.name] = _handler(number)
    for thread in threading.enumerate():
        if _package(thread) not in LIBRARIES:
            found["thread", thread] = thread.name
    for pid in _children():
        found["program", pid] = ""
    return found


def _handler(number: signal.Signals) -> Any:
    """The time limit of a test has a handler of its own, which goes when the test fails."""
    found = signal.getsignal(number)
    return signal.SIG_DFL if getattr(found, "__module__", "") == "pytest_timeout" else found


def _package(thread: threading.Thread) -> str:
    target = getattr(thread, "_target", None)
    module = getattr(target, "__module__", None) or type(thread).__module__
    return module.partition(".")[0]


def _children() -> set[int]:
    """Programs that this process has started and not waited for; only Linux names them."""
    lists = []
    for listing in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(
            FileNotFoundError, ProcessLookupError
        ):  # a thread may end meanwhile
            lists.append(listing.read_text())
    tracker = getattr(
        sys.modules.get("multiprocessing.resource_tracker"), "_resource_tracker", None
    )
    return {*map(int, " ".join(lists).split())} - {getattr(tracker, "_pid", None)}


def changes(before: State, after: State) -> State:
    """What differs, with its new values; a thread or a program that has ended is no change."""
    return {
        key: after.get(key, GONE)
        for key in before.keys() | after.keys()
        if before.get(key, GONE) != after.get(key, GONE)
        and (key in after or key[0] not in ("thread", "program"))
    }


class Guard:
    """The state that every test of this process must leave."""

    def __init__(self) -> None:
        self.expected: State = {}
        self.session: Any = None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Any:
        self.expected = self.expected or state()
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Any:
        if fixturedef.scope == "function":
            return (yield)
        before = state()
        result = yield
        found = changes(before, state())
        self._expect(found)
        if fixturedef.scope != "session":  # what one of the whole run changes goes with the process
            held = {key: before.get(key, GONE) for key in found}
            fixturedef.addfinalizer(lambda: self._expect(held))
        if fixturedef.argname == "spark" and fixturedef.scope == "session":
            self.session = SharedSession(result)
            fixturedef.addfinalizer(self._end_session)
        return result

    def _expect(self, values: State) -> None:
        for key, value in values.items():
            if value is GONE:
                self.expected.pop(key, None)
            else:
                self.expected[key] = value

    def _end_session(self) -> None:
        session, self.session = self.session, None
        session.check()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: Any, nextitem: Any) -> Any:
        result = yield
        cluster = getattr(item, "funcargs", {}).get("cluster")
        # A broker that a test has started again belongs to the cluster of the whole run.
        self._expect({("program", pid): "" for pid in getattr(cluster, "programs", ())})
        before = self.expected
        if found := self._left():
            lines = [
                f"  {what} {name}: {before.get((what, name), GONE)!r} became {value!r}"
                for (what, name), value in found.items()
            ]
            pytest.fail(
                "\n".join([f"{item.nodeid} does not give back what it changed:", *lines]),
                pytrace=False,
            )
        if self.session is not None and nextitem is not None and nextitem.path != item.path:
            self.session.check()
        return result

    def _left(self) -> State:
        """What stays changed, threads and programs after a while; the next test is held to it."""
        until = time.monotonic() + PATIENCE
        while found := changes(self.expected, now := state()):
            is_ending = any(what in ("thread", "program") for what, _ in found)
            if time.monotonic() > until or not is_ending:
                break
            time.sleep(0.01)
        self.expected = now
        return found


class SharedSession:
    """The Spark session of all tests: a view or a setting that a file leaves in it is there for the
    next file.
    """

    def __init__(self, spark: Any) -> None:
        self.spark = spark
        self.before = self._state()

    def _state(self) -> State:
        found = {("setting", row.key): row.value for row in self.spark.sql("SET").collect()}
        tables = self.spark.catalog.listTables()
        return found | {("table or view", table.name): "there" for table in tables}

    def check(self) -> None:
        """Fail if it is not as it was."""
        before, self.before = self.before, self._state()
        if found := changes(before, self.before):
            pytest.fail(
                f"this file leaves in the Spark session of all tests: {found}", pytrace=False
            )


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Guard(), "what tests give back")
