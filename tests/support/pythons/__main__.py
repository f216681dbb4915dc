"""``python -m pythons SDIST [--report F] [--quick] [--only LABELS] [--also LABEL=PATH]``: the product on every Python.

Pythons of a newer Debian in a root of their own (`debian`), those given by ``--also``, this one, and one without the
interpreter lock, plain and under ThreadSanitizer (`cpython`). Each builds the wheel from the sdist, replays the golden
answers and runs tests of three rooms (`trial`). ``--quick`` runs only the threads of `stress`, on this Python. Ends with 1
if anything differs or fails.
"""

import argparse
import contextlib
import json
import os
import sys
from pathlib import Path

from checkout import ROOT

from pythons import cpython, debian, page, stress
from pythons.trial import Python, Stopped, Trial

SUITE = "forky"
RELEASES = ("3.13", "3.14", "3.15")
FREE = ("3.14", "3.13")
"""Releases to build without the lock: the first whose source is to be had."""

FREE_SUITES = ("sid", "forky")
THREADS = 16
QUICK_SECONDS = 8


def main():
    parser = argparse.ArgumentParser(prog="python -m pythons", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "sdist", type=Path, nargs="?", help="what to build from, as `make install` leaves it in build/wheel"
    )
    parser.add_argument("--report", type=Path, help="page to write")
    parser.add_argument("--quick", action="store_true", help="only the threads, on this Python, for some seconds")
    parser.add_argument("--only", help="labels such as 3.14,3.13t; others keep what an earlier run found")
    parser.add_argument("--also", action="append", default=[], metavar="LABEL=PATH", help="another interpreter")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "pythons")
    parser.add_argument("--seconds", type=float, default=180, help="how long threads are at it, without the lock")
    given = parser.parse_args()
    if given.quick:
        sys.argv[1:] = ["--seconds", str(QUICK_SECONDS), "--threads", str(THREADS)]
        return stress.main()
    if given.sdist is None:
        parser.error("name the sdist, such as build/wheel/rmqalloc-0.1.0.tar.gz")
    folder = given.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    plan = dict(pythons(folder, given.also))
    for label in given.only.split(",") if given.only else plan:
        if label not in plan:
            parser.error(f"no Python {label}; there are {', '.join(plan)}")
        found = tried(*plan[label], folder / "trials" / label, given.sdist.absolute(), given.seconds)
        (folder / f"{label}.json").write_text(json.dumps(found, indent=1))
        print(json.dumps(found), file=sys.stderr)
    results = [
        json.loads((folder / f"{label}.json").read_text()) for label in plan if (folder / f"{label}.json").exists()
    ]
    text = page.text_of(results)
    print(text)
    if given.report:
        given.report.write_text(f"{page.HEAD}\n{text}\n", encoding="utf-8")
    return int(any(map(page.is_wrong, results)))


def pythons(folder, also):
    """Label by label, a function that makes the interpreter ready, and the trial that it has."""
    yield "{}.{}".format(*sys.version_info), (lambda: Python("this", "this environment", sys.executable), with_lock)
    for label, _, path in (one.partition("=") for one in also):
        yield label, (lambda label=label, path=path: Python(label, "given", path), with_lock)
    for release in RELEASES:
        yield release, (lambda release=release: of_debian(release, folder), with_lock)
    yield "free", (lambda: without_lock(folder), free)
    yield "free-tsan", (lambda: without_lock(folder, sanitizer=True), sanitized)


def of_debian(release, folder):
    """A Python of the newer Debian."""
    root = debian.root_with(SUITE, RELEASES, folder / "root")
    return Python(release, f"Debian {SUITE}", f"/usr/bin/python{release}", debian.in_root(root, folder / "trials"))


def without_lock(folder, sanitizer=False):
    """A Python without the lock, of the newest release whose source can be had."""
    refused = []
    for release in FREE:
        for suite in FREE_SUITES:
            source, why = debian.source_of(f"python{release}", suite, folder)
            if source is None:
                refused.append(f"{suite}: {why}")
                continue
            label = f"{release}t" + (" with ThreadSanitizer" if sanitizer else "")
            executable = cpython.built(source, folder, f"free-{release}" + ("-tsan" if sanitizer else ""), sanitizer)
            return Python(label, f"Debian's source, {source.name}", str(executable), source=source, refused=refused)
    raise Stopped("; ".join(refused))


def tried(make, trial, folder, sdist, seconds):
    """What came of a trial."""
    try:
        python = make()
    except Stopped as stopped:
        return {"label": folder.name, "stopped": str(stopped)}
    one = Trial(python, folder, sdist)
    with contextlib.suppress(Stopped):  # the reason is among what was found
        trial(one, seconds)
    return one.found


def with_lock(trial, seconds):
    """Install, replay, test, and a short time of threads."""
    trial.install()
    trial.imports()
    trial.golden()
    trial.tests()
    threads = ("--threads", str(THREADS), "--json")
    trial.found["stress"] = trial.program("pythons.stress", "--seconds", str(min(seconds, 30)), *threads)
    trial.found["scaling"] = trial.program("pythons.scaling")


def free(trial, seconds):
    """The same without the lock, for longer."""
    trial.install()
    trial.imports()
    trial.golden()
    trial.tests()
    trial.found["stress"] = trial.program(
        "pythons.stress", "--seconds", str(seconds), "--threads", str(THREADS), "--json", timeout=seconds * 5 + 600
    )
    trial.found["scaling"] = trial.program("pythons.scaling")


def sanitized(trial, seconds):
    """Everything compiled for ThreadSanitizer but numpy: the tests of the engine and the threads."""
    variables = cpython.sanitizer_variables(trial.python.source, trial.folder)
    trial.python.variables |= variables
    trial.python.before = ["setarch", os.uname().machine, "-R"]
    trial.install(**cpython.sanitizer_compiler())
    trial.imports()
    trial.golden()
    trial.tests(("tests/engine",))
    trial.found["stress"] = trial.program(
        "pythons.stress", "--seconds", str(seconds), "--threads", str(THREADS), "--json", timeout=seconds * 10 + 900
    )
    n_reports, ours = cpython.races(trial.folder)
    trial.found["races"] = {"reports": n_reports, "ours": len(ours), "first": ours[:2]}


if __name__ == "__main__":
    sys.exit(main())
