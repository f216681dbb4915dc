"""What mypy makes of the public names, and of the example programs of clients."""

import subprocess
import sys

import pytest
from checkout import ROOT

CASES = ROOT / "tests" / "support" / "typing_cases.py"
EXAMPLES = sorted((ROOT / "examples" / "clients").glob("*.py"))


@pytest.mark.timeout(900)  # mypy reads everything once
def test_public_types_and_programs_of_clients():
    command = [sys.executable, "-m", "mypy", "--strict", "--no-pretty", CASES, *EXAMPLES]
    done = subprocess.run(
        list(map(str, command)), cwd=ROOT, capture_output=True, text=True, timeout=550
    )
    assert done.returncode == 0, done.stdout + done.stderr
