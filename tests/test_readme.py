"""What the README shows is what one gets."""

import doctest
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_the_examples_of_the_readme_run_as_printed():
    outcome = doctest.testfile(str(README), module_relative=False)
    assert outcome.attempted >= 8
    assert outcome.failed == 0
