"""The product on other Pythons: those of a newer Debian in a root of their own (`debian`), and one
without the interpreter lock, plain and under ThreadSanitizer (`cpython`).

Each builds the wheel from the sdist that `make install` left, replays the golden answers, runs tests
of three rooms (`trial`), and has many threads over one fleet (`stress`). Needs root of a Debian,
debootstrap, gcc, clang and sources of packages from apt.
"""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from checkout import ROOT

from platforms.pythons import cpython, debian
from platforms.pythons.stress import stressed
from platforms.pythons.trial import Python, Stopped, Trial

SUITE = "forky"
RELEASES = ("3.13", "3.14", "3.15")
FREE = ("3.14", "3.15", "3.13")
"""Releases to build without the lock: the first whose source is to be had."""

FREE_SUITES = ("sid", "forky")
FREE_LABEL, SANITIZED_LABEL = "without the lock", "ThreadSanitizer"
SANITIZED_TESTS = tuple(f"tests/fleet/test_{name}.py" for name in ("changing_lists", "threads"))
THREADS = 16
QUICK_SECONDS, SHORT_SECONDS, SECONDS = 8, 30, 60
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
    without_lock()  # what several trials share is made before they start side by side
    plan = plan_of(sdist)
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(found, plan, plan.values()))
    report.head(COLUMNS)
    for one in results:
        if "stopped" not in one:
            first = (one["label"], one["version"], one["origin"], one["modules"])
            golden = one.get("golden", [0, "–", "–"])
            report.row(*first, *golden[1:], *tested(one), *asked(one))
        if is_wrong(one):
            report.fault(json.dumps(one))


def threads_of_this_python(report):
    """Let threads divide one fleet for some seconds."""
    counts = stressed(QUICK_SECONDS, THREADS)
    report.table(("answers of threads", "differ"), [(counts["answers"], counts["differ"])])
    if counts["differ"] or not counts["answers"]:
        report.fault(f"answers of threads differ: {counts['differences']}")


def plan_of(sdist):
    """Label by label, what is done for it."""

    def with_lock(release):
        return lambda: plain(Trial(of_debian(release), place(release), sdist), SHORT_SECONDS)

    plan = {release: with_lock(release) for release in RELEASES}
    plan[FREE_LABEL] = lambda: plain(Trial(without_lock(), place(FREE_LABEL), sdist), SECONDS)
    plan[SANITIZED_LABEL] = lambda: sanitized(sdist)
    return plan


def place(label):
    """The folder of a trial."""
    return FOLDER / "trials" / label.replace(" ", "-")


def found(label, work):
    """Do it; an end in between is a finding, too."""
    try:
        return work()
    except Stopped as stopped:
        return stopped.found or {"label": label, "stopped": str(stopped)}


def of_debian(release):
    """A Python of the newer Debian."""
    before = debian.in_root(FOLDER / "root", FOLDER / "trials")
    return Python(release, f"Debian {SUITE}", f"/usr/bin/python{release}", before)


def without_lock():
    """A Python without the lock, of the newest release whose source can be had; found once."""
    path = FOLDER / "source.json"
    if not path.exists():
        path.write_text(json.dumps(source_of(FOLDER)))
    kept = json.loads(path.read_text())
    source = FOLDER / kept["source"]
    executable = cpython.built(source, FOLDER, f"free-{kept['release']}")
    origin = f"Debian's source {source.name}, `--disable-gil`"
    return Python(f"{kept['release']}t", origin, str(executable), source=source)


def source_of(folder):
    """The first source of the releases that are wanted, and why those before it could not be had."""
    refused = []
    for release in FREE:
        for suite in FREE_SUITES:
            source, why = debian.source_of(f"python{release}", suite, folder)
            if source is not None:
                return {"release": release, "source": source.name}
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
    asked = ("--seconds", str(seconds), "--threads", str(THREADS))
    trial.found["stress"] = trial.program(
        "platforms.pythons.stress", *asked, timeout=seconds * 10 + 600
    )


def sanitized(sdist):
    """Everything compiled for ThreadSanitizer but numpy. The plain Python installs: it takes the
    same wheels, and is faster.
    """
    python = without_lock()
    label = f"{python.label} with ThreadSanitizer"
    python = replace(python, label=label, before=list(cpython.PLAIN_ADDRESSES))
    name = python.source.name.split("-")[0].replace("python", "free-") + "-tsan"
    trial = Trial(python, place(SANITIZED_LABEL), sdist)
    trial.install(**cpython.sanitizer_compiler())
    trial.executable = cpython.built(python.source, FOLDER, name, sanitizer=True)
    trial.paths += (trial.venv / "lib").glob("python*t/site-packages")
    python.variables.update(cpython.sanitizer_variables(python.source, trial.folder))
    python.variables["RMQALLOC_ISA"] = "scalar"  # stores of whole vectors are not seen
    trial.imports()
    trial.ask("race", "-m", "platforms.pythons.race")
    control, seen = cpython.races(trial.folder)
    threads(trial, SECONDS)
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


def is_wrong(found):
    """Did anything fail, or was not what one thread, Java or the tests say?"""
    if "stopped" in found:
        return True
    races = found.get("races")
    return (
        found.get("golden", [0, 0, 0])[2] != 0
        or found["tests"]["code"] != 0
        or found["stress"].get("differ") != 0
        or (found["free"] and found["lock"])
        or (races is not None and (races["ours"] > 0 or not found["control"]["ours"]))
    )


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
