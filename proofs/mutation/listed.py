"""The list of machine-made mutants: every room's part of it, the notes on survivors, and the draw.

A room's part is proportional to its possible mutants, and four at least. A line has the name of a
mutant, its change and, if it survives, ``equivalent: why`` or ``open: why``, between tabs.
"""

from typing import NamedTuple

from checkout import PROOFS, ROOT

from mutation import c_edits, python_edits
from mutation.mutant import named

SEED, SIZE, LEAST = 35, 440, 4
"""420 were drawn, and survivors of a former list were added."""
LIST = PROOFS / "mutation" / "mutants.tsv"
STATES = ("equivalent: ", "open: ")
STRICT = ("strategies", "evaluation", "ownership", "plans", "rebalance", "broker", "pyx")
"""Rooms with the higher goal."""
SMALL = ("_engine",)
"""The package that is too small for a room of its own."""
NOT_HERE = ("isa", "md5_neon", "md5_avx512", "tally_avx512")
"""Kernels that a machine may be unable to run."""
HEAD = """\
# The mutants that `python -m mutation` tries: name, change, and a note on one that survives, between tabs.
# Seed 35. The list stays as it is; `python -m mutation --draw` replaces the lines that the code has left behind. A mutant that
# a new test kills loses its note, and NOTED and OPEN in tests/proofs/test_mutation.py are lowered with it.
"""


class Room(NamedTuple):
    """Files that are changed, by patterns, without those whose names begin in some way."""

    name: str
    sources: tuple[str, ...]
    without: tuple[str, ...] = ()

    def files(self):
        found = sorted(path for pattern in self.sources for path in ROOT.glob(pattern))
        return [path for path in found if not path.name.startswith(self.without or "-")]

    def mutants(self, files=None):
        """Every mutant of the room, or of some of its files."""
        made = []
        for path in self.files():
            file = path.relative_to(ROOT).as_posix()
            if files is None or file in files:
                text = path.read_text(encoding="utf-8")
                is_python = file.endswith(".py")
                made += named(
                    file,
                    text,
                    python_edits.edits_of(text) if is_python else c_edits.edits_of(file, text),
                )
        return made

    def ranked(self, seed):
        """Every mutant of the room in the order of a seed; of C it is known only later whether it
        compiles.
        """
        for one in sorted(self.mutants(), key=lambda mutant: mutant.rank(seed)):
            text = (ROOT / one.file).read_text(encoding="utf-8")
            if not one.file.endswith(".py") or python_edits.compiles(one.applied(text)):
                yield one


class Entry(NamedTuple):
    """A line of the list."""

    key: str
    change: str
    note: str = ""

    @property
    def is_equivalent(self):
        return self.note.startswith("equivalent")


def listed():
    """Read the entries of the list, by name."""
    lines = LIST.read_text(encoding="utf-8").splitlines() if LIST.exists() else []
    return {
        one.key: one
        for one in (Entry(*line.split("\t")) for line in lines if line and not line.startswith("#"))
    }


def rooms():
    """Rooms in the order in which they are tried: those with the higher goal come first."""
    names = sorted(
        path.parent.name
        for path in ROOT.glob("rmqalloc/*/__init__.py")
        if path.parent.name not in SMALL
    )
    made = [
        *(Room(name, (f"rmqalloc/{name}/**/*.py",)) for name in names),
        Room("rmqalloc", ("rmqalloc/*.py", *(f"rmqalloc/{name}/*.py" for name in SMALL))),
        Room("spark_udfs", ("spark_udfs/**/*.py",)),
        Room("pyx", ("pyx/vector/*.c", "pyx/vector/*.h", "pyx/*.h", "pyx/*.pyx"), NOT_HERE),
    ]
    return sorted(made, key=lambda room: room.name not in STRICT)


def parts(sizes, kept):
    """How many mutants each room gives, of which it has some: the next is of the room that has most
    possible ones for each.
    """
    given = {name: max(kept.get(name, 0), LEAST) for name in sizes}
    while sum(given.values()) < SIZE:
        given[max(sizes, key=lambda name: sizes[name] / given[name])] += 1
    return given


def draw():
    """Text of the list: the lines of today's list that still apply, and the next of the seed for
    the others.
    """
    entries, possible = listed(), {room: room.mutants() for room in rooms()}
    changes = {room: {one.key: one.change for one in made} for room, made in possible.items()}
    kept = {
        room: [one for key, one in entries.items() if made.get(key) == one.change]
        for room, made in changes.items()
    }
    given = parts(
        {room: len(made) for room, made in possible.items()},
        {room: len(ones) for room, ones in kept.items()},
    )
    lines = []
    for room, ones in kept.items():
        had, lacking = {one.key for one in ones}, given[room] - len(ones)
        lines += ["\t".join(one).rstrip() for one in ones]
        new = (one for one in room.ranked(SEED) if one.key not in had) if lacking else ()
        lines += [f"{one.key}\t{one.change}" for one, _ in zip(new, range(lacking), strict=False)]
    return HEAD + "\n".join(lines) + "\n"


def of_today():
    """Room and mutant of each entry of the list that applies to today's code, and the entries that
    do not.
    """
    entries, found = listed(), []
    files = {key.split("::")[0] for key in entries}
    for room in rooms():
        made = {one.key: one for one in room.mutants(files)}
        found += [
            (room.name, made[key])
            for key in entries
            if key in made and made[key].change == entries[key].change
        ]
    there = {mutant.key for _, mutant in found}
    return found, [key for key in entries if key not in there]
