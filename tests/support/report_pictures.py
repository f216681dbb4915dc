"""Make the pictures of the report in ``docs/`` again: ``python tests/support/report_pictures.py``. Needs Chromium."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import chromium
import report_plans
from checkout import ROOT

from rmqalloc.plans import Gates
from rmqalloc.report.html import report

DOCS = ROOT / "docs"
SIZE = (1160, 1500)


def main():
    if chromium.find() is None:
        return chromium.HOW_TO_INSTALL
    gates = Gates(max_moved_share=0.4)
    everyday = report(report_plans.everyday(), report_plans.everyday_findings(), gates)
    hostile = report(report_plans.hostile(), report_plans.hostile_findings())
    with TemporaryDirectory() as folder, chromium.Chromium(f"{folder}/profile") as browser:
        for name, html, is_dark in (("light", everyday, False), ("dark", everyday, True), ("hostile", hostile, False)):
            path = Path(folder, f"{name}.html")
            path.write_text(html, encoding="utf-8")
            page = chromium.Page(browser, path, is_dark, SIZE)
            if name == "hostile":
                page.ask("document.querySelector('#s1 details').scrollIntoView()")
            (DOCS / f"report-{name}.png").write_bytes(page.picture())
    return 0


if __name__ == "__main__":
    sys.exit(main())
