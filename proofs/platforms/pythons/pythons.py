"""The product on the Pythons of a newer Debian, in a root of their own (`debian`), and on one without
the interpreter lock (`cpython`).

Each builds the wheel from the sdist that `make install` left, replays the golden answers, runs tests
of three rooms (`trial`), and has many threads over one fleet (`stress`). Needs root of a Debian,
debootstrap, gcc and sources of packages from apt.
"""

import json
from concurrent.futures import ThreadPoolExecutor

from checkout import ROOT

from platforms.pythons import cpython, debian
from platforms.pythons.stress import stressed
from platforms.pythons.trial import Python, Stopped, Trial

SUITE = "forky"
RELEASES = ("3.13", "3.14", "3.15")
FREE = ("3.14", "3.15", "3.13")
"""Releases to build without the lock: the first whose source is to be had."""

FREE_SUITES = ("sid", "forky")
THREADS = 16
QUICK_SECONDS, SECONDS = 8, 30
FOLDER = ROOT / "build" / "pythons"
COLUMNS = (
    "Python",
    "version",
    "from",
    "modules",
    "golden answers",
    "differ",
    "tests passed",
    "failed",
    "answers of threads",
    "differ",
)


def pythons(report, is_quick):
    """Try every Python; the short form has only the threads, on this Python."""
    if is_quick:
        threads_of_this_python(report)
        return
    (sdist,) = (ROOT / "build" / "wheel").glob("*.tar.gz")
    FOLDER.mkdir(parents=True, exist_ok=True)
    debian.root_with(SUITE, RELEASES, FOLDER / "root")
    with ThreadPoolExecutor(2) as pool:
        tried = [*map(of_debian, RELEASES), without_lock()]
        results = list(pool.map(lambda python: found(python, sdist), tried))
    report.head(COLUMNS)
    for one in results:
        if "stopped" not in one:
            first = (one["label"], one["version"], one["origin"], one["modules"])
            report.row(*first, *one["golden"][1:], *tested(one), *asked(one))
        if is_wrong(one):
            report.fault(json.dumps(one))


def threads_of_this_python(report):
    """Let threads divide one fleet for some seconds."""
    counts = stressed(QUICK_SECONDS, THREADS)
    report.table(("answers of threads", "differ"), [(counts["answers"], counts["differ"])])
    if counts["differ"] or not counts["answers"]:
        report.fault(f"answers of threads differ: {counts['differences']}")


def of_debian(release):
    """A Python of the newer Debian."""
    before = debian.in_root(FOLDER / "root", FOLDER / "trials")
    return Python(release, f"Debian {SUITE}", f"/usr/bin/python{release}", before)


def without_lock():
    """A Python without the lock, of the newest release whose source can be had."""
    refused = []
    for release in FREE:
        for suite in FREE_SUITES:
            source, why = debian.source_of(f"python{release}", suite, FOLDER)
            if source is not None:
                executable = cpython.built(source, FOLDER, f"free-{release}")
                origin = f"Debian's source {source.name}, `--disable-gil`"
                return Python(f"{release}t", origin, str(executable), is_free=True)
            refused.append(f"python{release} of {suite}: {why}")
    raise Stopped("; ".join(refused))


def found(python, sdist):
    """What a trial finds; an end in between is a finding, too."""
    trial = Trial(python, FOLDER / "trials" / python.label, sdist)
    try:
        trial.install()
        trial.imports()
        trial.golden()
        trial.tests()
    except Stopped as stopped:
        return stopped.found or {"label": python.label, "stopped": str(stopped)}
    asked = ("--seconds", str(SECONDS), "--threads", str(THREADS))
    limit = SECONDS * 10 + 600
    trial.found["stress"] = trial.program("platforms.pythons.stress", *asked, timeout=limit)
    return trial.found


def is_wrong(found):
    """Did anything fail, or was not what one thread, Java or the tests say?"""
    if "stopped" in found:
        return True
    has_failed = found["tests"]["code"] != 0 or found["stress"].get("differ") != 0
    has_lock_back = found["free"] and found["lock"]
    return has_failed or has_lock_back or found["golden"][2] != 0


def tested(one):
    """Tests that passed and that failed."""
    tests = one["tests"]
    passed = (tests["passed"]) if "passed" in tests else f"not to the end ({tests['code']})"
    return passed, tests.get("failed", 0) + tests.get("error", 0)


def asked(one):
    """Answers of threads, and how many differ."""
    stress = one["stress"]
    return (stress.get("answers", f"ended with {stress.get('ended with')}")), (
        stress.get("differ", "?")
    )
