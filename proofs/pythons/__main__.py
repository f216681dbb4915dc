"""``python -m pythons SDIST [--report F] [--quick] [--only LABELS]``: the product on every Python.

Pythons of a newer Debian in a root of their own (`debian`), and one without the interpreter lock,
plain and under ThreadSanitizer (`cpython`). Each builds the wheel from the sdist, replays the
golden answers and runs tests of three rooms (`trial`). ``--quick`` runs only the threads of
`stress`, on this Python. Ends with 1 if anything differs or fails.
"""

import argparse
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from checkout import ROOT

from pythons import cpython, debian, page, stress
from pythons.trial import Python, Stopped, Trial

SUITE = "forky"
RELEASES = ("3.13", "3.14", "3.15")
FREE = ("3.14", "3.15", "3.13")
"""Releases to build without the lock: the first whose source is to be had."""

FREE_SUITES = ("sid", "forky")
FREE_LABEL, SANITIZED_LABEL = "without the lock", "ThreadSanitizer"
SANITIZED_TESTS = tuple(f"tests/fleet/test_{name}.py" for name in ("changing_lists", "threads"))
THREADS = 16
TRIES = 5
QUICK_SECONDS = 8
SHORT_SECONDS = 30


def main():
    parser = argparse.ArgumentParser(
        prog="python -m pythons", description=__doc__.partition("\n")[0]
    )
    parser.add_argument(
        "sdist",
        type=Path,
        nargs="?",
        help="what to build from, as `make install` leaves it in build/wheel",
    )
    parser.add_argument("--report", type=Path, help="page to write")
    parser.add_argument(
        "--quick", action="store_true", help="only the threads, on this Python, for some seconds"
    )
    parser.add_argument(
        "--only",
        help="labels such as 3.14,ThreadSanitizer or scaling; others keep what was found before",
    )
    parser.add_argument(
        "--reuse", action="store_true", help="wheels and environments as an earlier run left them"
    )
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "pythons")
    parser.add_argument(
        "--seconds", type=float, default=60, help="how long threads are at it, without the lock"
    )
    given = parser.parse_args()
    if given.quick:
        sys.argv[1:] = ["--seconds", str(QUICK_SECONDS), "--threads", str(THREADS)]
        return stress.main()
    if given.sdist is None:
        parser.error("name the sdist, such as build/wheel/rmqalloc-VERSION.tar.gz")
    folder = given.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    plan = plan_of(folder, None if given.reuse else given.sdist.absolute(), given.seconds)
    wanted = given.only.split(",") if given.only else list(plan)
    for label in wanted:
        if label not in plan:
            parser.error(f"no Python {label}; there are {', '.join(plan)}")
    ready(wanted, folder)
    with ThreadPoolExecutor(2) as pool:
        list(
            pool.map(
                lambda label: keep(folder, label, plan[label]),
                [one for one in wanted if one != "scaling"],
            )
        )
    if "scaling" in wanted:  # by itself: it measures
        keep(folder, "scaling", plan["scaling"])
    return report(folder, plan, given.report)


def report(folder, plan, path):
    """Print the page from what was found, now or before; 1 if anything is wrong."""
    found = {label: read(folder, label) or {"label": label, "stopped": "not run"} for label in plan}
    rates = found.pop("scaling")
    text = page.text_of(list(found.values()), rates)
    print(text)
    if path:
        path.write_text(f"{page.HEAD}\n{text}\n", encoding="utf-8")
    return int(any(map(page.is_wrong, found.values())))


def plan_of(folder, sdist, seconds):
    """Label by label, what is done for it."""

    def with_lock(release):
        return lambda: plain(
            Trial(of_debian(release, folder), place(folder, release), sdist), SHORT_SECONDS
        )

    plan = {release: with_lock(release) for release in RELEASES}
    plan[FREE_LABEL] = lambda: plain(
        Trial(without_lock(folder), place(folder, FREE_LABEL), sdist), seconds
    )
    plan[SANITIZED_LABEL] = lambda: sanitized(folder, sdist, seconds)
    plan["scaling"] = lambda: scaling(folder)
    return plan


def place(folder, label):
    """The folder of a trial."""
    return folder / "trials" / label.replace(" ", "-")


def ready(wanted, folder):
    """What several trials share is made before they start side by side."""
    if set(wanted) & set(RELEASES):
        debian.root_with(SUITE, RELEASES, folder / "root")
    if {FREE_LABEL, SANITIZED_LABEL} & set(wanted):
        without_lock(folder)


def keep(folder, label, work):
    """Do it, and write down what was found; an end in between is a finding too."""
    try:
        found = work()
    except Stopped as stopped:
        found = stopped.found or {"label": label, "stopped": str(stopped)}
    (folder / f"{label.replace(' ', '-')}.json").write_text(json.dumps(found, indent=1))
    print(label, json.dumps(found), file=sys.stderr)


def read(folder, label):
    """What was found before."""
    path = folder / f"{label.replace(' ', '-')}.json"
    return json.loads(path.read_text()) if path.exists() else {}


def of_debian(release, folder):
    """A Python of the newer Debian."""
    before = debian.in_root(folder / "root", folder / "trials")
    return Python(release, f"Debian {SUITE}", f"/usr/bin/python{release}", before)


def without_lock(folder):
    """A Python without the lock, of the newest release whose source can be had; found once."""
    kept = read(folder, "source")
    if not kept:
        kept = source_of(folder)
        (folder / "source.json").write_text(json.dumps(kept))
    source = folder / kept["source"]
    executable = cpython.built(source, folder, f"free-{kept['release']}")
    origin = f"Debian's source {source.name}, `--disable-gil`"
    return Python(
        f"{kept['release']}t", origin, str(executable), source=source, refused=kept["refused"]
    )


def source_of(folder):
    """The first source of the releases that are wanted, and why those before it could not be had."""
    refused = []
    for release in FREE:
        for suite in FREE_SUITES:
            source, why = debian.source_of(f"python{release}", suite, folder)
            if source is not None:
                return {"release": release, "source": source.name, "refused": refused}
            refused.append(f"python{release} of {suite}: {why}")
    raise Stopped("; ".join(refused))


def plain(trial, seconds):
    """Install, replay, test, and threads."""
    trial.install()
    trial.imports()
    trial.golden()
    trial.tests()
    threads(trial, seconds)
    return trial.found


def threads(trial, seconds):
    """Threads over one fleet; every answer is compared with that of one thread."""
    asked = ("--seconds", str(seconds), "--threads", str(THREADS), "--json")
    trial.found["stress"] = trial.program("pythons.stress", *asked, timeout=seconds * 10 + 600)


def sanitized(folder, sdist, seconds):
    """Everything compiled for ThreadSanitizer but numpy. The plain Python installs: it takes the
    same wheels, and is faster.
    """
    python = without_lock(folder)
    label = f"{python.label} with ThreadSanitizer"
    python = replace(python, label=label, refused=[], before=list(cpython.PLAIN_ADDRESSES))
    name = python.source.name.split("-")[0].replace("python", "free-") + "-tsan"
    trial = Trial(python, place(folder, SANITIZED_LABEL), sdist)
    trial.install(**cpython.sanitizer_compiler())
    trial.executable = cpython.built(python.source, folder, name, sanitizer=True)
    trial.paths += (trial.venv / "lib").glob("python*t/site-packages")
    python.variables.update(cpython.sanitizer_variables(python.source, trial.folder))
    python.variables["RMQALLOC_ISA"] = "scalar"  # stores of whole vectors are not seen
    trial.imports()
    trial.ask("race", "-m", "pythons.race")
    control, seen = cpython.races(trial.folder)
    threads(trial, seconds)
    trial.tests(SANITIZED_TESTS, ("fork",))
    reports, ours = cpython.races(trial.folder)
    trial.found["races"] = {
        "reports": len(reports),
        "ours": len(ours),
        "first": ours[:2],
        "other": reports[:2],
    }
    trial.found |= {
        "control": {"reports": len(control), "ours": len(seen)},
        "test files": SANITIZED_TESTS,
    }
    return trial.found


def scaling(folder):
    """Rates of calls on several threads, on all Pythons that were tried; tries take turns, the best
    counts.

    Other work on the machine only takes away.
    """
    tried = {release: (of_debian(release, folder), release) for release in RELEASES}
    tried["free"] = (without_lock(folder), FREE_LABEL)
    best = {}
    for _ in range(TRIES):
        for python, label in tried.values():
            answers = Trial(python, place(folder, label)).program("pythons.scaling")
            for name, by_threads in answers.items() if "ended with" not in answers else ():
                for n, (rate, cost) in by_threads.items():
                    row = (
                        best.setdefault(name, {})
                        .setdefault(python.label, {})
                        .setdefault(n, [0, cost])
                    )
                    row[:] = max(row[0], rate), min(row[1], cost)
    return best


if __name__ == "__main__":
    sys.exit(main())
