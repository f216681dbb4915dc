"""Every error of ours comes from one root, and its name says that it is one."""

import ast
from importlib import import_module

import pytest
from source_modules import MODULES

from rmqalloc.errors import Error


def classes_of(module):
    """Names of the classes that a module defines, those in functions and classes aside."""
    return [
        node.name
        for node in ast.parse(MODULES[module].read_text()).body
        if isinstance(node, ast.ClassDef)
    ]


@pytest.mark.parametrize("module", [name for name in MODULES if classes_of(name)])
def test_errors_come_from_the_root_and_are_named_so(module):
    try:
        found = [getattr(import_module(module), name) for name in classes_of(module)]
    except ModuleNotFoundError as error:
        pytest.skip(str(error))
    raised = [one for one in found if issubclass(one, BaseException)]
    assert [
        one for one in raised if not (issubclass(one, Error) and one.__name__.endswith("Error"))
    ] == []


# --- A builtin exception is a defect ---

SIGNALS = ("ValueError", "TypeError", "KeyError", "AttributeError")
RAISED = {
    ("rmqalloc", "AttributeError"): "a module's __getattr__ says so",
    ("rmqalloc.lazy", "AttributeError"): "a module's __getattr__ says so",
}


def names_in(node):
    return (
        {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        if node is not None
        else set()
    )


def builtin_raised(tree):
    """Builtin exceptions of `SIGNALS` that a module makes, to raise or to return."""
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return {one.id for one in calls if isinstance(one, ast.Name) and one.id in SIGNALS}


def ours_guarded(tree):
    """Lines where handlers of `SIGNALS` guard calls of ours by name, whose defects would be taken
    for faults of input.
    """
    own = {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in (
            "rmqalloc",
            "spark_udfs",
        ):
            own |= {alias.asname or alias.name for alias in node.names}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Try) or not any(
            names_in(one.type) & {*SIGNALS} for one in node.handlers
        ):
            continue
        calls = [
            one.func for part in node.body for one in ast.walk(part) if isinstance(one, ast.Call)
        ]
        named = {
            one.value.id
            if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name)
            else ""
            for one in calls
        }
        named |= {one.id for one in calls if isinstance(one, ast.Name)}
        if named & (own | {"self", "cls"}):
            yield node.lineno


def test_no_module_raises_a_builtin_exception_about_what_it_was_given():
    """An `ArgumentError` or `ArgumentTypeError`, or an error of the room, is raised instead."""
    found = {
        (name, one)
        for name, path in MODULES.items()
        for one in builtin_raised(ast.parse(path.read_text()))
    }
    assert found == RAISED.keys()


def test_a_handler_of_builtin_exceptions_guards_no_code_of_ours():
    """It may stand around one conversion of outside text; errors of ours have classes of their own."""
    found = {
        (name, line)
        for name, path in MODULES.items()
        for line in ours_guarded(ast.parse(path.read_text()))
    }
    assert found == set()


@pytest.mark.parametrize(("source", "n_raised", "n_guarded"), [
    ("raise ValueError('x')", 1, 0), ("def f():\n return TypeError()", 1, 0), ("raise Error", 0, 0),
    ("try:\n int(x)\nexcept ValueError:\n pass", 0, 0), ("try:\n f(x)\nexcept ValueError:\n pass\ndef f(): ...", 0, 1),
    pytest.param("from rmqalloc.model import f\ntry:\n y = [f(x)]\nexcept (OSError, TypeError):\n pass", 0, 1,
                 id="in a list"),
    ("from rmqalloc.model import M\ntry:\n M.of(x)\nexcept KeyError:\n pass", 0, 1),
    ("from rmqalloc.model import f\ntry:\n f(x)\nexcept Error:\n pass", 0, 0),
])  # fmt: skip
def test_the_rules_find_what_breaks_them(source, n_raised, n_guarded):
    tree = ast.parse(source)
    assert (len(builtin_raised(tree)), len(list(ours_guarded(tree)))) == (n_raised, n_guarded)
