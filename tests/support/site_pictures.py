"""Pictures of the built guide in ``docs/images/``: ``make site``, then ``python tests/support/site_pictures.py``."""

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import chromium
from checkout import ROOT

SITE = ROOT / "build" / "site"
IMAGES = ROOT / "docs" / "images"
SIZE = (1240, 740)
PAGES = {
    "start": "index.html",
    "how-to": "how-to/scale.html",
    "commands": "commands.html",
    "api": "api/plans.html",
    "how-it-works": "how-it-works.html",
}
TARGETS = {"commands": "#plan", "how-it-works": "#the-house"}
"""What a picture begins with, where that is not the page's beginning."""


def main():
    if chromium.find() is None:
        return chromium.HOW_TO_INSTALL
    if not (SITE / "index.html").exists():
        return f"there is no site in {SITE}: run make site"
    with TemporaryDirectory() as folder, chromium.Chromium(f"{folder}/profile") as browser:
        for name, path in PAGES.items():
            for theme in ("light", "dark"):
                (IMAGES / f"guide-{name}-{theme}.png").write_bytes(
                    picture(browser, SITE / path, theme, TARGETS.get(name))
                )
    return 0


def picture(browser, path, theme, target):
    """A page in a theme, once all of it is there; nothing may come from elsewhere."""
    page = chromium.Page(browser, Path(path), theme == "dark", SIZE)
    page.until("document.readyState === 'complete' && [...document.images].every(one => one.complete)")
    if target:
        page.ask(f"document.querySelector('{target}').scrollIntoView(); scrollBy(0, -110)")
    foreign = [url for url in page.requests() if not url.startswith(("file:", "data:", "about:", "blob:"))]
    if foreign:
        raise SystemExit(f"{path.name} asks for {foreign}")
    time.sleep(1)  # the header turns from the site's name to the page's
    made = page.picture()
    page.ask("localStorage.clear()")  # a theme that was chosen is remembered for all pages
    return made


if __name__ == "__main__":
    sys.exit(main())
