"""The voice of docstrings, comments, messages and pages: phrases that no native engineer would
write.
"""

import ast
import re

import pytest
from checkout import ROOT
from source_modules import MODULES

PHRASES = (
    "anew|of theirs|of ours|put right|made again|so-many-th|come to the same|comes to the same|all the same|gravest|"
    "likeliest|stand still|stands still|be it known|only so many|what it comes to"
)
REFUSED = re.compile(rf"\b({PHRASES})\b", re.IGNORECASE)
NOUN_PHRASES = {
    "The",
    "A",
    "An",
    "What",
    "Who",
    "Whether",
    "How",
    "Those",
    "Which",
    "Where",
    "These",
    "Why",
    "Whom",
}
"""Words that a function's docstring does not begin with: it says first what the function does."""
WITHOUT_CALL = {"property", "lazy_property", "contextmanager"}
KERNELS = [path for kind in ("*.pyx", "*.c", "*.h") for path in sorted((ROOT / "pyx").rglob(kind))]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def refused_in(text):
    """Phrases of a text that are refused, with their lines."""
    lines = enumerate(text.splitlines(), 1)
    return [(number, found[0]) for number, line in lines for found in REFUSED.finditer(line)]


def begun_with_a_noun(source):
    """Functions whose docstrings begin with a noun phrase."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            marks = {getattr(one, "id", getattr(one, "attr", "")) for one in node.decorator_list}
            first = (ast.get_docstring(node) or "x").split()[0].rstrip(",.:;")
            if first in NOUN_PHRASES and not marks & WITHOUT_CALL:
                yield node.name


def test_the_rules_see_what_they_refuse():
    assert refused_in("one\nThe plan is made anew.") == [(2, "anew")]
    assert refused_in("canew, Likeliest") == [(1, "Likeliest")]
    assert list(begun_with_a_noun('def owners():\n    """The owners."""')) == ["owners"]
    assert list(begun_with_a_noun('@property\ndef owners():\n    """The owners."""')) == []
    assert list(begun_with_a_noun('def owners():\n    """Return the owners."""')) == []


@pytest.mark.parametrize(
    "path", [*MODULES.values(), *KERNELS, *PAGES], ids=lambda path: str(path.relative_to(ROOT))
)
def test_no_text_has_a_phrase_that_is_refused(path):
    assert refused_in(path.read_text("utf-8")) == []


@pytest.mark.parametrize("module", MODULES)
def test_docstrings_of_functions_begin_with_what_they_do(module):
    assert list(begun_with_a_noun(MODULES[module].read_text("utf-8"))) == []
