"""Every error of ours comes from one root, and its name says that it is one."""

import ast
from importlib import import_module

import pytest
from source_modules import MODULES

from rmqalloc.errors import Error


def classes_of(module):
    """Names of the classes that a module defines, those in functions and classes aside."""
    return [node.name for node in ast.parse(MODULES[module].read_text()).body if isinstance(node, ast.ClassDef)]


@pytest.mark.parametrize("module", [name for name in MODULES if classes_of(name)])
def test_errors_come_from_the_root_and_are_named_so(module):
    try:
        found = [getattr(import_module(module), name) for name in classes_of(module)]
    except ModuleNotFoundError as error:
        pytest.skip(str(error))
    for one in found:
        assert not issubclass(one, BaseException) or (issubclass(one, Error) and one.__name__.endswith("Error")), one


def test_there_are_errors():
    assert len({one for one in Error.__subclasses__() if one.__module__.startswith(("rmqalloc", "spark_udfs"))}) > 10
