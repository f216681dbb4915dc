"""Kill and refuse every writer at every call: ``python -m interrupted_writes [--quick] [--report
FILE] [--only TEXT]``.

Ends with 1 if anything was lost, half seen or left behind. Needs Linux and a C compiler; strace,
where it may trace, confirms the kills.
"""

import argparse
import contextlib
import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path

from interrupted_writes import races, straced, writing_page
from interrupted_writes.runs import restarted_with_shim
from interrupted_writes.trials import MANY, Trials
from interrupted_writes.writers import WRITERS, make_inputs

QUICK_ROUNDS, ROUNDS = 40, 300
MEMORY = "/dev/shm"


def options_of(arguments=None):
    parser = argparse.ArgumentParser(prog="interrupted_writes", description=__doc__)
    parser.add_argument(
        "--quick",
        action="store_true",
        help="one kill and one refused call of each verb, no strace, short races",
    )
    parser.add_argument("--report", help="write the page into this file, too")
    parser.add_argument("--only", default="", help="writers whose name holds this text")
    parser.add_argument(
        "--strace-every",
        type=int,
        default=9,
        metavar="N",
        help="every N-th call by strace, of writers with many",
    )
    parser.add_argument(
        "--full",
        action="store_true",
        help="kill writers with many calls at every one, too; takes an hour",
    )
    parser.add_argument(
        "--jobs", type=int, default=2, metavar="N", help="writers to try side by side"
    )
    return parser.parse_args(arguments)


def silently(work, *arguments):
    """Run something in this process, which then has all its modules, without a word of it."""
    with (
        open(os.devnull, "w") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        return work(*arguments)


def tried(job):
    """The figures of one writer, what strace adds to them, and its failures."""
    writer, inputs, home, options = WRITERS[job[0]], *job[1:]
    warm = home / "warm" / writer.target
    warm.parent.mkdir(parents=True)
    silently(writer.write, warm, inputs, True)
    trials = Trials(writer, inputs, home)
    trials = (
        trials.quick()
        if options.quick and writer.is_verb
        else trials.run(options.quick, options.full)
    )
    if not options.quick and straced.is_possible():
        missed = straced.missed_by_the_shim(trials)
        trials.counts["calls the shim did not see"] = sum(missed.values())
        trials.failures += [f"{writer.name}: not seen by the shim: {missed}"] if missed else []
        every = (
            1 if not writer.is_verb else 3 if len(trials.calls) <= MANY else options.strace_every
        )
        trials.counts["kills by strace"] = straced.killed_at_every_call(trials, every)["kills"]
    return writing_page.Row(
        writer.name, {**trials.counts, "calls": len(trials.calls)}, trials.failures
    )


def main():
    options = options_of()
    code = restarted_with_shim()
    if code is not None:
        return code
    started, done, failures = time.monotonic(), [], []
    with tempfile.TemporaryDirectory(dir=MEMORY if os.access(MEMORY, os.W_OK) else None) as folder:
        home = Path(folder)
        silently(make_inputs, home / "inputs")
        numbers = [number for number, writer in enumerate(WRITERS) if options.only in writer.name]
        jobs = [(number, home / "inputs", home / str(number), options) for number in numbers]
        with multiprocessing.get_context("fork").Pool(options.jobs) as pool:
            for row in pool.imap(tried, jobs, chunksize=1):
                print("\n".join([writing_page.line(row), *row.failures]), flush=True)
                done.append(row)
                failures += row.failures
        raced = list(races.races(home, QUICK_ROUNDS if options.quick else ROUNDS))
        print("\n".join(writing_page.race_line(name, counts) for name, counts, _ in raced))
        failures += [f"race for {name}" for name, _, bad in raced if bad]
    seconds = time.monotonic() - started
    n_kills = sum(row.counts["kills"] for row in done)
    print(f"{n_kills} kills, {len(failures)} failures, {seconds:.0f} s")
    if options.report:
        Path(options.report).write_text(
            writing_page.text(done, raced, len(failures), seconds), encoding="utf-8"
        )
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
