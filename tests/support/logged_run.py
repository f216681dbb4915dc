"""Run pytest as `make test` does: its output goes to a log, too, and the last lines say what failed
and how to run it again.

    python tests/support/logged_run.py -q --part quick
"""

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

LOG = Path("build/test.log")
MOST = 10
"""Failed tests that are named; all of them are in the log."""
FAILED = re.compile(rb"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
"""Lines of pytest's own summary."""
SET_BY_MAKE = ("LC_ALL", "PYTHONSAFEPATH", "RMQALLOC_WHEEL_OF")
"""Variables that the Makefile exports, without which a test would run otherwise."""


def last_lines(failed: list[str]) -> list[str]:
    """Say what failed, how to run it again, and where the log is."""
    tests = [test for test in failed if Path(test.partition("::")[0]).is_file()]
    arguments = ["-m", "pytest", "-q", tests[0]] if tests else sys.argv
    settings = [f"{name}={os.environ[name]}" for name in SET_BY_MAKE if os.environ.get(name)]
    again = shlex.join([*settings, os.path.relpath(sys.executable), *arguments])
    named = [f"  {test}" for test in failed[:MOST]]
    more = [f"  and {len(failed) - MOST} more"] if len(failed) > MOST else []
    what = [f"{len(failed)} failed:", *named, *more] if failed else ["No test failed: see above."]
    return [*what, "To run it again:", f"  {again}", f"The log is {LOG}."]


def main(arguments: list[str]) -> int:
    """Run pytest and return its exit code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for pytest, which then ends in order
    LOG.parent.mkdir(exist_ok=True)
    command = ["env", "--default-signal=INT", sys.executable, "-m", "pytest", *arguments]
    with (
        LOG.open("wb") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as run,
    ):
        while data := run.stdout.read1():  # type: ignore[union-attr]
            os.write(sys.stdout.fileno(), data)
            log.write(data)
            log.flush()
    if run.returncode:
        failed = [found.decode() for found in FAILED.findall(LOG.read_bytes())]
        lines = "\n".join(last_lines(list(dict.fromkeys(failed)))) + "\n"
        os.write(sys.stdout.fileno(), lines.encode())
    return run.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
