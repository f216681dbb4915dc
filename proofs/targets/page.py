"""The table of targets as a page."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from checkout import SUPPORT

if TYPE_CHECKING:
    from targets.running import Replayed

HEAD = """# Extension modules for machines that are not here

`python -m targets` in proofs/ (`make targets`). Each row is one target: Cython runs once, then zig from the package
index compiles every C file with the flags of `setup.py` and links every extension module. *Compiled* and *linked*
count files and modules. *Asks for* is what the linked modules need of the C library: the highest version of a symbol
of glibc, the libraries by name, the least macOS. All modules must be of the right machine, export `PyInit_NAME`, and
ask for nothing that no library has.

*Python* is whose headers the modules are compiled with and, where something runs them, who imports them: Debian's
packages of that architecture, unpacked; a CPython built from source with musl-gcc; CPython for Windows and headers
for macOS from Maven Central. *Run by* names what runs that Python: the processor, qemu-user, wine, or nothing. There
the whole package is imported and all golden answers of `tests/data/golden.jsonl.gz` are asked for, once with each
instruction set the target offers, by `tests/support/replay_golden.py`; *differences* counts answers that are other
than Java's. Where numpy itself asks wine for what it lacks, the modules are imported without it and hash keys, as the
list below the table says. *Kernels in C* are the programs of `tests/support/c` without sanitizers: each judges the
answers of one kernel, under every instruction set of the processor; the first number is how many agreed. A dash is
what was not run.

On x86-64 only the scalar kernels are seen here: in what zig links, `__builtin_cpu_supports` answers no. The wheels are not
built by zig; those by GCC and clang choose at run time (`make wheel`, `make test-isa`).
"""


N_KERNELS = len(list((SUPPORT / "c").glob("*_sanitize.c")))


@dataclass
class Row:
    """All that is known of one target."""

    name: str
    python: str = ""
    version: str = ""
    n_compiled: int = 0
    n_sources: int = 0
    n_linked: int = 0
    abi: str = ""
    run_by: str = ""
    replayed: "Replayed | None" = None
    run_kernels: str = ""
    kernels: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def cells(self) -> list[str]:
        """One line of the table."""
        seen = self.replayed
        state = self.run_by or "linked, not imported"
        return [
            self.name,
            f"{self.n_compiled} of {self.n_sources}",
            str(self.n_linked),
            self.abi,
            f"{self.python}, {self.version}",
            state,
            ", ".join(seen.isas) if seen else "—",
            f"{seen.cases:,}" if seen and seen.cases else "—",
            f"{seen.answers:,}" if seen and seen.cases else "—",
            str(seen.differences) if seen and seen.cases else "—",
            f"{len(self.kernels)} of {N_KERNELS}, {self.run_kernels}" if self.run_kernels else "—",
        ]


COLUMNS = [
    "target",
    "compiled",
    "linked",
    "asks for",
    "Python",
    "run by",
    "instruction sets",
    "cases",
    "answers",
    "differences",
    "kernels in C",
]


def table(rows: list[Row]) -> str:
    """The rows, what ran them, and what is wrong."""
    numbers = {"cases", "answers", "differences", "linked"}
    lines = [
        COLUMNS,
        ["---:" if name in numbers else "---" for name in COLUMNS],
        *(row.cells for row in rows),
    ]
    text = "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
    machines = [
        f"- {row.name}: {row.replayed.machine}\n"
        for row in rows
        if row.replayed and row.replayed.machine
    ]
    if machines:
        text += "\nWhat was found where it ran:\n\n" + "".join(machines)
    wrong = [f"- {row.name}: {fault}\n" for row in rows for fault in row.faults]
    n_answers = sum(row.replayed.answers for row in rows if row.replayed)
    n_differences = sum(row.replayed.differences for row in rows if row.replayed)
    n_imported = sum(row.replayed is not None for row in rows)
    text += f"\n{len(rows)} targets, {sum(row.n_linked for row in rows)} modules linked; {n_imported} targets imported, "
    text += f"{n_answers:,} answers replayed, {n_differences} differences, {len(wrong)} faults.\n"
    return text + ("\nFaults:\n\n" + "".join(wrong) if wrong else "")
