"""The package in Pyodide, from its sources to a page in Chromium: ``python -m platforms.browser`` only
puts the page "Try it" together with its runtime.

A wheel is compiled for each release of Pyodide and replays the golden answers under Node; plans and
reports are those of the package that is installed here, byte by byte; the page is visited in
Chromium. Downloads and results lie in build/browser, and are taken from there again. Needs root of a
Debian, npm, Node and Chromium.
"""

import shutil

from checkout import ROOT

from platforms.browser import cross, visit
from platforms.browser.answers_in_node import InNode, all_cases, differences, on_this_machine
from platforms.browser.releases import PLANS, RELEASES, runtime

WORK = ROOT / "build" / "browser"
SITE = WORK / "site"
COLUMNS = ("Pyodide", "CPython", "pointers (bits)", "NumPy", "PyArrow", "kernels", "golden answers")


def browser(report, is_quick):
    """Try all releases and visit the page; the short form has no golden answers."""
    report.head(COLUMNS)
    for release in (PLANS,) if is_quick else RELEASES:
        node = compiled(release)
        facts = node.facts()
        golden = "not run" if is_quick else node.golden()[0].partition(": ")[2]
        versions = (facts["python"], facts["pointer"], facts["numpy"], facts["pyarrow"] or "none")
        report.row(release.version, *versions, facts["isa"], golden)
        if release.can_plan:
            compare_plans(report, node)
            size = visit.assemble(node, facts, SITE)
    report.say(f"{size / 1e6:.1f} MB of runtime beside the page")
    seen = visit.visit(SITE, WORK / "pictures")
    report.say(
        f"first plan after {seen['first'][0]:.1f} s, the next after {seen['second'][0]:.2f} s"
    )
    for fault in visit.faults(seen):
        report.fault(fault)


def compiled(release):
    """The runtime of a release with a wheel that is compiled now."""
    WORK.mkdir(parents=True, exist_ok=True)
    folder, wheels = runtime(release, WORK)
    for old in folder.glob("rmqalloc-*.whl"):
        old.unlink()
    made = shutil.copy(cross.wheel(release, folder, WORK), folder)
    archives = [visit.yaml_archive(folder)] if release.can_plan else []
    return InNode(folder, [*wheels, made.name], archives)


def compare_plans(report, node):
    """Compare plans and reports with those of this machine."""
    cases = all_cases()
    there = [text for text, _ in node.plans(cases)]
    here = on_this_machine(cases)
    for case in differences(cases, there, here):
        report.fault(f"Pyodide answers otherwise than this machine: {case}")
    report.say(f"{len(cases)} plans and reports compared")


if __name__ == "__main__":
    made = compiled(PLANS)
    print(f"{SITE}: {visit.assemble(made, made.facts(), SITE) / 1e6:.1f} MB of runtime")
