"""Sixteen threads over one fleet and one rule of each kind, with the interpreter lock or without
it.
"""

import sys
import sysconfig

import pytest
from interpreter import run_python
from platforms.pythons.stress import LEAST, Stress

EVERY_MODULE = """
import sys
from importlib import import_module
from pathlib import Path
import rmqalloc._engine as engine
for path in Path(engine.__file__).parent.glob("*.so"):
    import_module(f"rmqalloc._engine.{path.name.partition('.')[0]}")
print(sys._is_gil_enabled())
"""


@pytest.mark.thorough
def test_threads_answer_as_one():
    """Lazy properties, fleets, single groups, and a list of queues that changes meanwhile."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        done = Stress(threads=16).run(seconds=1)
    finally:
        sys.setswitchinterval(interval)
    assert done.asked.total() > 16 * len(done.fleet_jobs)
    assert not done.differ, dict(done.differ)


@pytest.mark.thorough
def test_a_wrong_answer_of_one_thread_is_found():
    stress = Stress(threads=2)
    stress.possible["AVG.assign"] = set()
    stress.alone[5]["balance"] = None
    done = stress.run(seconds=0)
    assert done.differ["balance"] == 2
    assert done.differ["AVG.assign"] == done.asked["AVG.assign"] > LEAST


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="a Python that always has its lock"
)
def test_no_module_brings_the_lock_back():
    assert run_python(EVERY_MODULE) == ["False"]
