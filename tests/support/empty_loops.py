"""Tests that pass where there is nothing to look at: every assert stands in a loop over what may be
empty.
"""

import ast

from checkout import ROOT

SAME_LENGTH = {"dict", "enumerate", "list", "product", "reversed", "set", "sorted", "tuple", "zip"}
"""Calls that give something where each of their arguments has something."""
ITEMS = {"items", "keys", "values"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def is_filled(what, named):
    """Is it visible that this is not empty: a literal, a constant, a range of constants, or what is
    made of them?
    """
    match what:
        case ast.Constant():
            return True
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            return any(not isinstance(part, ast.Starred) for part in parts)
        case ast.Dict(keys=keys):
            return any(key is not None for key in keys)
        case ast.Name(id=name) | ast.Attribute(attr=name) if name.isupper():
            return True
        case ast.Name(id=name) if name in named:
            return is_filled(named[name], {})
        case ast.ListComp(generators=loops):
            return all(is_filled(loop.iter, named) and not loop.ifs for loop in loops)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return is_filled(left, named) or is_filled(right, named)
        case ast.Call(func=ast.Name(id="range"), args=bounds):
            return all(isinstance(bound, ast.Constant) for bound in bounds)
        case ast.Call(func=ast.Attribute(value=of, attr=attr), args=[]) if attr in ITEMS:
            return is_filled(of, named)
        case ast.Call(func=ast.Name(id=name), args=parts) if name in SAME_LENGTH and parts:
            return all(is_filled(part, named) for part in parts)
    return False


def is_assert(node):
    """An assert, a block that must raise or warn, or an assumption, as hypothesis fails a test for
    which none holds.
    """
    if isinstance(node, ast.Expr):
        return ast.unparse(node).startswith("assume(")
    if isinstance(node, ast.With):
        return any(
            ast.unparse(item).startswith(("pytest.raises", "pytest.warns")) for item in node.items
        )
    return isinstance(node, ast.Assert)


def asserts(node, named, may_be_left_out=False):
    """Whether each assert below a node may be left out, as the loop around it may have nothing to
    do.
    """
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (*FUNCTIONS, ast.Lambda)):
            continue
        if is_assert(child):
            yield may_be_left_out
        is_loop = isinstance(child, (ast.For, ast.AsyncFor)) and not is_filled(child.iter, named)
        yield from asserts(child, named, may_be_left_out or is_loop or isinstance(child, ast.While))


def found(text):
    """Names of the tests of a file that pass where there is nothing to look at.

    >>> loop = "    for one in {}:\\n        assert one"
    >>> found("def test_a():\\n" + loop.format("listed()"))
    ['test_a']
    >>> found("def test_a():\\n    assert listed()\\n" + loop.format("listed()"))
    []
    >>> found("def test_a():\\n    some = 1, 2\\n" + loop.format("enumerate(some)"))
    []
    """
    tests = [
        one
        for one in ast.walk(ast.parse(text))
        if isinstance(one, FUNCTIONS) and one.name.startswith("test_")
    ]
    left_out = {test.name: [*asserts(test, literals(test))] for test in tests}
    return [name for name, each in left_out.items() if each and all(each)]


def literals(test):
    """What a test gives names to, once each."""
    given = [
        (node.targets[0], node.value) for node in ast.walk(test) if isinstance(node, ast.Assign)
    ]
    names = [target.id for target, _ in given if isinstance(target, ast.Name)]
    return {
        one.id: value
        for one, value in given
        if isinstance(one, ast.Name) and names.count(one.id) == 1
    }


def of_the_suite():
    """All of them, as path and name."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return [
        f"{path.relative_to(ROOT)}::{name}"
        for path in files
        for name in found(path.read_text("utf-8"))
    ]
