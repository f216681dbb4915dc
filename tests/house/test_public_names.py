"""What is public: a change of a public name, or of the parameters of a function, is seen here and
belongs into CHANGELOG.md.
"""

import inspect

import pytest
from public_names import LIST, PAGE, lines, page, rooms

pytestmark = pytest.mark.needs("pyspark")  # its names are part of the list


def test_the_public_names_are_those_of_the_list():
    """If this is meant: ``PYTHONPATH=tests/support python tests/support/public_names.py`` writes
    the list, and its table in docs/reference/stability.md.
    """
    assert lines() == LIST.read_text(encoding="utf-8").splitlines()


def test_the_page_lists_the_public_names():
    text = PAGE.read_text(encoding="utf-8")
    assert page(text, LIST.read_text(encoding="utf-8").splitlines()) == text


def test_every_public_function_and_class_says_what_it_is():
    named = [
        (room.__name__, name, getattr(room, name)) for room in rooms() for name in room.__all__
    ]
    bare = [
        f"{room}.{name}"
        for room, name, thing in named
        if (inspect.isfunction(thing) or inspect.isclass(thing)) and not inspect.getdoc(thing)
    ]
    assert bare == []
