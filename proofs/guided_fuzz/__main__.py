"""Fuzz guided by coverage: ``python -m guided_fuzz run|coverage|seeds|keep``.

``run`` ends with 1 if a target finds anything; the input lies in build/fuzz/found. ``coverage``
counts what the committed corpora reach, in C by lines and regions and in Python by lines;
``--report`` writes the page. ``seeds`` writes the right files that targets begin with into the
corpora, ``keep`` the smallest grown inputs that reach more.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import time

import tied

from guided_fuzz import ledger, places
from guided_fuzz.c_targets import C_TARGETS, build
from guided_fuzz.python_targets import (
    NAMES,
    NAMES_OF_KERNELS,
    NAMES_OF_READERS,
    build_package,
    sanitized,
)

_LIMITS = ("-timeout=30", "-rss_limit_mb=3072", "-print_final_stats=1", "-len_control=20")
_QUICK_SECONDS = 3


def of_c(names, seconds):
    """Runs of targets in C."""
    for name in names:
        flags = [
            f"-max_total_time={seconds}",
            "-max_len=2048",
            *_LIMITS,
            f"-artifact_prefix={places.WORK / 'found'}/{name}-",
        ]
        yield ledger.run(
            name,
            [
                build(C_TARGETS[name]),
                *flags,
                places.corpus(name),
                places.corpus(name, committed=True),
            ],
        )


def of_python(names, seconds):
    """Runs of targets in Python that are of one kind."""
    if not names:
        return
    of_kernels = names[0] in NAMES_OF_KERNELS
    if of_kernels:
        build_package()
    for name in names:
        places.corpus(name)
        places.corpus(name, committed=True)
    flags = [f"-max_total_time={seconds}", f"-max_len={1500 if of_kernels else 20_000}", *_LIMITS]
    folders = [
        f"-artifact_prefix={places.WORK / 'found'}/NAME-",
        f"{places.WORK}/corpus/NAME",
        f"{places.CORPORA}/NAME",
    ]
    command = [
        sys.executable,
        "-m",
        "guided_fuzz.python_targets",
        json.dumps([names, *flags, *folders]),
    ]
    environment = os.environ | (sanitized() if of_kernels else {})
    with tied.popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            yield ledger.Run(**json.loads(line))
    if process.returncode:
        raise SystemExit(f"the targets in Python could not be loaded: {process.returncode}")


def run(given):
    """Run targets one after the other, and print a line for each."""
    names = given.target or [*C_TARGETS, *(() if given.quick else NAMES)]
    seconds = _QUICK_SECONDS if given.quick else max(1, round(given.minutes * 60 / len(names)))
    (places.WORK / "found").mkdir(parents=True, exist_ok=True)
    runs = []
    for made in itertools.chain(
        of_c([name for name in names if name in C_TARGETS], seconds),
        of_python([name for name in names if name in NAMES_OF_READERS], seconds),
        of_python([name for name in names if name in NAMES_OF_KERNELS], seconds),
    ):
        runs.append(made)
        print(
            f"{made.target}: {made.executions:,} inputs, {made.seconds:.0f} s, {made.cpu:.0f} s of the processor",
            made.found,
            flush=True,
        )
        if given.record:
            ledger.record([made])
    if given.quick:
        from guided_fuzz.replay import replay_python

        started = time.monotonic()
        n = sum(map(replay_python, NAMES))
        print(
            f"{n:,} committed inputs of the targets in Python, {time.monotonic() - started:.0f} s"
        )
    return int(any(one.found for one in runs))


def main():
    """Do what is asked for."""
    parser = argparse.ArgumentParser(
        prog="guided_fuzz",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=("run", "coverage", "seeds", "keep"))
    parser.add_argument(
        "--target", action="append", choices=[*C_TARGETS, *NAMES], help="only these"
    )
    parser.add_argument("--minutes", type=float, default=3, help="in all, shared by the targets")
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"the targets in C for {_QUICK_SECONDS} s each, the others over their corpora",
    )
    parser.add_argument(
        "--record", action="store_true", help="add the runs to the committed ledger"
    )
    parser.add_argument("--report", help="write the page into this file, too")
    given = parser.parse_args()
    if given.what == "run":
        return run(given)
    if given.what == "coverage":
        from guided_fuzz.page import coverage

        return coverage(given.report)
    from guided_fuzz import replay

    (replay.write_seeds if given.what == "seeds" else replay.keep)(
        given.target or [*C_TARGETS, *NAMES]
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
