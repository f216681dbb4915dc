"""The Go functions of `go/` against the specifications and the engine, on fresh random cases.

Where Go is missing, these tests are skipped and say what to install.
"""

import pytest
import strategy_programs
from strategy_comparison import N_CASES, SPECIFIED, check, engine, of_page, random_cases

pytestmark = pytest.mark.java  # needs a tool chain of another language, and the network at first

N_SPECIFIED = 1000


@pytest.fixture(scope="module")
def go():
    """The program that answers."""
    try:
        strategy_programs.go_command()
    except strategy_programs.GoMissing as missing:
        pytest.skip(str(missing))
    return strategy_programs.go_answers


def test_the_tests_of_the_module_pass(go):
    assert strategy_programs.go("vet", "./...") == ""
    assert "ok" in strategy_programs.go("test", "./...")


@pytest.mark.parametrize("name", SPECIFIED)
def test_the_functions_answer_as_specified(go, name):
    cases = random_cases(name, N_SPECIFIED)
    check(cases, go(cases), of_page)


@pytest.mark.parametrize("name", SPECIFIED)
def test_the_engine_answers_as_the_functions(go, name):
    answer = engine(name)
    cases = random_cases(name, N_CASES)
    check(cases, go(cases), answer)
