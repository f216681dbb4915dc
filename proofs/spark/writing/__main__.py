"""The trials of all writers; `writing` starts this with the preloaded library."""

import contextlib
import json
import multiprocessing
import os
import sys
import tempfile
from pathlib import Path

from spark.writing import races, straced
from spark.writing.trials import Trials
from spark.writing.writers import WRITERS, make_inputs

QUICK_ROUNDS, ROUNDS, JOBS = 40, 300, 2
MEMORY = "/dev/shm"


def silently(work, *arguments):
    """Run something in this process, which then has all its modules, without a word of it."""
    with (
        open(os.devnull, "w") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        return work(*arguments)


def tried(job):
    """The figures of one writer and its failures."""
    number, inputs, home, is_quick = job
    writer = WRITERS[number]
    warm = home / "warm" / writer.target
    warm.parent.mkdir(parents=True)
    silently(writer.write, warm, inputs, True)
    trials = Trials(writer, inputs, home)
    trials = trials.quick() if is_quick and writer.is_verb else trials.run(is_quick)
    if not is_quick and straced.is_possible():
        missed = straced.missed_by_the_shim(trials)
        trials.failures += [f"{writer.name}: not seen by the shim: {missed}"] if missed else []
    counts = {**trials.counts, "calls": len(trials.calls)}
    return {"name": writer.name, "counts": counts, "failures": trials.failures}


def main(is_quick):
    with tempfile.TemporaryDirectory(dir=MEMORY if os.access(MEMORY, os.W_OK) else None) as folder:
        home = Path(folder)
        silently(make_inputs, home / "inputs")
        numbers = range(len(WRITERS))
        jobs = [(number, home / "inputs", home / str(number), is_quick) for number in numbers]
        with multiprocessing.get_context("fork").Pool(JOBS) as pool:
            for line in pool.imap(tried, jobs, chunksize=1):
                print(json.dumps(line), flush=True)
        for name, counts, bad in races.races(home, QUICK_ROUNDS if is_quick else ROUNDS):
            failures = [f"race for {name}: {bad} bad looks"] if bad else []
            line = {"name": f"race for {name}", "counts": counts, "failures": failures}
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main("--quick" in sys.argv)
