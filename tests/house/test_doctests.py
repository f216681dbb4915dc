"""Every example in a docstring prints what it shows: of the packages under test, of helpers, proofs
and benchmarks.
"""

import doctest
import importlib
from pathlib import Path

import pytest
from checkout import PROOFS, ROOT, SUPPORT

import rmqalloc
import spark_udfs

PACKAGES = [Path(package.__file__).parent for package in (rmqalloc, spark_udfs)]
N_EXAMPLES = 700
"""So many the packages have at least: fewer would mean that modules are not found."""


def modules():
    """Names of the modules that hold examples."""
    imported_from = {folder: folder.parent for folder in PACKAGES}
    imported_from |= {folder: folder for folder in (SUPPORT, PROOFS, ROOT / "benchmarks")}
    for folder, root in imported_from.items():
        for path in sorted(folder.rglob("*.py")):
            if any(
                ">>> " in line and "+SKIP" not in line
                for line in path.read_text("utf-8").splitlines()
            ):
                parts = path.relative_to(root).with_suffix("").parts
                yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.mark.parametrize("name", list(modules()))
def test_the_examples_of_a_module(name):
    found = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert not found.failed
    assert found.attempted


def test_the_examples_are_found():
    texts = [path.read_text("utf-8") for folder in PACKAGES for path in folder.rglob("*.py")]
    assert sum(text.count(">>> ") for text in texts) >= N_EXAMPLES
