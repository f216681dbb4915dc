"""The examples of arrays that the files of kernels begin with."""

import doctest
import re
from importlib import import_module

import numpy as np
import pytest
from checkout import ROOT

KERNELS = sorted(path.stem for path in (ROOT / "pyx").glob("*.pyx"))


def example_of(kernel):
    """The comment at the top of a file of pyx/ that holds an example, as text."""
    source = (ROOT / "pyx" / f"{kernel}.pyx").read_text("utf-8")
    comments = re.findall(r"(?:^#.*\n)+", source, re.MULTILINE)
    example = next((comment for comment in comments if ">>>" in comment), "")
    return re.sub(r"^# ?", "", example, flags=re.MULTILINE)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_example_of_a_kernel_prints_what_it_shows(kernel):
    module = import_module(f"rmqalloc._engine.{kernel}")
    names = {"np": np, kernel: module}
    test = doctest.DocTestParser().get_doctest(example_of(kernel), names, kernel, None, 0)
    shown = []
    result = doctest.DocTestRunner().run(test, out=shown.append)
    assert result.attempted > 0, "no example"
    assert result.failed == 0, "".join(shown)
