"""``python -m browser [--report F] [--site DIR] [--quick]``: the package in Pyodide, from its
sources to a page in Chromium.

Compiles a wheel for each release of Pyodide, replays the golden answers in it under Node, compares
plans and reports with those of the package that is installed here, puts the page "Try it" together
with its runtime, and visits it in Chromium. Ends with 1 if an answer differs or the page fails.
Downloads and results lie in build/browser, and are taken from there again.
"""

import argparse
import shutil
import sys
import time
from pathlib import Path

from checkout import ROOT

from browser import cross, page
from browser.answers_in_node import InNode, all_cases, differences, on_this_machine
from browser.releases import PLANS, RELEASES, MissingError, runtime
from browser.report import report

WORK = ROOT / "build" / "browser"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--work", type=Path, default=WORK, help="where downloads and results lie (build/browser)"
    )
    parser.add_argument(
        "--assemble", action="store_true", help="only put the page together with its runtime"
    )
    parser.add_argument(
        "--quick", action="store_true", help=f"only Pyodide {PLANS.version}, and no golden answers"
    )
    parser.add_argument(
        "--wheels-as-they-are",
        action="store_true",
        help="take wheels of an earlier run, if there are any",
    )
    parser.add_argument("--report", help="write the tables into this file")
    options = parser.parse_args()
    try:
        return run(options)
    except MissingError as error:
        print(f"browser: {error}", file=sys.stderr)
        return 1


def run(options):
    """Do it all; the exit code."""
    options.work.mkdir(parents=True, exist_ok=True)
    found, failed = {}, []
    for release in (PLANS,) if options.quick or options.assemble else RELEASES:
        found[release] = of_release(release, options, failed)
    site = options.work / "site"
    size = page.assemble(found[PLANS]["node"], found[PLANS]["facts"], site)
    print(f"{site}: {size / 1e6:.1f} MB of runtime", file=sys.stderr)
    if not options.assemble:
        seen = page.visit(site, options.work / "pictures")
        failed += page.faults(seen)
        text = report(found, seen, size)
        print(text)
        if options.report:
            Path(options.report).write_text(text, encoding="utf-8")
    print(*(f"FAILED: {what}" for what in failed), sep="\n", file=sys.stderr)
    return int(bool(failed))


def of_release(release, options, failed):
    """Everything of one release but the page."""
    folder, wheels = runtime(release, options.work)
    started = time.monotonic()
    made = sorted(folder.glob("rmqalloc-*.whl"))
    if not (made and options.wheels_as_they_are):
        for old in made:
            old.unlink()
        made = [Path(shutil.copy(cross.wheel(release, folder, options.work), folder))]
    result = {"wheel": made[0], "seconds": time.monotonic() - started}
    archives = [page.yaml_archive(folder)] if release.can_plan else []
    node = result["node"] = InNode(folder, [*wheels, made[0].name], archives)
    result["facts"] = node.facts()
    if options.assemble:
        return result
    if not options.quick:
        result["golden"] = node.golden()
    if release.can_plan:
        cases = all_cases()
        there = node.plans(cases)
        texts, here = [text for text, _ in there], on_this_machine(cases)
        wrong = differences(cases, texts, here)
        failed += [
            f"Pyodide {release.version} answers otherwise than this machine: {one}" for one in wrong
        ]
        result["plans"] = (
            len(cases),
            sum('"error"' in text[:9] for text in here),
            len(wrong),
            there,
        )
    return result


if __name__ == "__main__":
    sys.exit(main())
