"""Questions of readers, asked of the search of the built guide in a real browser: ``python -m
site_search SITE``.

A question is answered if one of its pages is among the first three that the search shows. The
program ends with 1 if fewer than `ENOUGH` questions are answered.
"""

import csv
import functools
import http.server
import json
import sys
import tempfile
import threading
from pathlib import Path

from checkout import ROOT
from chromium import HOW_TO_INSTALL, Chromium, Page, find

QUESTIONS = ROOT / "docs" / "site" / "questions.tsv"
"""A line for each question: who asks, the words, and the pages that answer it."""
ENOUGH = 55
FIRST = 3

TYPE = """
((question) => {
  const input = document.querySelector(".md-search__input");
  input.focus();
  input.value = question;
  input.dispatchEvent(new Event("input", {bubbles: true}));
  input.dispatchEvent(new KeyboardEvent("keyup", {bubbles: true}));
})
"""
SHOWN = """
[...document.querySelectorAll(".md-search-result__item")].map(
  (item) => new URL(item.querySelector("a").href).pathname.slice(1).replace(/\\.html$/, ""))
"""
IS_EMPTY = "/^No /.test(document.querySelector('.md-search-result__meta').textContent.trim())"
IS_READY = (
    "document.querySelector('.md-search-result__meta')?.textContent !== 'Initializing search'"
)


def main(site: Path) -> int:
    """Ask all questions; print those that are not answered, and how many are."""
    if find() is None:
        print(HOW_TO_INSTALL, file=sys.stderr)
        return 1
    questions = list(csv.DictReader(QUESTIONS.open(encoding="utf-8"), delimiter="\t"))
    handler = functools.partial(Quiet, directory=site)
    with (
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server,
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
        Chromium(profile, reachable=["127.0.0.1"]) as browser,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = Page(browser, site / "index.html")
        page.call("Page.navigate", url=f"http://127.0.0.1:{server.server_port}/index.html")
        browser.wait("Page.loadEventFired", page._session)
        page.until("document.querySelector('.md-search__input') !== null")
        missed = [row for row in questions if not is_answered(page, row)]
        server.shutdown()
    n_answered = len(questions) - len(missed)
    print(
        f"{n_answered} of {len(questions)} questions find a page that answers them among the first {FIRST}"
    )
    return int(n_answered < ENOUGH)


def is_answered(page: Page, row: dict[str, str]) -> bool:
    """Whether a page of the question is among the first; what was found is printed if not."""
    found = first(page, row["question"])
    if {*found} & {*row["pages"].split()}:
        return True
    print(
        f"{row['reader']}: {row['question']!r} finds {', '.join(found) or 'nothing'}; not {row['pages']}"
    )
    return False


def first(page: Page, question: str) -> list[str]:
    """Return the first pages that the search shows for a question."""
    page.ask(f"{TYPE}('')")
    page.until(f"{SHOWN}.length === 0")
    page.ask(f"{TYPE}({json.dumps(question)})")
    page.until(f"{IS_READY} && ({SHOWN}.length > 0 || {IS_EMPTY})")
    return page.ask(SHOWN)[:FIRST]


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serve files without a line for each request."""

    def log_message(self, *_: object) -> None:
        """Print nothing."""


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
