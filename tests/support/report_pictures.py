"""Make the pictures of the report in ``docs/`` again: ``python tests/support/report_pictures.py``.
Needs Chromium.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import chromium
import report_plans
from checkout import ROOT

import rmqalloc
from rmqalloc.evidence import evidence_of, with_strategies
from rmqalloc.plans import Gates
from rmqalloc.report.html import report
from rmqalloc.report.html.advice_page import advice_page

DOCS = ROOT / "docs"
SIZE, SMALL, PHONE = (1160, 1500), (1160, 640), (390, 900)


def main():
    if chromium.find() is None:
        return chromium.HOW_TO_INSTALL
    gates = Gates(max_moved_share=0.4)
    everyday = report(report_plans.everyday(), report_plans.everyday_findings(), gates)
    hostile = report(report_plans.hostile(), report_plans.hostile_findings())
    pods = with_strategies(rmqalloc.read("example:48-pods"))
    large, queues = report(report_plans.lost_broker(1000)), report(report_plans.one_group(1000, 40))
    advice = advice_page(rmqalloc.recommend(pods), evidence_of(pods, ["*"]).groups)
    pictures = (
        ("light", everyday, {"size": SIZE}),
        ("dark", everyday, {"size": SIZE, "is_dark": True}),
        ("hostile", hostile, {"size": SIZE}),
        ("phone", everyday, {"size": PHONE, "is_phone": True}),
        ("groups", large, {"size": SMALL}),
        ("queues", queues, {"size": SMALL}),
        ("advice", advice, {"size": SMALL}),
    )
    with TemporaryDirectory() as folder, chromium.Chromium(f"{folder}/profile") as browser:
        for name, html, screen in pictures:
            path = Path(folder, f"{name}.html")
            path.write_text(html, encoding="utf-8")
            page = chromium.Page(browser, path, **screen)
            if name == "hostile":
                page.ask("document.querySelector('#s1 details').scrollIntoView()")
            if name == "groups":
                page.click("#s1 .filters input[value=w]")
                page.click("#s1 .filters input[value=m]")
            if name in ("groups", "queues"):
                page.ask("document.querySelector('#s1').scrollIntoView()")
            (DOCS / f"report-{name}.png").write_bytes(page.picture())
    return 0


if __name__ == "__main__":
    sys.exit(main())
