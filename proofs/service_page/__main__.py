"""``python -m service_page [--quick] [--axe FILE] [--report FILE] [--pictures DIR]``: the page of
the service in Chromium.

Visits every view in light, dark, on a phone and in 320 px; measures "try it" on 1,000 queues from
the change to the frame that shows it; shows names that attack; walks by keys alone. With ``--axe``
(axe.min.js of a release of axe-core) all views are held to its rules. Ends with 1 if something is
wrong. Needs Chromium.
"""

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import chromium
import report_plans
from checkout import ROOT

from service_page import visits
from service_page.server import HOST, Served, large_snapshot

MOST_MS = 100
TOKEN = "what-the-file-says"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="30 changes instead of 200")
    parser.add_argument("--axe", help="axe.min.js of a release of axe-core")
    parser.add_argument("--report", help="write the figures into this file")
    parser.add_argument(
        "--pictures", type=Path, default=ROOT / "build" / "service_page", help="where pictures go"
    )
    options = parser.parse_args()
    if chromium.find() is None:
        print(f"service_page: {chromium.HOW_TO_INSTALL}", file=sys.stderr)
        return 1
    options.pictures.mkdir(parents=True, exist_ok=True)
    taken, faults = visited(options)
    p50, p99, most = visits.percentiles(taken)
    if p50 > MOST_MS:
        faults.append(f"try it takes {p50:.0f} ms, more than {MOST_MS}")
    text = (
        f"| try it, 1,000 queues, 50 clients | changes | p50 | p99 | greatest |\n| --- | ---: | ---: | ---: | ---: |\n"
        f"| from the change to its frame (ms) | {len(taken)} | {p50:.0f} | {p99:.0f} | {most:.0f} |\n\n"
        f"axe-core: {'held to its rules' if options.axe else 'not run'}. Faults: {len(faults)}.\n"
    )
    print(text, *(f"FAILED: {one}" for one in faults), sep="\n")
    if options.report:
        Path(options.report).write_text(text, encoding="utf-8")
    return int(bool(faults))


def visited(options):
    """Do it all: the times taken, and what is wrong."""
    with (
        TemporaryDirectory() as profile,
        chromium.Chromium(f"{profile}/profile", [HOST]) as browser,
    ):
        with Served(large_snapshot()) as address:
            faults = list(visits.screens(browser, address, options.pictures))
            faults += visits.keyboard(browser, address)
            taken = visits.latency(browser, address, 30 if options.quick else 200)
            faults += visits.held(browser, address)
            faults += visits.accessible(browser, address, options.axe)
        with Served(large_snapshot(), TOKEN) as address:
            faults += visits.token(browser, address, TOKEN)
        with Served(report_plans.hostile_snapshot()) as address:
            faults += visits.hostile(browser, address)
    return taken, faults


if __name__ == "__main__":
    sys.exit(main())
