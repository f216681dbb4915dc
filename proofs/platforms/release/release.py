"""A release is rehearsed from a clean clone, built twice; nothing is published.

As root and with debootstrap also the path of a newcomer on a bare Debian. The short form leaves out
the guide, licences and the newcomer.
"""

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from checkout import ROOT
from proof import Report

from platforms.release import bare_debian, builds, installs, links
from platforms.release.check import Check, run

WORK = ROOT / "build" / "release"
HOLDS = {True: "yes", False: "**no**", None: "not asked"}


def release(report: Report, is_quick: bool) -> None:
    """Ask all, and report each answer as it comes."""
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    report.head(("question", "holds", "figures"))
    for ask in [quick_checks] if is_quick else [quick_checks, long_checks]:
        for answer in ask(WORK):
            for check in answered(answer):
                report.row(check.what, HOLDS[check.held], check.said)
                if check.held is False:
                    report.fault(check.what)


def quick_checks(work: Path) -> Iterator[Callable[[], list[Check]]]:
    """What is asked every time, in order; each needs those before it."""
    tools = builds.tools_in(work)
    one, other = builds.built(ROOT, work, tools / "python")
    wheel, clone = next(file for file in one if file.suffix == ".whl"), one[0].parents[1]
    yield lambda: builds.same_bytes(one, other)
    yield lambda: builds.uploads(one, tools)
    fit, check = builds.repaired(wheel, work, tools)
    yield lambda: [check]
    yield lambda: installs.engine_alone(fit, clone, work)
    yield lambda: [links.of_the_papers(clone)]


def long_checks(work: Path) -> Iterator[Callable[[], list[Check]]]:
    """What takes minutes."""
    clone, tools = work / "one", work / "tools" / "bin"
    fit = next((work / "repaired").iterdir())
    yield lambda: [guide(clone, tools)]
    yield lambda: [installs.licences(fit, work, tools)]
    yield lambda: bare_debian.newcomer(fit, clone, work)


def answered(ask: Callable[[], list[Check]]) -> list[Check]:
    """The answers of one question; a program that failed is one, too."""
    try:
        return ask()
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return [
            Check("Every program that is asked ends well", False, str(error).partition(": ")[0])
        ]


def guide(clone: Path, tools: Path) -> Check:
    """The guide is built without a warning, and its links lead somewhere."""
    run("make", "site", cwd=clone)
    return links.of_the_site(clone / "build" / "site", tools)
