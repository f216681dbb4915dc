"""Every example in a docstring of the packages under test, and of their helpers, prints what it shows."""

import doctest
import importlib
from pathlib import Path

import pytest
from checkout import SUPPORT

import rmqalloc
import spark_udfs

PACKAGES = [Path(package.__file__).parent for package in (rmqalloc, spark_udfs)]


def modules():
    """Names of the modules that hold examples."""
    imported_from = {folder: folder.parent for folder in PACKAGES} | {SUPPORT: SUPPORT}
    for folder, root in imported_from.items():
        for path in sorted(folder.rglob("*.py")):
            lines = path.read_text("utf-8").splitlines()
            if any(">>> " in line and "+SKIP" not in line for line in lines):
                parts = path.relative_to(root).with_suffix("").parts
                yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.mark.parametrize("name", list(modules()))
def test_the_examples_of_a_module(name):
    found = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert not found.failed
    assert found.attempted
