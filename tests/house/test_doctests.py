"""Every example in a docstring of the packages under test prints what it shows."""

import doctest
import importlib
from pathlib import Path

import pytest

import rmqalloc
import spark_udfs

N_EXAMPLES = 700
"""So many there are at least: fewer would mean that modules are not found."""


def modules():
    """Names of the modules that hold examples."""
    for package in (rmqalloc, spark_udfs):
        root = Path(package.__file__).parent
        for path in sorted(root.rglob("*.py")):
            if any(">>> " in line and "+SKIP" not in line for line in path.read_text("utf-8").splitlines()):
                parts = path.relative_to(root.parent).with_suffix("").parts
                yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = list(modules())


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module(name):
    found = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert not found.failed
    assert found.attempted


def test_the_examples_are_found():
    root = Path(rmqalloc.__file__).parents[1]
    texts = [path.read_text("utf-8") for one in ("rmqalloc", "spark_udfs") for path in (root / one).rglob("*.py")]
    assert sum(text.count(">>> ") for text in texts) >= N_EXAMPLES
