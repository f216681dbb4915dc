"""The public names of both packages, one a line; run as a program it writes
tests/data/public-names.txt.

It also writes the list of stable names in docs/reference/stability.md, which is made from that file
alone.
"""

import inspect
from importlib import import_module

from checkout import DATA, ROOT
from source_modules import MODULES

from rmqalloc import rollout

LIST = DATA / "public-names.txt"
PAGE = ROOT / "docs" / "reference" / "stability.md"
BEGIN, END = "<!-- names:begin -->\n", "\n<!-- names:end -->"
NOT_PUBLIC = ("rmqalloc._engine.", "rmqalloc.cli.", "rmqalloc.documents.")
MODULES_OF_USERS = tuple(
    f"spark_udfs.{name}"
    for name in (
        "functions",
        "joins",
        "session",
        "transforms",
    )
)


def rooms():
    """Packages that say what is public."""
    for name, path in MODULES.items():
        if (
            path.name == "__init__.py" and not f"{name}.".startswith(NOT_PUBLIC)
        ) or name in MODULES_OF_USERS:
            module = import_module(name)
            if hasattr(module, "__all__"):
                yield module


def described(thing):
    """A function with its parameters and their defaults, a class or a value as what it is."""
    if inspect.isfunction(thing):
        bare = [
            one.replace(annotation=inspect.Parameter.empty)
            for one in inspect.signature(thing).parameters.values()
        ]
        return str(inspect.Signature(bare))
    return " class" if inspect.isclass(thing) else " value"


def lines():
    """All names in order."""
    named = {
        f"{room.__name__}.{name}": getattr(room, name) for room in rooms() for name in room.__all__
    }
    kinds = {
        f"rmqalloc.rollout.{name}": getattr(rollout, name)
        for name in vars(rollout)
        if not name.startswith("_")
    }
    return sorted(f"{name}{described(thing)}" for name, thing in (named | kinds).items())


def page(text, listed):
    """The page of what is stable, with the names of a list in its table: a row for every room."""
    rooms = {}
    for line in listed:
        room, _, name = line.partition("(")[0].partition(" ")[0].rpartition(".")
        rooms.setdefault(room, []).append(f"`{name}`")
    rows = [f"| `{room}` | {', '.join(names)} |" for room, names in sorted(rooms.items())]
    head, _, rest = text.partition(BEGIN)
    tail = rest.partition(END)[2]
    return (
        head + BEGIN + "\n".join(["| import from | names |", "| --- | --- |", *rows]) + END + tail
    )


if __name__ == "__main__":
    LIST.write_text("\n".join(lines()) + "\n", encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), lines()), encoding="utf-8")
