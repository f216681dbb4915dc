"""Modules of the two packages and what each of them imports."""

import ast

from checkout import ROOT


def python_modules():
    """The source of every module of the two packages, by dotted name."""
    modules = {}
    for package in ("rmqalloc", "spark_udfs"):
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return modules


MODULES = python_modules()


def imports_of(module, source, is_package, walk=ast.walk):
    """Full names that a module imports anywhere in it, those under TYPE_CHECKING included."""
    for node in walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = module.split(".") if is_package else module.split(".")[:-1]
            start = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*start, *([node.module] if node.module else [])])
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def imports(module, walk=ast.walk):
    return imports_of(module, MODULES[module].read_text(), MODULES[module].name == "__init__.py", walk)
