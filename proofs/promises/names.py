"""Public names, with what their docstrings promise: a summary, and the errors that they raise."""

import inspect
import pydoc
import re
from dataclasses import is_dataclass
from enum import Enum
from functools import cache
from typing import NamedTuple

import public_names
from checkout import ROOT

from promises import sentences

PROMPT = ">" * 3 + " "
"""Written so that this module does not seem to have examples."""
SECTION = re.compile(r"^Raises\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|^>>>|\Z)", re.MULTILINE | re.DOTALL)
ENTRY = re.compile(r"^(\S.*)\n((?:[ \t]+.*\n?|\n(?=[ \t]))*)", re.MULTILINE)


class Name(NamedTuple):
    """A public function or class: its shortest name, what it is, and the code of it as keys of
    mutants begin.
    """

    name: str
    thing: object
    code: str

    @property
    def docstring(self):
        return inspect.getdoc(self.thing) or ""

    @property
    def has_example(self):
        """Whether its docstring or that of one of its own methods has an example."""
        parts = [self.thing, *(vars(self.thing).values() if inspect.isclass(self.thing) else ())]
        return any(
            PROMPT in (getattr(getattr(one, "fget", one), "__doc__", None) or "") for one in parts
        )

    @property
    def is_definition(self):
        """Whether its summary says only what it stands for: an error, a value of several fields,
        one of several values.
        """
        kinds = (BaseException, Enum, tuple)
        return inspect.isclass(self.thing) and (
            issubclass(self.thing, kinds) or is_dataclass(self.thing)
        )

    @property
    def summary(self):
        return sentences.plain(self.docstring.partition("\n\n")[0])

    def raises(self):
        """Yield the errors of each entry below ``Raises``, and when they are raised."""
        section = SECTION.search(self.docstring)
        for kinds, when in ENTRY.findall(section[1] if section else ""):
            yield (
                tuple(kind.strip(" `").rpartition(".")[2] for kind in kinds.split(",")),
                sentences.plain(when),
            )


def public():
    """Return the public functions and classes in order; one that several rooms show stands there
    once.
    """
    found = {}
    for room in public_names.rooms():
        for name in room.__all__:
            thing = getattr(room, name)
            if inspect.isfunction(thing) or inspect.isclass(thing):
                path = ROOT / f"{thing.__module__.replace('.', '/')}.py"
                path = path if path.exists() else path.with_suffix("") / "__init__.py"
                one = Name(
                    f"{room.__name__}.{name}",
                    thing,
                    f"{path.relative_to(ROOT)}::{thing.__qualname__}",
                )
                found[thing] = min(
                    found.get(thing, one), one, key=lambda one: (len(one.name), one.name)
                )
    return sorted(found.values(), key=lambda one: one.name)


def docstring_of(name):
    """Return the docstring of a dotted name, such as a method of a public class; None if there is
    no such name.
    """
    for room in sorted(public_names.rooms(), key=lambda room: -len(room.__name__)):
        if f"{name}.".startswith(f"{room.__name__}."):
            thing = room
            for part in name[len(room.__name__) + 1 :].split(".") if name != room.__name__ else ():
                thing = inspect.getattr_static(thing, part, None)
            return inspect.getdoc(getattr(thing, "fget", None) or thing)
    return None


def subclasses(kind):
    """Yield a class and all that derive from it."""
    yield kind
    for one in kind.__subclasses__():
        yield from subclasses(one)


def errors():
    """Return all classes of errors that are loaded, by their bare name."""
    return {kind.__name__: kind for kind in subclasses(Exception)} | {"OSError": OSError}


@cache
def called(whole):
    """Return what a whole name stands for; None for what is not of the packages."""
    return pydoc.locate(whole) if whole.startswith(("rmqalloc.", "spark_udfs.")) else None


def is_kind_of(raised, promised, known):
    """Whether an error that a test sees is of one of the promised kinds."""
    kinds = [known[name] for name in promised if name in known]
    return raised in promised or (raised in known and issubclass(known[raised], tuple(kinds)))
