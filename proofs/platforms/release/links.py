"""Links: of the built guide, by LinkChecker, and of the pages that stand outside it."""

import re
from pathlib import Path

from platforms.release.check import Check, run


def of_the_site(site: Path, tools: Path) -> Check:
    """Every link and anchor between pages of the guide; links to elsewhere are not followed, and
    counted.
    """
    index = site / "index.html"
    if not index.exists():
        return Check("Links of the guide", False, "`make site` made no index.html")
    said = run(
        tools / "linkchecker", "--no-warnings", "--ignore-url", "^(https?|mailto):", index.as_uri()
    )
    counted = re.search(r"(\d+) links? in (\d+) URLs? checked.* (\d+) errors? found", said)
    if not counted:
        return Check("Links of the guide", False, f"LinkChecker said {said[-200:]!r}")
    n_links, n_pages, n_errors = map(int, counted.groups())
    return Check(
        "Links of the guide",
        n_errors == 0 and n_links > 200,
        f"{n_links:,} links to {n_pages:,} targets",
    )


def of_the_papers(clone: Path) -> Check:
    """Links of pages at the top and of forms to files; anchors among headings."""
    pages = [*clone.glob("*.md"), *(clone / ".github").rglob("*.md")]
    lost, n_links = [], 0
    for page in pages:
        for target, anchor in re.findall(r"\]\(([^)#\s]*)(#[^)\s]*)?\)", page.read_text("utf-8")):
            if "://" in target or target.startswith("mailto:"):
                continue
            n_links += 1
            file = page.parent / target if target else page
            if not file.exists() or (
                anchor and file.suffix == ".md" and anchor[1:] not in anchors(file)
            ):
                lost.append(f"{page.name}: {target}{anchor}")
    return Check(
        "Links of README and its neighbours",
        not lost,
        f"lost: {', '.join(lost)}" if lost else f"{n_links} links",
    )


def anchors(page: Path) -> set[str]:
    """Names under which the headings of a page are reached."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings
    }
