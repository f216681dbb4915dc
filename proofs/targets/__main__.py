"""``python -m targets [--only NAME ...] [--report F] [--quick]``: extension modules for every
target.

Needs ziglang and lief from the package index; Debian's apt-get and qemu-user-static for other
machines of Linux, musl-tools for Python with musl, Maven and wine64 for Windows. Ends with 1 if a
module is not linked or an answer differs.
"""

import argparse
import importlib.util
import subprocess
import sys
import time
from pathlib import Path

from targets.listed import QUICK, TARGETS, Target
from targets.page import HEAD, Row, table


def row(target: Target, quick: bool) -> Row:
    """Compile, link and run one target."""
    from targets import binaries, pythons, running
    from targets.linking import Libraries, link

    made = Row(target.name)
    python = pythons.here() if quick else pythons.PYTHONS[target.python](target)
    made.python, made.version = python.origin, python.version
    libraries = Libraries(python.version) if target.system == "windows" else None
    linked = link(target, python.headers, python.version, libraries)
    made.n_compiled, made.n_sources, made.n_linked = (
        linked.n_compiled,
        linked.n_sources,
        len(linked.modules),
    )
    made.faults += linked.faults
    if not linked.faults:
        made.abi = binaries.abi(target, linked.modules)
        made.faults += binaries.wrong(target, linked.modules)
        if python.command and not quick:
            made.run_by = target.runner or "the processor"
            place = running.package(linked.modules["md5"])
            made.replayed = running.replay(python, place, linked.modules)
            made.faults += made.replayed.faults
    if target.kernels and target.run_with is not None:
        made.run_kernels = target.runner or "the processor"
        made.kernels, faults = running.kernels(target)
        made.faults += faults
    return made


def main() -> int:
    """Print the table as it grows, and say whether all of it is as it must be."""
    parser = argparse.ArgumentParser(
        prog="python -m targets", description=__doc__.partition("\n")[0]
    )
    parser.add_argument(
        "--only",
        action="append",
        metavar="NAME",
        help="targets whose names begin so; more than one may be given",
    )
    parser.add_argument(
        "--report", type=Path, metavar="F", help="write the table into this file, too"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="link for musl with the headers of this Python, and run the kernels",
    )
    parser.add_argument(
        "--continue",
        dest="goes_on",
        action="store_true",
        help="do not repeat targets that are done",
    )
    given = parser.parse_args()
    for name in ("ziglang", "lief"):
        if not importlib.util.find_spec(name):
            parser.error(f"{name} is missing: pip install ziglang lief")
    names = given.only or (QUICK if given.quick else [""])
    chosen = [target for target in TARGETS if target.name.startswith(tuple(names))]
    if not chosen:
        parser.error(
            f"no target begins with {' or '.join(names)}; there are {', '.join(target.name for target in TARGETS)}"
        )
    started = time.monotonic()
    rows = []
    for target in chosen:
        begun = time.monotonic()
        rows.append(attempt(target, given.quick, given.goes_on))
        print(
            f"{target.name}: {time.monotonic() - begun:.0f} s",
            *rows[-1].faults,
            sep="\n  ",
            file=sys.stderr,
            flush=True,
        )
    kept = ", beside rows of earlier runs" if given.goes_on else ""
    text = f"{table(rows)}\n{time.monotonic() - started:.0f} s{kept}.\n"
    print(text)
    if given.report:
        given.report.write_text(f"{HEAD}\n{text}", encoding="utf-8")
    return int(any(row.faults for row in rows))


def attempt(target: Target, quick: bool, goes_on: bool) -> Row:
    """The row of a target, made now or before, or what kept it from being one."""
    from targets.kept import keep, kept
    from targets.roots import AptError

    if goes_on and (before := kept(target)):
        return before
    try:
        made = row(target, quick)
    except (AptError, SystemExit, OSError, subprocess.SubprocessError) as error:
        return Row(target.name, faults=[f"{type(error).__name__}: {error}"])
    if not quick:
        keep(target, made)
    return made


if __name__ == "__main__":
    sys.exit(main())
