"""The page of evidence, and the same as lines for a terminal."""

from typing import NamedTuple

COLUMNS = {
    "calls": "calls that change files",
    "kills": "killed at",
    "kills by strace": "killed by strace at",
    "interrupts": "interrupted at",
    "errors": "refused (ENOSPC, EIO, EDQUOT)",
    "errors after it took its place": "of these after it took its place",
    "lost": "lost",
    "half seen": "half seen",
    "moments without any": "moments without any",
    "left after the next run": "left after the next run",
}


class Row(NamedTuple):
    """A writer, how often each thing happened to it, and what should not be."""

    name: str
    counts: dict
    failures: list


def line(row):
    verdict = f"{len(row.failures)} FAILURES" if row.failures else "ok"
    return (
        f"{row.name}: "
        + ", ".join(f"{row.counts.get(key, 0)} {name}" for key, name in COLUMNS.items())
        + f": {verdict}"
    )


def race_line(name, counts):
    return f"race for {name}: " + ", ".join(f"{n:,} {what}" for what, n in sorted(counts.items()))


ABOUT = """\
Each row is a writer, with an earlier result in its place unless it says otherwise. It is run again and again, and killed at
its first call that changes files, at its second, and so on until it survives; a write that is killed has written half. Calls
are counted by a preloaded library. Verbs with more than 60 calls, most of which write a piece of a Parquet file, are killed
at every ninth (`--full`: at every one). strace confirms it: it kills at system calls that name a file or have a descriptor,
reading ones too, at every one, of verbs at every third, of those with more than 60 calls at every ninth. After each kill a
reader must find the whole old or the whole new result, and another run must end well and leave nothing behind.

A refused call (opening, writing, fsync, rename, link, mkdir) must end in exit code 1 and a message that names the file, with
the old result in place, or say that the new one is and may not survive a loss of power. ENOSPC is tried where kills are; EIO,
EDQUOT and interrupts at every third call of verbs, at every ninth of those with more than 60. What takes its place must be on
the disk by then: fsync of each file comes after its last write and before the rename, fsync of the folder after it.

*No exchange* is a file system without `RENAME_EXCHANGE`: there a kill may leave nothing in the place until the next writer
puts the old result back."""


def text(done, raced, n_failures, seconds):
    """The whole page."""
    sums = {key: sum(one.counts.get(key, 0) for one in done) for key in COLUMNS}
    lines = [
        "# Every writer, killed at every call", "",
        f"`python -m interrupted_writes --report build/evidence/writing.md` in proofs/ ({seconds:.0f} s):",
        f"{sums['kills']:,} kills,",
        f"{sums['kills by strace']:,} more by strace, {sums['interrupts']:,} interrupts, {sums['errors']:,} refused calls;",
        f"{sums['lost']} results lost, {sums['half seen']} half seen,",
        f"{sums['left after the next run']} leftovers after the next run, {n_failures} failures.", "", ABOUT, "",
        "| writer | " + " | ".join(COLUMNS.values()) + " |", "| --- |" + " ---: |" * len(COLUMNS),
        *(f"| `{one.name}` | " + " | ".join(f"{one.counts.get(key, 0):,}" for key in COLUMNS) + " |" for one in done),
        "", "## Two writers at once, and a reader", "",
        "| for | " + " | ".join(RACED) + " |", "| --- |" + " ---: |" * len(RACED),
        *(f"| {name} | " + " | ".join(f"{counts[key]:,}" for key in RACED) + " |" for name, counts, _ in raced), "",
        "*Overtaken*: the directory that a reader had open was replaced while it was read, so that files in it were gone.",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


RACED = ("whole", "half", "none", "overtaken", "failed", "lost", "left")
