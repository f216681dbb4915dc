"""Text that a user can see: docstrings of public names, strings of code, pages.

A docstring is public if its name and the names around it have no leading underscore and if its
module is public or an ``__init__.py`` names it. A string counts if it holds two words in a row.
`prose` blanks code and keeps the number of lines, so a line of a text is a line of its file.
"""

import ast
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

CODE = [
    re.compile(r"^ *(```|~~~).*?^ *\1[^\n]*$", re.MULTILINE | re.DOTALL),
    re.compile(r"<!--.*?-->", re.DOTALL),
    re.compile(r"^ *>>>[^\n]*(?:\n[^\n]*\S[^\n]*)*", re.MULTILINE),
    re.compile(r"(?<=::\n)\n*( +)\S[^\n]*(?:\n+\1[^\n]*)*"),
    re.compile(r"(?<=\]\()[^)\s]*"),
    re.compile(r"(?<!`)https?://[^\s`]+"),
]
INLINE = re.compile(r"(`+)[^`]+\1")
TWO_WORDS = re.compile(r"[A-Za-z]{2,},? [A-Za-z]{2,}")
DEFINITION = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Text(NamedTuple):
    """A text, its file, the line it begins at, and its kind: docstring, string or page."""

    path: Path
    line: int
    kind: str
    text: str


def blank_lines(match: re.Match) -> str:
    return "\n" * match.group().count("\n")


def prose(text: str) -> str:
    """Blank blocks of code and targets of links; write code inside a sentence as ``CODE``."""
    for pattern in CODE:
        text = pattern.sub(blank_lines, text)
    return INLINE.sub(lambda match: "CODE" + blank_lines(match), text)


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def docstring(node: ast.AST) -> ast.Constant | None:
    """Return the docstring of a module, a class or a function; None if it has none."""
    first = node.body[0] if node.body else None
    return first.value if isinstance(first, ast.Expr) and is_text(first.value) else None


def definitions(node: ast.AST) -> Iterator[ast.AST]:
    """Find the classes and functions of a module or a class, at any depth of blocks."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, DEFINITION):
            yield child
        elif not isinstance(child, ast.expr):
            yield from definitions(child)


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def public_below(node: ast.AST) -> Iterator[ast.AST]:
    """A definition and the public definitions of its body; what a function defines is private."""
    yield node
    if isinstance(node, ast.ClassDef):
        for inner in definitions(node):
            if not is_private(inner.name):
                yield from public_below(inner)


def exported(folder: Path) -> set[str]:
    """Names that an ``__init__.py`` below a folder imports or writes as a string."""
    found = set()
    for path in sorted(folder.rglob("__init__.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.alias):
                found.add(node.asname or node.name)
            elif is_text(node):
                found.add(node.value)
    return found


def public_docstrings(module: ast.Module, path: Path, names: set[str]) -> Iterator[ast.Constant]:
    public = not is_private(path.stem)
    described = [module] if public else []
    for node in definitions(module):
        if not is_private(node.name) and (public or node.name in names):
            described += public_below(node)
    yield from filter(None, map(docstring, described))


def of_module(path: Path, names: set[str]) -> Iterator[Text]:
    """Texts of a module, in the order of its lines."""
    module = ast.parse(path.read_text(encoding="utf-8"))
    expressions = [node.value for node in ast.walk(module) if isinstance(node, ast.Expr)]
    left_out = {id(value) for value in expressions if is_text(value)}
    strings = [node for node in ast.walk(module) if is_text(node) and id(node) not in left_out]
    kinds = [("docstring", node) for node in public_docstrings(module, path, names)]
    kinds += [("string", node) for node in strings if TWO_WORDS.search(node.value)]
    for kind, node in sorted(kinds, key=lambda pair: pair[1].lineno):
        yield Text(path, node.lineno, kind, prose(node.value))


def of_package(folder: Path) -> list[Text]:
    """Texts of the modules below a folder; folders named ``tests`` are left out."""
    names = exported(folder)
    found = sorted(folder.rglob("*.py"))
    modules = [path for path in found if "tests" not in path.relative_to(folder).parts]
    return list(chain.from_iterable(of_module(path, names) for path in modules))


def of_page(path: Path) -> Text:
    return Text(path, 1, "page", prose(path.read_text(encoding="utf-8")))


def of_pages(paths: list[Path]) -> list[Text]:
    """Texts of Markdown pages: files, and all below folders."""
    found = (sorted(path.rglob("*.md")) if path.is_dir() else [path] for path in paths)
    return [of_page(path) for path in chain.from_iterable(found)]


def of_readme(folder: Path) -> list[Text]:
    """The README of an installed distribution: what follows the headers of its ``METADATA``."""
    texts = []
    for path in sorted(folder.glob("*.dist-info/METADATA")):
        headers, _, readme = path.read_text(encoding="utf-8").partition("\n\n")
        texts.append(Text(path, headers.count("\n") + 3, "page", prose(readme)))
    return texts
