"""The page on the screens that people have: what matters first, on a desktop without scrolling, on
a phone not sideways.
"""

from dataclasses import replace

import chromium
import pytest
import report_plans
from page_measures import (
    BOX,
    LOW_CONTRAST,
    MISPLACED_TEXTS,
    OFF_SCREEN,
    UNFOLDED,
    WIDER_THAN_ITS_FRAME,
)

import rmqalloc
from rmqalloc.plans import Gates
from rmqalloc.report.html import report
from rmqalloc.report.html._check_page import check_page
from rmqalloc.report.html._palette import LIGHT
from rmqalloc.report.html._style import style_sheet
from rmqalloc.report.html.advice_page import advice_page

pytestmark = pytest.mark.needs("chromium")

DESKTOP, PHONES = (1280, 800), ((360, 640), (390, 844))
KEY_FIGURES = ("moved", "idle", "unowned", "double-owned")
PLANS, OTHERS = ("everyday", "whole", "hostile", "many"), ("check", "advice")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium.Chromium(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Files of the reports."""
    folder, gates = tmp_path_factory.mktemp("pages"), Gates(max_moved_share=0.2)
    plan, findings = report_plans.whole()
    hostile, hostile_findings = report_plans.whole(report_plans.HOSTILE)
    made = {
        "everyday": report(report_plans.everyday(), report_plans.everyday_findings(), gates),
        "whole": report(plan, findings, gates),
        "whole-hostile": report(hostile, hostile_findings, gates),
        "hostile": report(
            report_plans.hostile(), report_plans.hostile_findings(), Gates(max_moved=0, max_skew=1)
        ),
        "many": report(report_plans.many()),
        "check": check_page(findings),
        "advice": advice_page(rmqalloc.recommend(report_plans.hostile_snapshot())),
    }
    for name, text in made.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return folder


def boxes(page, selector):
    return page.ask(
        f"[...document.querySelectorAll('{selector}')].filter((e) => e.checkVisibility()).map({BOX})"
    )


# --- A desktop ---


def test_a_long_finding_ends_after_two_lines_and_is_whole_in_the_table(browser, pages, tmp_path):
    words = "clients use different strategies " * 9
    found = [replace(one, message=words, advice=words) for one in report_plans.everyday_findings()]
    (tmp_path / "long.html").write_text(report(report_plans.everyday(), found), encoding="utf-8")
    page = chromium.Page(browser, tmp_path / "long.html", size=DESKTOP)
    for _, top, _, bottom in boxes(page, "#findings .found > li"):
        assert 40 < bottom - top < 60
    assert words in page.ask("document.querySelector('#findings tbody').textContent")


@pytest.mark.parametrize(
    ("name", "n_findings"), [("everyday", 2), ("whole", 3), ("whole-hostile", 3), ("hostile", 3)]
)
def test_findings_and_headline_figures_are_seen_without_scrolling(browser, pages, name, n_findings):
    page = chromium.Page(browser, pages / f"{name}.html", size=DESKTOP)
    found, figures = (
        boxes(page, "#findings .found > li"),
        boxes(page, "#summary .tiles:first-of-type > li"),
    )
    unread = boxes(page, "#unread > .wide tbody tr")
    assert (len(found), len(figures), len(unread)) == (
        n_findings,
        5,
        3 if name.startswith("whole") else 0,
    )
    for left, top, right, bottom in (*unread, *found, *figures):
        assert 0 <= left < right <= DESKTOP[0] and 0 <= top < bottom <= DESKTOP[1]


def test_what_matters_most_stands_first(browser, pages):
    page = chromium.Page(browser, pages / "whole.html", size=DESKTOP)
    order = (
        "h1",
        ".evidence",
        "#unread",
        "#findings",
        "#summary",
        "#s1",
        "#s2",
        "#evidence",
        "#origin",
    )
    tops = [boxes(page, selector)[0][1] for selector in order]
    assert tops == sorted(set(tops))
    ids = page.ask("[...document.querySelectorAll('main > section')].map((one) => one.id)")
    assert ids == [one.removeprefix("#") for one in order[2:]], (
        "what is read out has the same order"
    )


# --- A phone ---


@pytest.mark.parametrize("size", PHONES)
@pytest.mark.parametrize("name", [*PLANS, "whole-hostile", *OTHERS])
def test_no_page_is_wider_than_a_phone(browser, pages, name, size):
    page = chromium.Page(browser, pages / f"{name}.html", size=size, is_phone=True)
    page.ask(UNFOLDED)
    assert page.ask("innerWidth") == size[0], "a phone shows a page that does not fit smaller"
    assert page.ask("document.documentElement.scrollWidth") <= size[0]
    assert page.ask("[visualViewport.width, visualViewport.scale]") == [size[0], 1]
    assert page.ask(WIDER_THAN_ITS_FRAME) == []
    assert (
        page.ask(
            f"{OFF_SCREEN}('h1, h2, .evidence, .found li, .tiles b, table.cards th, table.cards td')"
        )
        == []
    )


@pytest.mark.parametrize("size", PHONES)
@pytest.mark.parametrize("name", PLANS)
def test_the_figures_that_matter_of_every_group_are_on_a_phone(browser, pages, name, size):
    page = chromium.Page(browser, pages / f"{name}.html", size=size, is_phone=True)
    cards = page.ask(
        "[...document.querySelectorAll('#s1 > .wide tbody tr')].map((row) => [...row.cells]"
        ".filter((one) => one.checkVisibility()).map((one) => [one.dataset.l ?? '', one.textContent, "
        "getComputedStyle(one, '::before').content, one.getBoundingClientRect().width]))"
    )
    plan = {
        "everyday": report_plans.everyday,
        "hostile": report_plans.hostile,
        "many": report_plans.many,
    }
    n_groups = plan.get(name, report_plans.everyday)().n_groups
    assert len(cards) == n_groups
    for (_, group, _, _), *cells in cards:
        said = {label: text for label, text, _, _ in cells}
        assert group and set(KEY_FIGURES) <= said.keys()
        assert all(said[one] for one in KEY_FIGURES)
        assert all(seen == f'"{label}"' and width > 40 for label, _, seen, width in cells)
        assert "topics" not in said, "lesser figures are left out"


# --- The timeline ---


@pytest.mark.parametrize("size", [DESKTOP, PHONES[0]])
def test_no_text_of_a_timeline_leaves_it_or_covers_another(browser, pages, size):
    page = chromium.Page(browser, pages / "whole.html", size=size, is_phone=size is not DESKTOP)
    page.ask(UNFOLDED)
    assert page.ask("document.querySelectorAll('svg.small').length") >= 6
    assert page.ask(MISPLACED_TEXTS) == []


def test_a_timeline_is_read_out_with_its_worst_moments(browser, pages):
    page = chromium.Page(browser, pages / "whole.html")
    page.call("Accessibility.enable")
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    told = {
        one["name"]["value"]: one.get("description", {}).get("value", "")
        for one in nodes
        if one.get("name")
    }
    said = told["Unowned and double-owned queues, step by step"]
    assert (
        "Worst moment: while clients are being notified" in said
        and "for 40 s at most, 21.5 s in 99 of 100 cases." in said
    )


@pytest.mark.parametrize("is_dark", [False, True])
def test_forced_colours_take_the_place_of_ours(browser, pages, is_dark):
    page = chromium.Page(browser, pages / "whole.html", is_dark, forced_colors=True)
    assert page.ask("matchMedia('(forced-colors: active)').matches")
    fill = "getComputedStyle(document.querySelector('svg.small {}')).{}"
    canvas, ink = (
        page.ask("getComputedStyle(document.body).backgroundColor"),
        page.ask(fill.format(".worst", "stroke")),
    )
    assert (
        page.ask(fill.format(".worst", "fill"))
        == canvas
        != ink
        == page.ask(fill.format("text", "fill"))
    )
    assert page.ask(fill.format(".expected", "stroke")) not in (canvas, ink)
    assert page.ask(LOW_CONTRAST) == []
    assert LIGHT["card"] in style_sheet() and canvas != LIGHT["page"]
