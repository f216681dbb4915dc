"""Every module with loops in C has the same choice of instruction sets: by a function, or by one
environment variable.
"""

import os
import subprocess
import sys
from types import ModuleType

import pytest

from rmqalloc._engine import md5, preferences, ring, split, strings, tally

MODULES = (md5, preferences, ring, split, strings, tally)
each_isa = pytest.mark.parametrize("isa", md5.available_isas())


@each_isa
@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_an_unknown_instruction_set_changes_nothing(module: ModuleType, isa: str) -> None:
    before = module.isa()
    try:
        module.force_isa(isa)
        with pytest.raises(ValueError, match=f"'mmx'; this machine has .*{isa}"):
            module.force_isa("mmx")
        assert module.isa() == isa
    finally:
        module.force_isa(before)


def imported(names: list[str], isa: str) -> subprocess.CompletedProcess[str]:
    """Import modules by their names in another process, which prints what each of them uses."""
    program = f"from rmqalloc._engine import {', '.join(names)}; print({', '.join(f'{name}.isa()' for name in names)})"
    command = [sys.executable, "-c", program]
    return subprocess.run(
        command, env=os.environ | {"RMQALLOC_ISA": isa}, capture_output=True, text=True
    )


@each_isa
def test_the_environment_variable_chooses_for_all(isa: str) -> None:
    done = imported([module.__name__.rpartition(".")[2] for module in MODULES], isa)
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, [isa] * len(MODULES), "")


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_an_unknown_one_in_the_environment_is_named(module: ModuleType) -> None:
    done = imported([module.__name__.rpartition(".")[2]], "mmx")
    assert (done.returncode, done.stdout) == (1, "")
    assert (
        "ImportError: environment variable RMQALLOC_ISA: unknown or missing instruction set 'mmx'"
        in done.stderr
    )
