"""The last lines of `make test` name what failed, the command that runs it again, and the log."""

import subprocess
import sys

from checkout import SUPPORT
from programs import environment


def test_what_failed_is_said_last(tmp_path):
    (tmp_path / "test_it.py").write_text("def test_it(): assert 0\ndef test_well(): pass\n")
    command = [sys.executable, SUPPORT / "logged_run.py", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", PYTEST_ADDOPTS=""),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    last = done.stdout.partition("1 failed:\n")[2]
    assert last.startswith("  test_it.py::test_it\nTo run it again:\n  ")
    assert last.endswith(" -m pytest -q test_it.py::test_it\nThe log is build/test.log.\n")
    log = (tmp_path / "build" / "test.log").read_text()
    assert done.stdout.startswith(log) and "1 failed, 1 passed" in log
