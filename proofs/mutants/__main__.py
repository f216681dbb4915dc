"""Apply every mutant to a copy of the tree and run the tests that must see it: ``python -m mutants [--quick] [--every N] [--area A] [--report F]``.

Ends with 1 if a mutant survives, or if the text that it replaces is not there just once: the list has to follow the code.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from checkout import ROOT

import mutants as areas

NAMES = [one.name for one in iter_modules(areas.__path__) if one.name not in ("__main__", "mutant")]
AREAS = {name: import_module(f"mutants.{name}").MUTANTS for name in NAMES}
QUICK_EVERY = 20
COPIES = 2
"""Copies of the tree that are worked on side by side."""


def copied(folder):
    """A copy of what git does not ignore, with the kernels of the package that is installed."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        target = folder / name
        if os.path.lexists(ROOT / name):  # not deleted meanwhile
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target, follow_symlinks=False)
    import rmqalloc._engine

    for kernel in Path(rmqalloc._engine.__file__).parent.glob("*.so"):
        shutil.copy(kernel, folder / "rmqalloc" / "_engine" / kernel.name)


def is_killed(folder, mutant):
    """Whether a test fails with the mutant in place; None if the mutant does not fit the code."""
    path = folder / mutant.file
    text = path.read_text(encoding="utf-8")
    if text.count(mutant.old) != 1:
        return None
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *mutant.tests.split()]
        environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "CI": "1"}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=600, check=False)
        if done.returncode not in (0, 1):  # 1: a test failed; anything else is no verdict
            sys.exit(f"{mutant.file}: pytest ended with {done.returncode}\n{done.stdout.decode()[-2000:]}")
        return done.returncode == 1
    finally:
        path.write_text(text, encoding="utf-8")


def tried(mutants, folder):
    """Rows of a table, one for every mutant, and how many are not killed."""
    copied(folder)
    rows, bad = [], 0
    for mutant in mutants:
        killed = is_killed(folder, mutant)
        verdict = {True: "killed", False: "SURVIVED", None: "DOES NOT FIT"}[killed]
        bad += killed is not True
        rows.append(f"| `{mutant.file}` | {mutant.what} | {verdict} | `{mutant.tests}` |")
        print(rows[-1], flush=True)
    return rows, bad


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="take every N-th mutant only")
    parser.add_argument("--quick", action="store_true", help=f"as --every {QUICK_EVERY}")
    parser.add_argument("--area", choices=AREAS, help="take the mutants of one list only")
    parser.add_argument("--file", default="", help="take mutants of files whose path holds this text only")
    parser.add_argument("--report", help="write the table into this file, too")
    options = parser.parse_args()
    listed = [one for area in ([options.area] if options.area else AREAS) for one in AREAS[area]]
    chosen = [one for one in listed if options.file in one.file][:: QUICK_EVERY if options.quick else options.every]
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as home, ThreadPoolExecutor(COPIES) as pool:
        folders = [Path(home, str(number)) for number in range(COPIES)]
        for folder in folders:
            folder.mkdir()
        parts = list(pool.map(tried, [chosen[number::COPIES] for number in range(COPIES)], folders))
    rows, bad = sorted(row for part, _ in parts for row in part), sum(n for _, n in parts)
    print(f"{len(rows)} mutants, {bad} not killed, {time.monotonic() - started:.0f} s")
    if options.report:
        head = ["# Hand-made mutants", "", f"`make evidence`: {len(rows)} mutants, {bad} not killed.", ""]
        table = ["| file | the lie | verdict | tests |", "| --- | --- | --- | --- |", *rows]
        Path(options.report).write_text("\n".join([*head, *table]) + "\n", encoding="utf-8")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
