"""Runs pytest in children of a process that has its libraries already: requests and answers are
lines of JSON.

``python server.py`` works in the folder that it is started in, which holds a copy of the tree. Each
child imports the package anew.
"""

import contextlib
import json
import os
import resource
import signal
import sys
import time
import traceback

import hypothesis  # noqa: F401
import numpy as np  # noqa: F401
import pyarrow.compute
import pyarrow.parquet  # noqa: F401
import pytest
import yaml  # noqa: F401

MEMORY = 12 << 30
"""Bytes that a mutant may map; 0 in a request lifts the limit, as what is compiled with sanitizers maps far more."""
LOG = "mutation.log"
OPTIONS = (
    "-q",
    "-p",
    "no:cacheprovider",
    "-n",
    "0",
    "-W",
    "ignore:Module already imported:pytest.PytestAssertRewriteWarning",
)


class Chosen:
    """Keeps the tests that are asked for, in the order in which they are named, and notes how long
    each takes.

    `tests` are names, `starts` beginnings of names. No test begins after `limit` seconds of tests.
    """

    def __init__(self, tests, starts, limit):
        self.order = None if tests is None else {test: place for place, test in enumerate(tests)}
        self.starts, self.limit = tuple(starts), limit
        self.seconds = {}
        self.failures = []
        self.is_cut = False

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        if self.starts:
            items[:] = [item for item in items if item.nodeid.startswith(self.starts)]
        if self.order is not None:
            kept = [item for item in items if item.nodeid in self.order]
            items[:] = sorted(kept, key=lambda item: self.order[item.nodeid])

    def pytest_runtest_logreport(self, report):
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0) + report.duration
        if report.failed and report.nodeid not in self.failures:
            self.failures.append(report.nodeid)

    def pytest_runtest_logfinish(self):
        self.is_cut = bool(self.limit) and sum(self.seconds.values()) > self.limit

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self):
        return True if self.is_cut else None


class Reached:
    """Notes which lines each test reaches."""

    def __init__(self, coverage):
        self.coverage = coverage

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item):
        self.coverage.switch_context(item.nodeid)
        yield
        self.coverage.switch_context("")


def lines_of(coverage, wanted):
    """File, line and the tests that reach it; of all lines, or of those wanted by file."""
    data = coverage.get_data()
    return {
        os.path.relpath(file): {
            line: sorted(filter(None, tests))
            for line, tests in data.contexts_by_lineno(file).items()
            if wanted is None or line in wanted[os.path.relpath(file)]
        }
        for file in data.measured_files()
    }


def run(request):
    """What a child does: the tests of a request; its answer goes into a file."""
    os.environ.update(request.get("environment", {}))
    plugins = [Chosen(request.get("tests"), request.get("starts", ()), request.get("limit"))]
    coverage = None
    if request.get("include"):
        from coverage import Coverage

        here = os.getcwd()
        coverage = Coverage(
            data_file=None,
            include=[f"{here}/{one}" for one in request["include"]],
            config_file=False,
        )
        plugins.append(Reached(coverage))
        coverage.start()
    code = pytest.main([*OPTIONS, *request["arguments"]], plugins)
    chosen = plugins[0]
    answer = {
        "code": int(code),
        "tests": chosen.seconds,
        "failures": chosen.failures,
        "is_cut": chosen.is_cut,
    }
    if coverage:
        coverage.stop()
        answer["lines"] = lines_of(coverage, request.get("wanted"))
    with open("mutation.json", "w", encoding="utf-8") as file:
        json.dump(answer, file)


def child(request):
    os.setsid()
    log = os.open(LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for number, handle in ((0, os.open(os.devnull, os.O_RDONLY)), (1, log), (2, log)):
        os.dup2(handle, number)
    if memory := request.get("memory", MEMORY):
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if request.get("cpu"):
        resource.setrlimit(resource.RLIMIT_CPU, (request["cpu"], request["cpu"] + 5))
    try:
        run(request)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(0)


def ended(pid, seconds):
    """How a child ended: its status, or None if it was ended after that many seconds."""
    stop = time.monotonic() + seconds
    while time.monotonic() < stop:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
        time.sleep(0.02)
    return None


def answered(request):
    with contextlib.suppress(FileNotFoundError):
        os.unlink("mutation.json")
    started = time.monotonic()
    pid = os.fork()
    if pid == 0:
        child(request)
    status = ended(pid, request["timeout"])
    with contextlib.suppress(ProcessLookupError):  # what the tests have started goes with them
        os.killpg(pid, signal.SIGKILL)
    if status is None:
        os.waitpid(pid, 0)
    answer = {"seconds": time.monotonic() - started, "signal": None}
    if status is None or (
        os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL)
    ):
        return answer | {"code": "timeout"}
    if os.WIFSIGNALED(status):
        return answer | {"code": "signal", "signal": os.WTERMSIG(status)}
    try:
        with open("mutation.json", encoding="utf-8") as file:
            return answer | json.load(file)
    except FileNotFoundError:
        return answer | {"code": "no answer"}


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answered(json.loads(line))), flush=True)
