"""Tests refuse to test another package than the one meant."""

import os
import subprocess
import sys

from checkout import ROOT, SUPPORT


def test_pytest_refuses_at_its_start(tmp_path):
    """In a process of its own, which finds an empty package first."""
    (tmp_path / "rmqalloc").mkdir()
    (tmp_path / "rmqalloc/__init__.py").touch()
    paths = os.pathsep.join(map(str, [tmp_path, SUPPORT]))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "tests/strategies/test_rotated.py"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": paths, "PYTHONSAFEPATH": "1", "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 4, done.stdout + done.stderr
    assert f"imported: {tmp_path / 'rmqalloc'}" in done.stderr
    assert "run:      make " in done.stderr
