"""The parts of the suite: which tests and how many examples the quick run takes, and that CI takes
all the others.
"""

import subprocess
import sys

import pytest
import selected
from interpreter import SUPPORT
from programs import environment

CHOOSE = ("CI", "HYPOTHESIS_PROFILE")
"""Variables that choose how many examples are tried."""
TESTS = """
import pytest
from hypothesis import given, strategies as st
from hypothesis_budget import examples

@pytest.mark.parametrize("case", range(10))
def test_plain(case): pass

@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("case", range(10))
def test_family(case): pass

@pytest.mark.thorough
def test_long(): pass

@given(st.integers())
def test_property(number): print("tried", number)

@examples(40)
@given(st.integers())
def test_large_property(number): print("tried", number)
"""


@pytest.fixture
def run(tmp_path):
    """Run a part of `TESTS`; the names of the tests, and the integers that the properties tried."""

    def run(*options, is_ci=False, **variables):
        (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    thorough: t\n")
        (tmp_path / "test_it.py").write_text(TESTS)
        variables |= {
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTEST_ADDOPTS": "",
            "PYTHONPATH": str(SUPPORT),
        }
        alone = {
            name: value for name, value in environment(**variables).items() if name not in CHOOSE
        }
        alone |= {"CI": "1"} if is_ci else {}
        plugins = ["-p", "no:cacheprovider", "-p", "selected", "-p", "_hypothesis_pytestplugin"]
        command = [sys.executable, "-m", "pytest", "-v", "-s", *plugins, *options]
        done = subprocess.run(
            command, cwd=tmp_path, env=alone, capture_output=True, text=True, check=True
        )
        lines = done.stdout.splitlines()
        names = [
            line.split()[0].partition("::")[2] for line in lines if line.startswith("test_it.py::")
        ]
        return names, [int(line.split()[-1]) for line in lines if "tried" in line]

    return run


@pytest.mark.thorough
def test_the_quick_run_keeps_some_cases_of_a_family_and_the_rest_runs_in_ci(run):
    quick, _ = run("--part", "quick")
    rest, _ = run("--part", "touched")
    every, _ = run("--part", "all")
    of_family = [name for name in quick if name.startswith("test_family")]
    assert len(of_family) == 3 and "test_long" not in quick
    assert {name for name in quick if name.startswith("test_plain")} == {
        f"test_plain[{case}]" for case in range(10)
    }
    assert sorted({*quick, *rest}) == sorted(every)
    assert {name.partition("[")[0] for name in rest} == {
        "test_family",
        "test_long",
        "test_property",
        "test_large_property",
    }
    assert not {*of_family} & {*rest}


@pytest.mark.thorough
def test_the_quick_run_tries_eight_examples_at_most_and_the_same_ones_every_time(run):
    (_, first), (_, again) = run("--part", "quick"), run("--part", "quick", PYTHONHASHSEED="7")
    assert first == again
    assert 2 * 4 <= len(first) <= 2 * 8
    _, rest = run("--part", "touched", is_ci=True)
    assert len(rest) >= 25 + 40 - 10, "all examples, but for those that hypothesis draws twice"


def test_a_cluster_of_its_own_is_refused(monkeypatch):
    class Item:
        nodeid, fixturenames = "tests/plans/test_new.py::test_it", ["cluster"]

        def get_closest_marker(self, name):
            return name == "cluster" or None

    with pytest.raises(
        pytest.UsageError, match=r"add them to selected.SCOPES: tests/plans/test_new.py::test_it"
    ):
        selected.pytest_collection_modifyitems(None, [Item()])
