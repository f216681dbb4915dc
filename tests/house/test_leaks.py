"""A test that leaves something behind fails, and no other test does."""

import subprocess
import sys

import pytest
from programs import environment

LEFT = {
    "working directory": "os.chdir('/')",
    "variable LEFT": "os.environ['LEFT'] = '1'",
    "handler of SIGINT": "signal.signal(signal.SIGINT, signal.SIG_IGN)",
    "thread": "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
    "program": "subprocess.Popen(['sleep', '20'])",
}


@pytest.mark.thorough
def test_what_a_test_leaves_behind_fails_that_test(tmp_path):
    tests = [
        f"def test_left_{i}(): {code}\ndef test_after_{i}(): pass\n"
        for i, code in enumerate(LEFT.values())
    ]
    head = "import leaks, os, signal, subprocess, threading, time\nleaks.PATIENCE = 0.2\n"
    (tmp_path / "test_it.py").write_text(head + "".join(tests))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "leaks"],
        cwd=tmp_path,
        env=environment(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", PYTEST_ADDOPTS=""),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert f"{2 * len(LEFT)} passed, {len(LEFT)} errors" in done.stdout
    for i, words in enumerate(LEFT):
        part = done.stdout.split(f"ERROR at teardown of test_left_{i} ")[1].split("\n_____")[0]
        assert f"\n  {words}" in part
