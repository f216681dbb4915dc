"""Modules of the two packages and what each of them imports."""

import ast

from checkout import ROOT

BANDS = {
    "ground": "dataclass version errors text lazy model documents results",
    "engine": "_engine fleet strategies",
    "client": "remoting broker rebalance client",
    "cluster": "snapshot scenarios evidence",
    "ownership": "evaluation ownership",
    "planning": "plans rollouts simulation audit",
    "faces": "spark_udfs.* spark_udfs.job spark_udfs watching history report rmqalloc service cli __main__",
}
"""Rooms by band, lowest first: a room imports only from rooms that stand before it. `rmqalloc` and
`spark_udfs` alone are the two packages' `__init__`; `spark_udfs.*` is all of its modules but the job.
"""

_PACKAGES = ("rmqalloc", "spark_udfs", "spark_udfs.*", "spark_udfs.job")
ROOMS = [
    room if room in _PACKAGES else f"rmqalloc.{room}"
    for band in BANDS.values()
    for room in band.split()
]


def python_modules(root=ROOT):
    """The source of every module of the two packages, by dotted name."""
    modules = {}
    for package in ("rmqalloc", "spark_udfs"):
        for path in sorted((root / package).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
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
    return imports_of(
        module, MODULES[module].read_text(), MODULES[module].name == "__init__.py", walk
    )


def as_module(name, modules=MODULES):
    """The module that an imported name comes from."""
    return name if name in modules else name.rpartition(".")[0]


def needs_of(modules):
    """What every module imports anywhere in it, by module."""
    needs = {}
    for name, path in modules.items():
        found = imports_of(name, path.read_text(), path.name == "__init__.py")
        needs[name] = ({as_module(one, modules) for one in found} - {name}) & modules.keys()
    return needs


def circles(needs):
    """What is left when modules that need nothing of the rest, or are not needed by it, are taken
    away again and again.
    """
    while True:
        needed = set().union(*needs.values()) if needs else set()
        kept = {
            module: others & needs.keys()
            for module, others in needs.items()
            if others & needs.keys() and module in needed
        }
        if kept.keys() == needs.keys():
            return kept
        needs = kept
