"""Rank the right page of each question in users' words: ``make site``, then ``python
tests/support/site_search.py``.

The site's own worker answers from the site's own index, in Chromium, after ``docs/search.js`` as on
the site. A page counts once, by its best section, as in the list of hits. ``--at-least N`` ends
with 1 if fewer than N questions find their page first, or if a page of names or figures stands
before another one.
"""

import argparse
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import chromium
from checkout import DATA, ROOT

SITE = ROOT / "build" / "site"
QUESTIONS = DATA / "search-questions.tsv"
LAST = ("api/", "evidence.html", "changelog.html")
"""Pages of names, figures and history come after all others."""
WORDS = (
    "plan",
    "rollout",
    "gates",
    "lag",
    "rebalance",
    "fleet",
    "consistent hash",
    "evidence",
    "allocate",
)
"""Words that such pages have in their titles."""
# The worker runs as a script of the page: its messages go through these two functions.
BRIDGE = """
const listeners = [], replies = [];
window.addEventListener = (kind, listener) => listeners.push(listener);
window.postMessage = message => replies.push(message);
"""
ASK = """
(async () => {
  await listeners[0]({data: {type: 0, data: INDEX}});
  for (const question of QUESTIONS) await listeners[0]({data: {type: 2, data: withoutEmptyWords(question)}});
  window.hits = replies.filter(reply => reply.type === 3).map(reply => reply.data.items.map(item => item[0].location));
})()
"""


def questions():
    """Return the questions, each with the pages that answer it."""
    lines = [
        line
        for line in QUESTIONS.read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")
    ]
    return {
        question: pages.split() for question, pages, _ in (line.split("\t") for line in lines[1:])
    }


def hits(site, asked):
    """Return the pages that the site's search lists for each question, best first."""
    (worker,) = (site / "assets" / "javascripts" / "workers").glob("search.*.min.js")
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    data = f"const INDEX = {json.dumps(index | {'options': {'suggest': False}})}, QUESTIONS = {json.dumps(asked)};"
    with (
        TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        chromium.Chromium(f"{folder}/profile") as browser,
    ):
        texts = {
            "bridge": BRIDGE,
            "search": (site / "search.js").read_text("utf-8"),
            "worker": worker.read_text(encoding="utf-8"),
            "ask": data + ASK,
        }
        for name, text in texts.items():
            (Path(folder) / f"{name}.js").write_text(text, encoding="utf-8")
        page = Path(folder) / "page.html"
        page.write_text(
            '<meta charset="utf-8">'
            + "".join(f'<script src="{name}.js"></script>' for name in texts),
            "utf-8",
        )
        opened = chromium.Page(browser, page)
        opened.until("typeof hits === 'object'")
        found = opened.ask("hits")
    return [list(dict.fromkeys(location.partition("#")[0] for location in one)) for one in found]


def rank(listed, right):
    """Return the rank of the first right page, from 1; None if the search does not list one."""
    return next((i for i, page in enumerate(listed, 1) if page in right), None)


def too_early(listed):
    """Return the pages of names and figures that stand before another page.

    >>> too_early(["plan.html", "api/plans.html", "check.html", "evidence.html"])
    ['api/plans.html']
    """
    others = [i for i, page in enumerate(listed) if not page.startswith(LAST)]
    return [page for page in listed[: max(others, default=0)] if page.startswith(LAST)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("--site", type=Path, default=SITE)
    parser.add_argument("--at-least", type=int, default=0, metavar="N")
    given = parser.parse_args()
    if chromium.find() is None:
        return chromium.HOW_TO_INSTALL
    asked = questions()
    found = hits(given.site, [*asked, *WORDS])
    n_first = n_early = 0
    for words, listed in zip([*asked, *WORDS], found, strict=True):
        if early := too_early(listed):
            n_early += 1
            print(f"   !  {words:45} {', '.join(early)} before other pages")
    for (question, right), listed in zip(asked.items(), found, strict=False):
        place = rank(listed, right)
        n_first += place == 1
        print(
            f"{place or '-':>4}  {question:45} {', '.join(right)}"
            + ("" if place == 1 else f"; first: {listed[0] if listed else '-'}")
        )
    print(f"{n_first} of {len(asked)} questions find their page first")
    print(f"{n_early} of {len(found)} lists have names or figures before another page")
    return int(n_first < given.at_least or n_early > 0)


if __name__ == "__main__":
    sys.exit(main())
