"""The fixed list of mutants of all rooms, and the draw that made it.

A room's part of the list is proportional to its possible mutants, and two at least.
"""

from checkout import PROOFS, ROOT
from mutation import survivors
from mutation.rooms import BY_NAME, Room

SEED, SIZE, LEAST = 35, 138, 2
LIST = PROOFS / "strength" / "mutants.tsv"
SMALL = ("_engine", "examples", "whatif")
"""Packages that are too small for a room of their own."""
HEAD = """\
# The mutants that `python -m strength` tries: name, change, and a note on a survivor, between tabs.
# Seed 35. The list stays as it is; `python -m strength --draw` replaces the lines that the code has left behind.
"""


def all_rooms():
    """Rooms in the order in which they are tried: those that may lose nothing come first."""
    names = sorted(path.parent.name for path in ROOT.glob("rmqalloc/*/__init__.py") if path.parent.name not in SMALL)
    alone = [Room(name, (f"rmqalloc/{name}/**/*.py",), (), 0) for name in names]
    rest = Room("rmqalloc", ("rmqalloc/*.py", *(f"rmqalloc/{name}/*.py" for name in SMALL)), (), 0)
    kernels = BY_NAME["pyx"]._replace(without=("isa", "md5_neon", "md5_avx512", "tally_avx512"))
    made = [*alone, rest, Room("spark_udfs", ("spark_udfs/**/*.py",), (), 0), kernels]
    return sorted(made, key=lambda room: room.name not in STRICT)


STRICT = ("plans", "strategies", "rebalance", "pyx")
"""Rooms of which the quick tier may miss nothing that the other tests kill."""


def parts(sizes, kept):
    """How many mutants each room gives, of which it has some: the next is of the room that has most possible ones for each."""
    given = {name: max(kept.get(name, 0), LEAST) for name in sizes}
    while sum(given.values()) < SIZE:
        given[max(sizes, key=lambda name: sizes[name] / given[name])] += 1
    return given


def draw():
    """Text of the list: the lines of today's list that still apply, and the next of the seed for the others."""
    listed = survivors.listed(LIST) if LIST.exists() else {}
    possible = {room: room.mutants() for room in all_rooms()}
    there = {room: {one.key: one.change for one in made} for room, made in possible.items()}
    kept = {room: [one for key, one in listed.items() if made.get(key) == one.change] for room, made in there.items()}
    given = parts(
        {room: len(made) for room, made in possible.items()}, {room: len(ones) for room, ones in kept.items()}
    )
    lines = []
    for room, ones in kept.items():
        lines += ["\t".join(one).rstrip() for one in ones]
        if lacking := given[room] - len(ones):
            had = {one.key for one in ones}
            new = [one for one in room.sampled(SEED, given[room] + len(ones), at_bounds=0) if one.key not in had]
            lines += [f"{one.key}\t{one.change}" for one in new[:lacking]]
    return HEAD + "\n".join(lines) + "\n"


def of_today():
    """Room and mutant of each entry of the list that applies to today's code, and the entries that do not."""
    listed, found = survivors.listed(LIST), []
    files = {key.split("::")[0] for key in listed}
    for room in all_rooms():
        made = {one.key: one for one in room.mutants(files)}
        found += [(room, made[key]) for key in listed if key in made and made[key].change == listed[key].change]
    there = {mutant.key for _, mutant in found}
    return found, [key for key in listed if key not in there]
