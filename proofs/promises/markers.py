"""Read from the source of the tests which promise each test holds."""

import ast
from functools import cache
from typing import NamedTuple

from checkout import ROOT


class Marker(NamedTuple):
    """``@pytest.mark.holds(where, words)`` above a test: words of a page or of a docstring."""

    test: str
    where: str
    words: str


class Raises(NamedTuple):
    """A test's ``with pytest.raises(error)`` around a call of something that its file imports, by
    its whole name.
    """

    test: str
    called: str
    error: str


def last_name(node):
    """Return the name that an expression such as ``pytest.mark.holds`` ends in."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def markers_of(test, node):
    """Yield the markers above a function or a class."""
    for one in node.decorator_list:
        if isinstance(one, ast.Call) and last_name(one.func) == "holds":
            yield Marker(test, *map(ast.literal_eval, one.args))


def called_in(node):
    """Yield the calls of a block as it writes them, without those of their arguments."""
    if isinstance(node, ast.Call):
        yield ast.unparse(node.func)
        yield from called_in(node.func)
    else:
        for one in ast.iter_child_nodes(node):
            yield from called_in(one)


def imports_of(tree):
    """Return the whole names behind the names that a file imports, wherever it does."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {
                one.asname or one.name.partition(".")[0]: one.asname and one.name
                for one in node.names
            }
        elif isinstance(node, ast.ImportFrom):
            found |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
    return {name: whole or name for name, whole in found.items()}


def raises_of(test, node, imported):
    """Yield the calls that a function makes under ``pytest.raises``."""
    for block in ast.walk(node):
        for item in block.items if isinstance(block, ast.With) else ():
            opened = item.context_expr
            if isinstance(opened, ast.Call) and last_name(opened.func) == "raises" and opened.args:
                errors = (
                    opened.args[0].elts
                    if isinstance(opened.args[0], ast.Tuple)
                    else [opened.args[0]]
                )
                calls = {called for line in block.body for called in called_in(line)}
                for before, dot, after in (called.partition(".") for called in calls):
                    if before in imported:
                        whole = imported[before] + dot + after
                        yield from (Raises(test, whole, last_name(error)) for error in errors)


def found_in(path, source):
    """Yield the markers and raised errors of one file of tests."""
    tree = ast.parse(source)
    imported = imports_of(tree)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            and node.name.lower()[:4] == "test"
        ):
            test = f"{path}::{node.name}"
            yield from markers_of(test, node)
            yield from raises_of(test, node, imported)


@cache
def of_tests():
    """Return the markers of all tests, and what they see raised."""
    found = [
        one
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        for one in found_in(path.relative_to(ROOT), path.read_text(encoding="utf-8"))
    ]
    return [one for one in found if isinstance(one, Marker)], [
        one for one in found if isinstance(one, Raises)
    ]
