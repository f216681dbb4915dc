"""Fuzz guided by coverage: ``python -m fuzz.guided run|seeds|keep``.

``run`` ends with 1 if a target finds anything; the input lies in build/fuzz/found. ``seeds`` writes
the right files that targets begin with into the corpora, ``keep`` the smallest grown inputs that
reach more.
"""

import itertools
import json
import os
import subprocess
import sys

import tied
from proof import Report, options

from fuzz.guided import ledger, places
from fuzz.guided.c_targets import C_TARGETS, build
from fuzz.guided.python_targets import (
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
        "fuzz.guided.python_targets",
        json.dumps([names, *flags, *folders]),
    ]
    environment = os.environ | (sanitized() if of_kernels else {})
    with tied.popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            yield ledger.Run(**json.loads(line))
    if process.returncode:
        raise SystemExit(f"the targets in Python could not be loaded: {process.returncode}")


def guided(report, is_quick, names=(), minutes=3):
    """Run targets one after the other; needs clang and atheris. A finding is a fault.

    The short form runs the targets in C for some seconds each.
    """
    names = names or [*C_TARGETS, *(() if is_quick else NAMES)]
    seconds = _QUICK_SECONDS if is_quick else max(1, round(minutes * 60 / len(names)))
    (places.WORK / "found").mkdir(parents=True, exist_ok=True)
    report.head(("target", "inputs", "seconds", "CPU seconds"))
    for made in itertools.chain(
        of_c([name for name in names if name in C_TARGETS], seconds),
        of_python([name for name in names if name in NAMES_OF_READERS], seconds),
        of_python([name for name in names if name in NAMES_OF_KERNELS], seconds),
    ):
        report.row(made.target, made.executions, f"{made.seconds:.0f}", f"{made.cpu:.0f}")
        if made.found:
            report.fault(f"{made.target}: {made.found}")


def main():
    """Do what is asked for."""
    parser = options("fuzz.guided", __doc__)
    parser.add_argument("what", choices=("run", "seeds", "keep"))
    parser.add_argument(
        "--target", action="append", choices=[*C_TARGETS, *NAMES], help="only these"
    )
    parser.add_argument("--minutes", type=float, default=3, help="in all, shared by the targets")
    given = parser.parse_args()
    if given.what == "run":
        report = Report("Fuzz guided by coverage")
        guided(report, given.quick, given.target, given.minutes)
        return report.end(given.report)
    from fuzz.guided import replay

    work = replay.write_seeds if given.what == "seeds" else replay.keep
    work(given.target or [*C_TARGETS, *NAMES])
    return 0


if __name__ == "__main__":
    sys.exit(main())
