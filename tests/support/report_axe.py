"""Hold pages to the rules of axe-core: ``python tests/support/report_axe.py axe.min.js``, a file of
its release.

Needs Chromium. Every page is looked at in the light and the dark theme and on a phone, all of it
unfolded. Ends with 1 if a rule is violated.
"""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import chromium
import report_plans
from page_measures import UNFOLDED

import rmqalloc
from rmqalloc.plans import Gates
from rmqalloc.report.html import report
from rmqalloc.report.html._check_page import check_page
from rmqalloc.report.html.advice_page import advice_page

SCREENS = {"light": {}, "dark": {"is_dark": True}, "phone": {"size": (390, 844), "is_phone": True}}
RUN = """
axe.run({ resultTypes: ["violations"] })
  .then((found) => JSON.stringify(found.violations.map((one) => [one.id, one.nodes.length])))
"""


def pages():
    """Pages of all kinds and sizes, by name."""
    plan, findings = report_plans.whole()
    pods = rmqalloc.read("example:48-pods")
    yield "plan", report(plan, findings, Gates(max_moved_share=0.2))
    yield "1 group, 1,000 queues", report(report_plans.one_group(1000, 40))
    yield from ((f"{n:,} groups", report(report_plans.lost_broker(n))) for n in (200, 1000))
    yield "check", check_page(findings)
    yield "recommend", advice_page(rmqalloc.recommend(pods))


def main(axe):
    script, violated = Path(axe).read_text(encoding="utf-8"), False
    with TemporaryDirectory() as folder, chromium.Chromium(f"{folder}/profile") as browser:
        path = Path(folder, "page.html")
        for name, html in pages():
            path.write_text(html, encoding="utf-8")
            for screen, options in SCREENS.items():
                page = chromium.Page(browser, path, **options)
                page.ask(UNFOLDED)
                page.call("Runtime.evaluate", expression=script)
                answer = page.call(
                    "Runtime.evaluate", expression=RUN, awaitPromise=True, returnByValue=True
                )
                found = json.loads(answer["result"]["value"])
                violated |= bool(found)
                print(
                    f"{name}, {screen}: {len(html.encode()):,} bytes, {len(found)} violations {found or ''}",
                    flush=True,
                )
    return int(violated)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
