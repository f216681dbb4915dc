"""What a test gives back: the folder, variables, limits, handlers, threads and children of the
process that runs it.

The state is compared after each test, when the test's fixtures have ended; what a fixture of a
wider scope changes belongs to that fixture until it ends. A test that leaves a change behind fails,
once: the next test is held to the state that it finds. The one Spark session is compared after each
file.
"""

import contextlib
import locale
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

try:
    import resource
except ImportError:  # Windows has none
    LIMITS: dict[str, int] = {}
else:
    LIMITS = {
        f"RLIMIT_{name}": getattr(resource, f"RLIMIT_{name}")
        for name in ("AS", "CORE", "CPU", "FSIZE", "NOFILE")
    }
SIGNALS = [
    getattr(signal, name)
    for name in ("SIGALRM", "SIGINT", "SIGTERM", "SIGXFSZ")
    if hasattr(signal, name)
]
PATIENCE = 60.0
"""Seconds that a thread or a program has to end after its test: a safety net, waited for only where one is left behind."""

LIBRARIES = {"execnet", "pyspark", "py4j", "pytest_timeout"}
"""Packages that start a thread when they need one, and keep it."""

OF_OTHERS = [os.fsencode(name) for name in ("PYTEST_CURRENT_TEST", "_RJEM_MALLOC_CONF")]
"""Variables that pytest sets for each test, and Polars for its allocator when it is imported."""

GONE = "not there"
Parts = dict[str, dict[Any, Any]]
Changes = dict[tuple[str, Any], tuple[Any, Any]]


def state() -> Parts:
    """Everything that is compared, by what it is and its name; it takes 30 µs, and every test asks
    once.
    """
    variables = dict(
        getattr(os.environ, "_data", os.environ)
    )  # `os.environ.copy()` decodes each and takes 50 µs
    for name in OF_OTHERS:
        variables.pop(name, None)
    return {
        "working directory": {"": os.getcwd()},
        "umask": {"": _umask()},
        "variable": variables,
        "limit": {name: resource.getrlimit(one) for name, one in LIMITS.items()},
        "handler of": {one.name: _handler(one) for one in SIGNALS},
        "sys.path": {"": tuple(sys.path)},
        "locale": {"": locale.setlocale(locale.LC_ALL)},
        "default timeout of sockets": {"": socket.getdefaulttimeout()},
        "digits of the longest number": {"": sys.get_int_max_str_digits()},
        "recursion limit": {"": sys.getrecursionlimit()},
        "thread": {
            one: one.name for one in threading.enumerate() if _package(one) not in LIBRARIES
        },
        "program": _children(),
    }


def _umask() -> int:
    found = os.umask(0)
    os.umask(found)
    return found


def _handler(number: signal.Signals) -> Any:
    """The time limit of a test has a handler of its own, which goes when the test fails."""
    found = signal.getsignal(number)
    return signal.SIG_DFL if getattr(found, "__module__", "") == "pytest_timeout" else found


def _package(thread: threading.Thread) -> str:
    target = getattr(thread, "_target", None)
    module = getattr(target, "__module__", None) or type(thread).__module__
    return module.partition(".")[0]


def _children() -> dict[int, str]:
    """Programs that this process has started and not waited for; only Linux names them."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except (
        AttributeError,
        ChildProcessError,
    ):  # what is asked most often, and costs least: there is none
        return {}
    lists = []
    for one in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(
            FileNotFoundError, ProcessLookupError
        ):  # a thread may end meanwhile
            lists.append(one.read_text())
    tracker = getattr(
        sys.modules.get("multiprocessing.resource_tracker"), "_resource_tracker", None
    )
    return {
        pid: ""
        for pid in map(int, " ".join(lists).split())
        if pid != getattr(tracker, "_pid", None)
    }


def changes(before: Parts, after: Parts) -> Changes:
    """What differs; a thread or a program that has ended is none."""
    found = {}
    for what, now in after.items():
        was = before[what]
        for name in was.keys() | now.keys():
            old, new = was.get(name, GONE), now.get(name, GONE)
            if old != new and not (new is GONE and what in ("thread", "program")):
                found[what, name] = old, new
    return found


def _words(found: Changes) -> str:
    return "\n".join(
        f"  {_word(what, name, *values)}"
        for (what, name), values in sorted(found.items(), key=repr)
    )


def _word(what: str, name: Any, old: Any, new: Any) -> str:
    if what == "thread":
        return f"thread {new} goes on"
    if what == "program":
        command = Path(f"/proc/{name}/cmdline")
        return f"program {name} was not waited for: {command.read_bytes().replace(bytes(1), b' ').decode()[:200]!r}"
    return f"{what} {name.decode() if isinstance(name, bytes) else name}: {old!r} became {new!r}"


class Guard:
    """The state that every test of this process must leave."""

    def __init__(self) -> None:
        self.expected: Parts | None = None
        self.held: dict[int, Changes] = {}
        self.session: Any = None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Any:
        if self.expected is None:
            self.expected = state()
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Any:
        if fixturedef.scope == "function" or self.expected is None:
            return (yield)
        before = state()
        result = yield
        if found := changes(before, state()):
            if (
                fixturedef.scope != "session"
            ):  # what one of the whole run changes goes with the process
                self.held[id(fixturedef)] = found
            self._expect({key: new for key, (_, new) in found.items()})
        if fixturedef.argname == "spark" and fixturedef.scope == "session":
            self.session = SharedSession(result)
            fixturedef.addfinalizer(self._end_session)
        return result

    def pytest_fixture_post_finalizer(self, fixturedef: Any) -> None:
        self._expect({key: old for key, (old, _) in self.held.pop(id(fixturedef), {}).items()})

    def _expect(self, values: dict[tuple[str, Any], Any]) -> None:
        for (what, name), value in values.items():
            if value is GONE:
                self.expected[what].pop(name, None)
            else:
                self.expected[what][name] = value

    def _end_session(self) -> None:
        session, self.session = self.session, None
        session.check()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: Any, nextitem: Any) -> Any:
        result = yield
        cluster = getattr(item, "funcargs", {}).get("cluster")
        # A broker that a test has started again belongs to the cluster of the whole run.
        self.expected["program"] |= dict.fromkeys(getattr(cluster, "programs", ()), "")
        if state() != self.expected and (found := self._left()):
            pytest.fail(
                f"{item.nodeid} does not give back what it changed:\n{_words(found)}", pytrace=False
            )
        if self.session is not None and nextitem is not None and nextitem.path != item.path:
            self.session.check()
        return result

    def _left(self) -> Changes:
        """What stays changed, threads and programs after a while; the next test is held to it."""
        until = time.monotonic() + PATIENCE
        while found := changes(self.expected, now := state()):
            if time.monotonic() > until or not any(
                what in ("thread", "program") for what, _ in found
            ):
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

    def _state(self) -> dict[str, str]:
        settings = {f"setting {row.key}": row.value for row in self.spark.sql("SET").collect()}
        return settings | {
            f"table or view {one.name}": "there" for one in self.spark.catalog.listTables()
        }

    def check(self) -> None:
        """Fail if it is not as it was."""
        before, self.before = self.before, self._state()
        names = sorted(before.keys() | self.before.keys())
        left = [
            f"{name}: {before.get(name, GONE)!r} became {self.before.get(name, GONE)!r}"
            for name in names
        ]
        left = [
            line
            for name, line in zip(names, left, strict=True)
            if before.get(name) != self.before.get(name)
        ]
        if left:
            pytest.fail(
                "this file leaves in the Spark session of all tests:\n  " + "\n  ".join(left),
                pytrace=False,
            )


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Guard(), "what tests give back")
