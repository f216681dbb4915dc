"""Run pytest as `make test` does: its output goes to a log, too, and the last lines say what failed
and how to run it again.

    python tests/support/logged_run.py -q --part quick

The tests are not imported before pytest does so: the last lines come however early pytest stops.
"""

import os
import re
import shlex
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TextIO

import pytest

LOG = Path("build/test.log")
MOST = 10
"""Failed tests that are named; all of them are in the log."""
SGR = re.compile(r"\x1b\[[\d;]*m")
USUAL_CACHE = str(Path(".cache").absolute())
SET_BY_MAKE = {
    "LC_ALL": "",
    "PYTHONSAFEPATH": "",
    "RMQALLOC_CACHE": USUAL_CACHE,
    "RMQALLOC_WHEEL_OF": "",
}
"""Variables that the Makefile exports, with the values that a test has without them."""


class Tee:
    """A stream whose text is written to a log, too, without colours."""

    def __init__(self, stream: TextIO, log: TextIO) -> None:
        self._stream, self._log = stream, log

    def write(self, text: str) -> int:
        self._log.write(SGR.sub("", text))
        return self._stream.write(text)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


class Failures:
    """A plugin of pytest that notes the ids of tests that fail and of files that cannot be
    collected.
    """

    def __init__(self) -> None:
        self.ids: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.failed and report.nodeid not in self.ids:
            self.ids.append(report.nodeid)

    pytest_collectreport = pytest_runtest_logreport


def command(test: str = "") -> str:
    """Give the command that runs a test again; the whole run for what is no test, as a worker that
    collected other tests.
    """
    variables = {name: os.environ.get(name, usual) for name, usual in SET_BY_MAKE.items()}
    settings = [
        f"{name}={shlex.quote(value)}"
        for name, value in variables.items()
        if value != SET_BY_MAKE[name]
    ]
    is_test = Path(test.partition("::")[0]).is_file()
    arguments = ["-m", "pytest", "-q", test] if is_test else sys.argv
    return " ".join([*settings, shlex.join([os.path.relpath(sys.executable), *arguments])])


def last_lines(code: int, failed: list[str]) -> list[str]:
    """Say what failed, how to run it again, and where the log is."""
    if failed:
        more = [f"  and {len(failed) - MOST} more"] if len(failed) > MOST else []
        what = [f"{len(failed)} failed:", *(f"  {test}" for test in failed[:MOST]), *more]
    elif code == pytest.ExitCode.INTERRUPTED:
        what = ["Interrupted before a test failed."]
    else:
        what = [f"No test failed, but pytest ended with exit code {code}: see above."]
    again = "To run the first again:" if len(failed) > 1 else "To run it again:"
    return [*what, again, f"  {command(*failed[:1])}", f"The log is {LOG}."]


def main(arguments: list[str]) -> int:
    """Run pytest and return its exit code."""
    failures = Failures()
    LOG.parent.mkdir(exist_ok=True)
    with (
        LOG.open("w", encoding="utf-8", errors="backslashreplace", buffering=1) as log,
        redirect_stdout(Tee(sys.stdout, log)),  # type: ignore[type-var]
        redirect_stderr(Tee(sys.stderr, log)),  # type: ignore[type-var]
    ):
        code = pytest.main(arguments, plugins=[failures])
        if code:
            print("\n".join(last_lines(code, failures.ids)), file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
