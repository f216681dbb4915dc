"""Style measures of Python source, beside six known projects: printed, never enforced.

    python -m style_measures [--beside FOLDER | --fetch FOLDER] [--worst N] [--prose PATH] [PATH ...]

Projects compare because a copy of each is formatted alike, with lines of 100 columns, before it is
measured. Folders named ``tests`` are left out. Terms:

line of code
    A line that holds a token of code. Comments, docstrings, line ends and indents are no code.
statement
    A statement that holds expressions and no block: an assignment, an expression, ``return``,
    ``raise``, ``assert`` or ``del``.
depth of a statement
    Levels of its syntax tree as `ast` makes it, statement and leaves included: ``a = b`` has 3
    (Assign, Name, Store), ``a = f(b.c)`` has 5. Each expression inside an expression adds one.
tangled comprehension
    One with two or more ``for``, or inside another comprehension.
score of a function
    The sum of three shares: of all functions, those whose deepest statement is less deep, those
    with fewer tangled comprehensions, and those with fewer tokens per line of code. The third is 0
    for a function below 8 lines of code, where one long line is most of the figure. ``--worst``
    measures the source as it is, so line numbers are those of the source.

A second table measures the text that a user sees: public docstrings, strings of two words or more,
and pages without their code (README.md and docs, or each PATH of ``--prose``). Of a known project
the only page is the README that its wheel holds.

word
    A run of letters and apostrophes; code inside a sentence is one word.
sentence
    Words of a docstring or a page up to a period, a question mark or an exclamation mark, within
    one paragraph, item of a list or cell of a table. What has no such end is no sentence.
inverted beginning
    A sentence that begins with "Of", or with "In", "At", "On", "To", "From" or "Under", a few
    words, a comma and a pronoun.
`what` in a statement
    The word in a sentence that does not end with a question mark.

Python 3.12 splits an f-string into tokens and Python 3.11 does not: compare figures of one Python.
"""

import argparse
import ast
import io
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import tokenize
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from visible_text import Text, of_package, of_pages, of_readme

PACKAGES = [Path("rmqalloc"), Path("spark_udfs")]
PAGES = [Path("README.md"), Path("docs")]
KNOWN = "structlog==26.1.0 httpx==0.28.1 attrs==26.1.0 h3==4.5.0 click==8.5.1 numcodecs==0.16.6"
FORMAT = ["-m", "ruff", "format", "--quiet", "--isolated", "--no-cache", "--line-length", "100"]
INSTALL = ["-m", "pip", "install", "--quiet", "--no-deps", "--upgrade", "--target"]

LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
LAYOUT |= {tokenize.ENDMARKER}
ASSIGNMENT = (ast.Assign, ast.AugAssign, ast.AnnAssign)
STATEMENT = (*ASSIGNMENT, ast.Expr, ast.Return, ast.Raise, ast.Assert, ast.Delete)
COMPREHENSION = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
FOR = (ast.For, ast.AsyncFor, ast.comprehension)
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
SHORTEST_RANKED = 8  # lines of code

WORD = re.compile(r"[A-Za-z][A-Za-z']*")
WORD_GROUPS = {
    "one, ones, other, others, theirs": r"ones?|others?|theirs",
    "say, tell, ask, hear": r"said|says?|told|tells?|asked|asks?|heard|hears?",
    "house, door, floor, room": r"houses?|doors?|floors?|(?<!machine )rooms?",
    "nobody": r"nobody(?:'s)?",
    "stands": r"stands?",
}
END = re.compile(r"(?<=[.?!])[\"')*_]*\s+(?=[A-Z`*\"'(])")
PARAGRAPH = re.compile(r"\n\s*\n|\n\s*(?:[-*#>]+|\d+\.) |\|")
INVERTED = re.compile(
    r"Of\s|(?:In|At|On|To|From|Under)\s[^,.]{1,60},\s(?:it|they|there|its|their|that|this)\b"
)
WHAT = re.compile(r"\bwhat\b", re.IGNORECASE)

Figures = dict[str, float]


class Module(NamedTuple):
    """One file; its tokens are those of code."""

    path: Path
    tree: ast.Module
    tokens: list[tokenize.TokenInfo]
    n_lines: int


def is_docstring(node: ast.AST) -> bool:
    constant = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return constant and isinstance(node.value.value, str)


def read(path: Path) -> Module:
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    docstrings = [node for node in ast.walk(tree) if is_docstring(node)]
    described = set().union(*(range(node.lineno, node.end_lineno + 1) for node in docstrings))
    tokens = [
        token
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type not in LAYOUT and token.start[0] not in described
    ]
    return Module(path, tree, tokens, len(source.splitlines()))


def python_files(folder: Path) -> list[Path]:
    found = sorted(folder.rglob("*.py"))
    return [path for path in found if "tests" not in path.relative_to(folder).parts]


def read_all(folders: list[Path]) -> list[Module]:
    return [read(path) for path in chain.from_iterable(map(python_files, folders))]


def read_formatted(folders: list[Path]) -> list[Module]:
    """Read the modules of a formatted copy."""
    with tempfile.TemporaryDirectory() as work:
        copies = [Path(work, str(number)) for number in range(len(folders))]
        for folder, copy in zip(folders, copies, strict=True):
            shutil.copytree(folder, copy)
        subprocess.run([sys.executable, *FORMAT, work], check=True)
        return read_all(copies)


def n_code_lines(tokens: list[tokenize.TokenInfo]) -> int:
    """Count lines that tokens stand on; a string of several lines stands on each."""
    return len(set().union(*(range(token.start[0], token.end[0] + 1) for token in tokens)))


def depth(node: ast.AST) -> int:
    return 1 + max((depth(child) for child in ast.iter_child_nodes(node)), default=0)


def depths(nodes: list[ast.AST]) -> list[int]:
    """Depth of each statement among the nodes."""
    statements = (node for node in nodes if isinstance(node, STATEMENT))
    return [depth(node) for node in statements if not is_docstring(node)]


def with_two_for(nodes: list[ast.AST]) -> set[ast.AST]:
    comprehensions = (node for node in nodes if isinstance(node, COMPREHENSION))
    return {node for node in comprehensions if len(node.generators) > 1}


def inside_another(nodes: list[ast.AST]) -> set[ast.AST]:
    """Comprehensions that stand anywhere inside another comprehension."""
    found = set()
    for outer in (node for node in nodes if isinstance(node, COMPREHENSION)):
        inner = {node for node in ast.walk(outer) if isinstance(node, COMPREHENSION)}
        found |= inner - {outer}
    return found


def target_names(nodes: list[ast.AST]) -> Iterator[str]:
    """Names that a ``for`` binds, in a statement or a comprehension."""
    for target in (node.target for node in nodes if isinstance(node, FOR)):
        yield from (node.id for node in ast.walk(target) if isinstance(node, ast.Name))


def measure(modules: list[Module]) -> Figures:
    """Measure a project: counts are whole numbers; only what compares is a float."""
    nodes = list(chain.from_iterable(ast.walk(module.tree) for module in modules))
    n_lines = sum(n_code_lines(module.tokens) for module in modules)
    figures: Figures = {
        "lines of code": n_lines,
        "tokens per line of code": sum(len(module.tokens) for module in modules) / n_lines,
        "mean depth of a statement": statistics.mean(depths(nodes)),
    }
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    counts = {
        "comprehensions": sum(isinstance(node, COMPREHENSION) for node in nodes),
        "comprehensions with two or more `for`": len(with_two_for(nodes)),
        "comprehensions inside another": len(inside_another(nodes)),
        "calls with over five positional arguments": sum(len(call.args) > 5 for call in calls),
    }
    for name, count in counts.items():
        figures |= {name: count, f"{name}, per 1,000 lines": 1000 * count / n_lines}
    names = Counter(target_names(nodes))
    figures |= {f"`for` targets named `{name}`": names[name] for name in ("one", "each", "other")}
    sizes = {
        "modules under 100 lines": sum(module.n_lines < 100 for module in modules),
        "modules of 150 to 500 lines": sum(150 <= module.n_lines <= 500 for module in modules),
    }
    figures["modules"] = len(modules)
    for name, count in sizes.items():
        figures |= {name: count, f"{name}, in %": 100 * count / len(modules)}
    return figures


def sentences(texts: list[Text]) -> Iterator[str]:
    """Sentences of docstrings and pages; strings are mostly pieces of sentences."""
    whole = (text.text for text in texts if text.kind != "string")
    paragraphs = chain.from_iterable(map(PARAGRAPH.split, whole))
    pieces = chain.from_iterable(map(END.split, paragraphs))
    yield from (piece.strip() for piece in pieces if piece.rstrip().endswith((".", "?", "!")))


def measure_words(texts: list[Text]) -> Figures:
    """Measure texts: counts are whole numbers; only what compares is a float."""
    n_words = sum(len(WORD.findall(text.text)) for text in texts)
    found = list(sentences(texts))
    per_thousand = {
        name: sum(len(re.findall(rf"\b(?:{words})\b", text.text, re.I)) for text in texts)
        for name, words in WORD_GROUPS.items()
    }
    statements = (sentence for sentence in found if not sentence.endswith("?"))
    per_thousand["`what` in a statement"] = sum(len(WHAT.findall(s)) for s in statements)
    per_thousand["inverted beginnings"] = sum(bool(INVERTED.match(s)) for s in found)
    figures: Figures = {"words of text": n_words}
    figures |= {name: 1000 * count / n_words for name, count in per_thousand.items()}
    lengths = [len(WORD.findall(sentence)) for sentence in found]
    return figures | {"sentences": len(found), "words a sentence": statistics.mean(lengths or [0])}


class Function(NamedTuple):
    """Figures of a function, functions inside it included."""

    place: str
    depth: int
    tangled: int
    density: float


def functions(module: Module) -> Iterator[Function]:
    for function in (node for node in ast.walk(module.tree) if isinstance(node, FUNCTION)):
        nodes = list(ast.walk(function))
        lines = range(function.lineno, function.end_lineno + 1)
        tokens = [token for token in module.tokens if token.start[0] in lines]
        n_lines = n_code_lines(tokens)
        yield Function(
            place=f"{module.path}:{function.lineno} {function.name}",
            depth=max(depths(nodes), default=0),
            tangled=len(with_two_for(nodes) | inside_another(nodes)),
            density=len(tokens) / n_lines if n_lines >= SHORTEST_RANKED else 0.0,
        )


def shares_below(figures: list[float]) -> list[float]:
    """For each figure, the share of all figures that are lower."""
    ordered = sorted(figures)
    return [bisect_left(ordered, figure) / len(ordered) for figure in figures]


def worst(modules: list[Module], number: int) -> list[list[str]]:
    """Rows of the functions with the highest scores."""
    found = list(chain.from_iterable(functions(module) for module in modules))
    by_depth = shares_below([function.depth for function in found])
    by_tangled = shares_below([function.tangled for function in found])
    by_density = shares_below([function.density for function in found])
    scores = map(sum, zip(by_depth, by_tangled, by_density, strict=True))
    rows = [["function", "score", "depth", "tangled comprehensions", "tokens per line"]]
    for score, function in sorted(zip(scores, found, strict=True), reverse=True)[:number]:
        place, *figures = function
        rows.append([place, f"{score:.3f}", *map(written, figures)])
    return rows


def written(figure: float) -> str:
    """Write a count in full and any other figure with two decimals."""
    return f"{figure:,}" if isinstance(figure, int) else f"{figure:.2f}"


def compare(title: str, here: Figures, known: dict[str, Figures]) -> list[list[str]]:
    """Rows of measures; ``ratio`` is a figure here over the mean of the known projects."""
    rows = [[title, "here", *known, "ratio"]]
    for name, figure in here.items():
        others = [figures[name] for figures in known.values()]
        compares = isinstance(figure, float) and any(others)
        ratio = f"{figure / statistics.mean(others):.1f}" if compares else ""
        rows.append([name, *map(written, [figure, *others]), ratio])
    return rows


def markdown(rows: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    lines = []
    for first, *others in [rows[0], rule, *rows[1:]]:
        cells = map(str.rjust, others, widths[1:])
        lines.append(" | ".join([first.ljust(widths[0]), *cells]))
    return "\n".join(f"| {line} |" for line in lines)


def fetch(folder: Path) -> None:
    """Install each known project into a folder of its own, without what it depends on."""
    for requirement in KNOWN.split():
        target = folder / requirement.partition("==")[0]
        subprocess.run([sys.executable, *INSTALL, target, requirement], check=True)


def main(arguments: list[str] | None = None) -> None:
    summary, _, _ = __doc__.partition("\n")
    parser = argparse.ArgumentParser(prog="python -m style_measures", description=summary)
    parser.add_argument("--beside", type=Path, help="folder with one folder per known project")
    parser.add_argument("--fetch", type=Path, help="fill such a folder from PyPI, and use it")
    parser.add_argument(
        "--worst", type=int, metavar="N", help="print the N worst functions instead"
    )
    parser.add_argument(
        "--prose", type=Path, action="append", metavar="PATH", help="a page, or a folder of pages"
    )
    parser.add_argument("paths", type=Path, nargs="*", metavar="PATH", default=PACKAGES)
    options = parser.parse_args(arguments)
    if options.fetch:
        fetch(options.fetch)
    beside = options.fetch or options.beside
    projects = sorted(beside.glob("*/")) if beside else []
    given = [*options.paths, beside] if beside else options.paths
    for folder in [*given, *projects]:
        if not python_files(folder):
            parser.error(f"no .py files below {folder}: give a folder of Python source")
    if options.worst:
        print(markdown(worst(read_all(options.paths), options.worst)))
        return
    known = {folder.name: measure(read_formatted([folder])) for folder in projects}
    print(markdown(compare("measure", measure(read_formatted(options.paths)), known)))
    here = [*chain.from_iterable(map(of_package, options.paths)), *of_pages(options.prose or PAGES)]
    words = {path.name: measure_words([*of_package(path), *of_readme(path)]) for path in projects}
    print()
    print(markdown(compare("per 1,000 words of text", measure_words(here), words)))


if __name__ == "__main__":
    main()
