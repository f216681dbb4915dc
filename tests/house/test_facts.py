"""Facts of RocketMQ that stand once, and whoever needs one imports it."""

import ast

import pytest
from source_modules import MODULES

from rmqalloc import timers

TEXTS = {"%RETRY%": ["rmqalloc.model"], "%LMQ%": ["rmqalloc.model"]}


def texts_in(source):
    """Texts that a module holds, docstrings with their examples aside."""
    return {node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)}


def numbers_named(source):
    """Names that a module gives to a number, at its top or as the default of a field."""
    tree = ast.parse(source)
    bodies = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))]
    given = [
        node for body in bodies for node in body if isinstance(node, ast.Assign | ast.AnnAssign)
    ]
    named = [
        (node.targets if isinstance(node, ast.Assign) else [node.target], node.value)
        for node in given
    ]
    return {
        (target.id.upper(), value.value)
        for targets, value in named
        for target in targets
        if isinstance(target, ast.Name) and isinstance(value, ast.Constant)
    }


@pytest.mark.thorough
@pytest.mark.parametrize("text", TEXTS)
def test_a_prefix_of_topics_stands_once(text):
    assert [
        name for name, path in MODULES.items() if text in texts_in(path.read_text("utf-8"))
    ] == TEXTS[text]


@pytest.mark.thorough
def test_a_timer_stands_once():
    """No other module has a number of that name, in milliseconds or in seconds."""
    known = {(name, value) for name, value in vars(timers).items() if name.isupper()}
    assert known
    known |= {(name, value / 1_000) for name, value in known}
    named = {name: numbers_named(path.read_text("utf-8")) & known for name, path in MODULES.items()}
    assert {name for name, found in named.items() if found} == {"rmqalloc.timers"}


def test_the_rules_see_a_fact_that_stands_again():
    assert "%RETRY%" in texts_in("if topic.startswith('%RETRY%'): pass")
    assert numbers_named("class A:\n    rebalance: int = 20_000") == {("REBALANCE", 20_000)}
    assert numbers_named("REBALANCE = 20.0") == {("REBALANCE", 20.0)}
