"""The Go functions of `go/` against the specifications and the engine, on fresh random cases.

Where Go is missing, these tests are skipped and say what to install.
"""

import pytest
import strategy_programs
from strategy_comparison import (
    GO_CASES,
    SPECIFIED,
    check,
    engine_answers,
    page_answers,
    random_cases,
)

pytestmark = pytest.mark.go

N_SPECIFIED = 1000


@pytest.fixture(scope="module")
def go():
    """The program that answers."""
    return strategy_programs.go_answers


def test_the_tests_of_the_module_pass(go):
    assert strategy_programs.go("vet", "./...") == ""
    assert "ok" in strategy_programs.go("test", "./...")


@pytest.mark.parametrize("name", SPECIFIED)
def test_the_functions_answer_as_specified(go, name):
    cases = random_cases(name, N_SPECIFIED)
    check(cases, go(cases), page_answers(cases))


@pytest.mark.parametrize(("name", "n_cases"), GO_CASES.items())
def test_the_engine_answers_as_the_functions(go, name, n_cases):
    cases = random_cases(name, n_cases)
    check(cases, go(cases), engine_answers(cases))
