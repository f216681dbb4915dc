"""The Java classes of `java/` against the specifications and the engine, on fresh random cases.

The class files that are compiled with a client of 4.9 run with one of 5.x, too. Where a JDK or
Maven is missing, these tests are skipped and say what to install.
"""

import java_driver
import pytest
import strategy_programs
from strategy_comparison import (
    JAVA_CASES,
    SPECIFIED,
    check,
    engine_answers,
    page_answers,
    random_cases,
)

pytestmark = pytest.mark.java

N_SPECIFIED = 1000


@pytest.fixture(scope="module")
def java():
    """The program that answers; making it runs the project's own tests, which read the vectors."""
    strategy_programs.tested_java()
    return strategy_programs.java_answers


@pytest.mark.parametrize("name", SPECIFIED)
def test_the_classes_answer_as_specified_with_clients_of_both_lines(java, name):
    cases = random_cases(name, N_SPECIFIED)
    said = java(cases)
    check(cases, said, page_answers(cases))
    assert java(cases, java_driver.maven_classpath(java_driver.PROJECT)) == said


@pytest.mark.parametrize(("name", "n_cases"), JAVA_CASES.items())
def test_the_engine_answers_as_the_classes(java, name, n_cases):
    cases = random_cases(name, n_cases)
    check(cases, java(cases), engine_answers(cases))
