"""The public names of both packages, one a line; run as a program it writes tests/data/public-names.txt."""

import inspect
from importlib import import_module

from checkout import DATA
from source_modules import MODULES

from rmqalloc import rollout

LIST = DATA / "public-names.txt"
NOT_PUBLIC = ("rmqalloc._engine", "rmqalloc.cli", "rmqalloc.documents", "rmqalloc.store")
MODULES_OF_USERS = tuple(
    f"spark_udfs.{name}"
    for name in ("datasource", "functions", "joins", "session", "sql_server", "streaming", "transforms")
)


def rooms():
    """Packages that say what is public."""
    for name, path in MODULES.items():
        if (path.name == "__init__.py" and not name.startswith(NOT_PUBLIC)) or name in MODULES_OF_USERS:
            module = import_module(name)
            if hasattr(module, "__all__"):
                yield module


def described(thing):
    """A function with its parameters and their defaults, a class or a value as what it is."""
    if inspect.isfunction(thing):
        bare = [one.replace(annotation=inspect.Parameter.empty) for one in inspect.signature(thing).parameters.values()]
        return str(inspect.Signature(bare))
    return " class" if inspect.isclass(thing) else " value"


def lines():
    """All names in order."""
    named = {f"{room.__name__}.{name}": getattr(room, name) for room in rooms() for name in room.__all__}
    kinds = {f"rmqalloc.rollout.{name}": getattr(rollout, name) for name in vars(rollout) if not name.startswith("_")}
    return sorted(f"{name}{described(thing)}" for name, thing in (named | kinds).items())


if __name__ == "__main__":
    LIST.write_text("\n".join(lines()) + "\n", encoding="utf-8")
