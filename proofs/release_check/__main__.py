"""Rehearse a release from a clean clone: ``python -m release_check [--quick] [--work FOLDER]
[--report PAGE]``.

Nothing is published. Ends with 1 if a check does not hold. ``--quick`` leaves out the bare Debian,
the release before and the dependencies' licences.
"""

import argparse
import platform
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from checkout import ROOT

from release_check import bare_debian, builds, installs, links, upgrades
from release_check.check import Check, run

HEAD = """# A release, rehearsed

`make release-check` builds everything from a clean clone, twice, and asks of it what follows. Nothing is published.

| question | holds | figures |
| --- | --- | --- |
"""


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
    yield lambda: upgrades.upgraded(clone, work, fit, tools / "python")
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


def main() -> int:
    """Ask all, print each answer as it comes, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m release_check", description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument(
        "--work", type=Path, default=ROOT / "build" / "release", help="folder that is made anew"
    )
    parser.add_argument("--report", type=Path, help="page to write")
    given = parser.parse_args()
    if builds.stamp(ROOT) == builds.NO_COMMIT:
        print(
            "note: this is no checkout of git, so its files are taken as they are", file=sys.stderr
        )
    elif dirty := run("git", "status", "--porcelain", cwd=ROOT).strip():
        print(
            f"note: not committed, so not part of this: {dirty.splitlines()[0]} ...",
            file=sys.stderr,
        )
    work = given.work.absolute()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    started, checks = time.monotonic(), []
    for ask in [quick_checks] if given.quick else [quick_checks, long_checks]:
        for answer in ask(work):
            answers = answered(answer)
            checks += answers
            print(*(check.row for check in answers), sep="\n", flush=True)
            print(f"after {time.monotonic() - started:.0f} s", file=sys.stderr)
    if given.report is not None:
        given.report.write_text(
            page(checks, work / "one", time.monotonic() - started), encoding="utf-8"
        )
    wrong = [check for check in checks if check.held is False]
    print(f"{len(checks)} checks, {len(wrong)} do not hold", file=sys.stderr)
    return int(bool(wrong))


def page(checks: list[Check], clone: Path, seconds: float) -> str:
    """All answers as one page."""
    commit = run("git", "log", "-1", "--format=%h of %cs", cwd=clone).strip()
    end = f"Commit {commit}; Python {platform.python_version()}, {platform.system()} {platform.machine()}; {seconds:,.0f} s.\n"
    return HEAD + "\n".join(check.row for check in checks) + "\n\n" + end


if __name__ == "__main__":
    sys.exit(main())
