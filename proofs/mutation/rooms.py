"""The rooms that mutants are made of, how many of each, and the tests that have to notice them."""

from typing import NamedTuple

from checkout import ROOT

from mutation import c_edits, python_edits
from mutation.mutant import named

BOUNDS = ("< to <=", "<= to <", "> to >=", ">= to >")


class Room(NamedTuple):
    """Files that are changed, and tests that look at them.

    Attributes
    ----------
    name : str
    sources : tuple of str
        Patterns of files.
    tests : tuple of str
        Files and folders of tests, those that look closest first. Tests that start servers are left out.
    sample : int
        How many mutants are tried.
    without : tuple of str
        Beginnings of names of files that are left out.
    reached_alone : bool
        Take only mutants that these tests reach: what runs in a Spark session alone is no part of the sample.
    """

    name: str
    sources: tuple[str, ...]
    tests: tuple[str, ...]
    sample: int
    without: tuple[str, ...] = ()
    reached_alone: bool = False

    @property
    def is_compiled(self):
        return self.name == "pyx"

    def files(self):
        found = sorted(path for pattern in self.sources for path in ROOT.glob(pattern))
        return [path for path in found if not path.name.startswith(self.without or "-")]

    def mutants(self, files=None):
        """Every mutant of the room, or of some of its files."""
        made = []
        for path in self.files():
            text, file = path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix()
            if files is not None and file not in files:
                continue
            edits = c_edits.edits_of(file, text) if self.is_compiled else python_edits.edits_of(text)
            made += named(file, text, edits)
        return made

    def sampled(self, seed, n, at_bounds=None):
        """The sample of a seed: `n` mutants; half of them, or `at_bounds`, are comparisons at their bound, if possible."""
        at_bounds = n // 2 if at_bounds is None else at_bounds
        ranked = sorted(self.mutants(), key=lambda mutant: mutant.rank(seed))
        bounds = [mutant for mutant in ranked if mutant.edit.operator in BOUNDS and self.is_program(mutant)][:at_bounds]
        taken = {mutant.key: mutant for mutant in bounds}
        for mutant in ranked:
            if len(taken) == n:
                break
            if mutant.key not in taken and self.is_program(mutant):
                taken[mutant.key] = mutant
        return list(taken.values())

    def is_program(self, mutant):
        """Is what it makes of a file a program? Of C that is known when it is compiled."""
        text = (ROOT / mutant.file).read_text(encoding="utf-8")
        return self.is_compiled or python_edits.compiles(mutant.applied(text))


SAMPLE = 12
"""Mutants of a room of Python."""


def within(folder, *names):
    return tuple(f"tests/{folder}/test_{name}.py" for name in names)


def python_room(name, *tests):
    return Room(name, (f"rmqalloc/{name}/**/*.py",), tests, SAMPLE)


# Of the kernels those are left out that a machine may be unable to run.
ROOMS = (
    python_room("scenarios", "tests/scenarios", *within("plans", "plans")),
    python_room(
        "evaluation",
        *within("evaluation", "limits_and_ties", "evaluate", "carried", "plan_batch", "plan_before", "bulk_strategies"),
        *within("house", "edges"),
        *within("plans", "plans"),
    ),
    python_room(
        "plans",
        "tests/ownership",
        *within("plans", "limits_and_ties", "compare", "explain", "gates_file", "undo", "plans", "plan_transitions"),
    )._replace(sources=("rmqalloc/plans/**/*.py", "rmqalloc/ownership/**/*.py")),
    python_room("transitions", "tests/transitions", *within("plans", "plan_transitions")),
    python_room("rollouts", "tests/rollouts"),
    python_room("rebalance", "tests/rebalance", "tests/broker"),
    python_room(
        "snapshot",
        *within(
            "snapshot",
            "limits_and_ties",
            "snapshot",
            "snapshot_files",
            "snapshot_mqadmin",
            "snapshot_tables",
            "mqadmin_blanks",
        ),
        *within(
            "snapshot", "live_answers", "live_changes", "live_faults", "live_recorded", "live_views", "live_owners"
        ),
    ),
    Room(
        "spark_udfs",
        ("spark_udfs/**/*.py",),
        within(
            *("spark", "live_groups", "closed_form", "plan_directory", "plan_kernels"),
            *("job_command", "spark_columns", "spark_names", "spark_versions"),
        ),
        SAMPLE,
        reached_alone=True,
    ),
    Room(
        "pyx",
        ("pyx/vector/*.c", "pyx/vector/*.h", "pyx/*.h", "pyx/*.pyx"),
        (
            *within("engine", "md5", "ring", "tally", "strings", "weigh"),
            *within("strategies", "golden", "ordinal", "stable", "weighted", "bounded"),
            *within("fleet", "fleet", "fleet_out", "not_utf8"),
        ),
        14,
        ("split", "group", "isa", "md5_neon", "md5_avx512", "tally_avx512"),
    ),
)
BY_NAME = {room.name: room for room in ROOMS}
