"""Measure pages of the guide in Chromium: ``make site``, then ``python
tests/support/site_looks.py``.

On a laptop's 1280 px, in light and dark: what stands in blocks has a contrast of 4.5:1 at least, no
line of a block and no table is wider than its frame, and no name of an option is broken.
"""

import argparse
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import chromium
from page_measures import LOW_CONTRAST_IN
from site_search import SITE

PAGES = (
    "index",
    "data-engineer",
    "client-author",
    "command-line",
    "commands",
    "plan",
    "how-to/deploy",
    "api/plans",
)
SHOWN = 5
SCHEMES = {"light": "default", "dark": "slate"}
AT_ONCE = """
document.head.append(Object.assign(document.createElement("style"), {textContent: "* { transition: none !important; }"})); 0
"""
CUT = """
[...document.querySelectorAll(".md-typeset pre > code, .md-typeset__scrollwrap")]
  .filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.textContent.trim().slice(0, 60))
"""
BROKEN = """
[...document.querySelectorAll("td:first-child code")]
  .filter((one) => /^--?[a-z-]+$/.test(one.textContent) && one.getClientRects().length > 1).map((one) => one.textContent)
"""


def faults(page):
    """Return what cannot be read on an open page, each with what is wrong."""
    page.ask(AT_ONCE)
    for scheme, name in SCHEMES.items():
        page.ask(f"document.body.setAttribute('data-md-color-scheme', {json.dumps(name)})")
        pale = page.ask(f"{LOW_CONTRAST_IN}('.md-typeset pre code, .md-typeset pre code *')")
        yield from ((f"pale in {scheme}", one) for one in pale)
    yield from (("cut", one) for one in page.ask(CUT))
    yield from (("broken", one) for one in page.ask(BROKEN))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("--site", type=Path, default=SITE)
    site = parser.parse_args().site
    if chromium.find() is None:
        return chromium.HOW_TO_INSTALL
    n_faults = 0
    with (
        TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        chromium.Chromium(folder) as browser,
    ):
        for name in PAGES:
            page = chromium.Page(browser, site / f"{name}.html", size=(1280, 900))
            found = list(faults(page))
            n_faults += len(found)
            for what, text in found[:SHOWN]:
                print(f"{name}: {what}: {text}")
            page.call("Page.close")
    print(f"{len(PAGES)} pages, {n_faults} faults")
    return int(n_faults > 0)


if __name__ == "__main__":
    sys.exit(main())
