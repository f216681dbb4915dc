"""Every error of ours comes from one root, and its name says that it is one.

The command line prints an `Error` as one line, and takes any other exception for a defect.
"""

import ast
from importlib import import_module

import pytest
from source_modules import MODULES

from rmqalloc.errors import Error


def classes_of(module):
    """Names of the classes that a module defines, those in functions and classes aside."""
    body = ast.parse(MODULES[module].read_text()).body
    return [node.name for node in body if isinstance(node, ast.ClassDef)]


@pytest.mark.parametrize("module", [name for name in MODULES if classes_of(name)])
def test_errors_come_from_the_root_and_are_named_so(module):
    try:
        found = [getattr(import_module(module), name) for name in classes_of(module)]
    except ModuleNotFoundError as error:
        pytest.skip(str(error))
    errors = [kind for kind in found if issubclass(kind, BaseException)]
    assert [kind for kind in errors if not issubclass(kind, Error)] == []
    assert [kind for kind in errors if not kind.__name__.endswith("Error")] == []


BUILTIN = {"ValueError", "TypeError", "KeyError", "AttributeError"}


def test_no_module_raises_a_builtin_exception_about_what_it_was_given():
    """An `ArgumentError` or `ArgumentTypeError`, or an error of the room, is raised instead."""
    found = set()
    for module, path in MODULES.items():
        calls = [
            node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)
        ]
        called = {call.func.id for call in calls if isinstance(call.func, ast.Name)}
        found |= {(module, name) for name in called & BUILTIN}
    of_getattr = {(module, name) for module, name in found if name == "AttributeError"}
    assert found == of_getattr, "only a module's __getattr__ raises a builtin exception"
    assert ("rmqalloc", "AttributeError") in of_getattr
