"""The list of mutants follows the code: a mutant that no longer fits would be a check that cannot fail."""

import pytest
from mutants.__main__ import AREAS, ROOT


@pytest.mark.parametrize("area", AREAS)
def test_each_mutant_fits_the_code_once_and_names_tests_that_exist(area):
    assert AREAS[area]
    for mutant in AREAS[area]:
        assert (ROOT / mutant.file).read_text("utf-8").count(mutant.old) == 1, mutant.what
        assert mutant.new != mutant.old, mutant.what
        named = [word.split("::")[0] for word in mutant.tests.split() if word.startswith("tests/")]
        assert named and all((ROOT / path).is_file() for path in named), mutant.what
        chosen = mutant.tests.partition(" -k ")[2]
        assert any(chosen in (ROOT / path).read_text("utf-8") for path in named), mutant.what
