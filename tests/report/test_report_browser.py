"""The page in a real browser: no name runs, both themes can be read, tables sort, and it works by
keyboard and on paper.
"""

import zlib

import chromium
import pytest
import report_plans
from page_measures import LOW_CONTRAST, MISPLACED_TEXTS

from rmqalloc.plans import Gates
from rmqalloc.plans.worst_first import worst_groups
from rmqalloc.report.html import report
from rmqalloc.report.html._palette import DARK, LIGHT

pytestmark = pytest.mark.needs("chromium")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium.Chromium(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Files of the reports."""
    folder = tmp_path_factory.mktemp("pages")
    made = {
        "everyday": report(
            report_plans.everyday(), report_plans.everyday_findings(), Gates(max_moved_share=0.2)
        ),
        "hostile": report(
            report_plans.hostile(), report_plans.hostile_findings(), Gates(max_moved=0, max_skew=1)
        ),
        "many": report(report_plans.many()),
        "large": report(report_plans.many(n_groups=0)),
    }
    for name, text in made.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return folder


def rgb(colour):
    return f"rgb({', '.join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))})"


def colours_of(png):
    """How many bytes of all 256 a picture's packed pixels have: a blank one has a handful."""
    data, at = b"", 8
    while at < len(png):
        size = int.from_bytes(png[at : at + 4])
        data += png[at + 8 : at + 8 + size] if png[at + 4 : at + 8] == b"IDAT" else b""
        at += size + 12
    return len(set(zlib.decompress(data)))


# --- Safety ---


@pytest.mark.parametrize("name", ["everyday", "hostile", "many", "large"])
def test_a_page_runs_only_its_own_script_and_asks_for_nothing(browser, pages, name):
    page = chromium.Page(browser, pages / f"{name}.html")
    page.ask("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert page.ask("document.title").startswith("rmqalloc plan of ")
    assert (
        page.ask("document.querySelectorAll('img, iframe, object, embed, form, base, link').length")
        == 0
    )
    assert page.ask("document.querySelectorAll('input:not(.filters input)').length") == 0
    assert page.ask("document.scripts.length") == 1
    assert page.requests() == [page.url]
    assert page.complaints() == []


def test_every_hostile_name_is_seen_as_text(browser, pages):
    text = chromium.Page(browser, pages / "hostile.html").ask(
        "document.querySelector('#s1').textContent"
    )
    assert "<script>document.title='owned'</script>" in text
    assert "\\u202egnp.exe" in text and "nul\\x00 esc\\x1b[2J" in text


def test_clicking_everything_runs_no_name(browser, pages):
    page = chromium.Page(browser, pages / "hostile.html")
    page.ask(
        "document.querySelectorAll('a, button, summary, td, th, bdi').forEach((one) => one.click())"
    )
    assert page.ask("document.title") == "rmqalloc plan of 15 consumer groups"
    assert all(url.startswith(page.url) for url in page.requests())


def test_the_policy_holds_where_escaping_would_fail(browser, pages, tmp_path):
    """Markup put into the page as if a name had got through: nothing of it runs, loads or shows."""
    whole = (pages / "everyday.html").read_text(encoding="utf-8")
    attack = (
        "<script>document.title='owned'</script><img src=http://evil.example/x.png onerror=\"document.title='owned'\">"
        "<style>body{display:none}</style><p id=styled style='display:none'>x</p><iframe src=http://evil.example/></iframe>"
        "<link rel=stylesheet href=http://evil.example/x.css><base href=http://evil.example/>"
    )
    (tmp_path / "attacked.html").write_text(
        whole.replace('<main id="main"', f'{attack}<main id="main"'), encoding="utf-8"
    )
    page = chromium.Page(browser, tmp_path / "attacked.html")
    assert page.ask("document.title") == "rmqalloc plan of 4 consumer groups"
    assert page.ask("getComputedStyle(document.body).display") == "block"
    assert page.ask("getComputedStyle(document.querySelector('#styled')).display") == "block"
    assert page.ask("document.querySelectorAll('th button').length") > 0, (
        "the page's own script still runs"
    )
    refused = "\n".join(map(str, page.complaints()))
    for what in ("script-src", "style-src", "evil.example", "base-uri"):
        assert what in refused


def test_without_scripts_the_page_is_whole(browser, pages):
    page = chromium.Page(browser, pages / "everyday.html", has_scripts=False)
    assert page.ask("document.querySelectorAll('th button').length") == 0
    assert page.ask("document.querySelectorAll('#s1 > .wide tbody tr').length") == 4
    assert page.ask("document.querySelector('#s1 .filters').checkVisibility()") is False
    assert (
        page.ask("document.querySelector('#s1 .wide > svg').getBoundingClientRect().height") > 100
    )


# --- Looks ---


@pytest.mark.parametrize("name", ["everyday", "hostile"])
def test_both_themes_are_drawn_and_can_be_read(browser, pages, name):
    pictures = []
    for is_dark, theme in ((False, LIGHT), (True, DARK)):
        page = chromium.Page(browser, pages / f"{name}.html", is_dark)
        page.ask("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert page.ask("getComputedStyle(document.body).backgroundColor") == rgb(theme["page"])
        assert page.ask(
            "getComputedStyle(document.querySelector('section')).backgroundColor"
        ) == rgb(theme["card"])
        assert page.ask(LOW_CONTRAST) == []
        pictures.append(page.picture())
    assert pictures[0] != pictures[1]
    assert min(map(colours_of, pictures)) > 100


def test_the_measure_of_contrast_sees_what_is_too_pale(browser, tmp_path):
    (tmp_path / "pale.html").write_text(
        "<body style='background:#fff'><p style='color:#999'>pale</p><p>dark</p>"
    )
    assert len(chromium.Page(browser, tmp_path / "pale.html").ask(LOW_CONTRAST)) == 1


@pytest.mark.parametrize("name", ["everyday", "hostile", "many", "large"])
def test_a_narrow_window_scrolls_tables_and_pictures_only(browser, pages, name):
    page = chromium.Page(browser, pages / f"{name}.html", size=(375, 800))
    page.ask("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert page.ask("document.documentElement.scrollWidth") <= 375


@pytest.mark.parametrize("name", ["everyday", "hostile", "large"])
def test_no_text_leaves_its_picture_or_covers_another(browser, pages, name):
    page = chromium.Page(browser, pages / f"{name}.html")
    page.ask("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert page.ask(MISPLACED_TEXTS) == []


def test_a_page_prints(browser, pages):
    assert chromium.Page(browser, pages / "everyday.html").printed().startswith(b"%PDF")


def test_a_printed_page_is_light_and_shows_what_is_folded(browser, pages):
    # The browser ends a print after it has answered, and sets the medium back then: this page was
    # never printed.
    page = chromium.Page(browser, pages / "everyday.html", is_dark=True)
    visible = "document.querySelector('details:not([open]) figure').checkVisibility({contentVisibilityAuto: true})"
    assert page.ask(visible) is False
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    page.call("Emulation.setEmulatedMedia", media="print", features=features)
    page.until(visible)
    assert page.ask("getComputedStyle(document.body).color") == rgb(LIGHT["text"])


# --- Use ---


def column(page, place, table="#s1 > .wide table"):
    shown = (
        f"[...document.querySelectorAll('{table} tbody tr')].filter((row) => row.checkVisibility())"
    )
    return [
        text.removeprefix("! ")
        for text in page.ask(f"{shown}.map((row) => row.cells[{place}].textContent)")
    ]


def test_a_click_sorts_a_table_by_numbers_and_another_turns_it(browser, pages):
    page = chromium.Page(browser, pages / "many.html")
    head = "#s1 > .wide th:nth-child(2)"
    assert page.ask(f"document.querySelector('{head}').textContent") == "moved"
    moved = [int(text) for text in column(page, 1)]
    for order, is_down in (("descending", True), ("ascending", False)):
        page.click(f"{head} button")
        assert page.ask(f"document.querySelector('{head}').getAttribute('aria-sort')") == order
        assert [int(text) for text in column(page, 1)] == sorted(moved, reverse=is_down)
    names = column(page, 0)
    page.click("#s1 > .wide th:nth-child(1) button")
    assert column(page, 0) == sorted(names)
    assert (
        page.ask("document.querySelectorAll('#s1 > .wide th[aria-sort=none]').length")
        == len(page.ask("[...document.querySelectorAll('#s1 > .wide thead th')].map(() => 0)")) - 1
    )


def test_cells_before_and_after_are_sorted_by_after_and_empty_ones_come_last(browser, pages):
    page = chromium.Page(browser, pages / "everyday.html")
    page.click("#s1 > .wide th:nth-child(8) button")
    assert column(page, 7) == ["8 → 10", "7 → 9", "5 → 7", "3 → 5"]
    place = page.ask("document.querySelectorAll('#s1 > .wide thead th').length") - 1
    for _ in range(2):
        page.click("#s1 > .wide th:last-child button")
        assert column(page, place) == ["45,356", "–", "–", "–"]


def test_filters_choose_groups_by_name_and_by_what_becomes_of_them(browser, pages):
    page, plan = chromium.Page(browser, pages / "many.html"), report_plans.many()
    names, first = plan.groups["consumer_group"].to_pylist()[: plan.n_groups], worst_groups(plan, 1)
    ranked = [names[i] for i in first.positions]
    moved = plan.groups["moved"].to_pylist()[len(names) :]
    worse, moves = set(ranked[: first.n_worse]), dict(zip(names, moved, strict=True))
    said = "document.querySelector('#s1 .filters output').value"
    assert (column(page, 0), page.ask(said)) == (ranked, "121 of 121 groups")
    page.click("#s1 .filters input[value=w]")
    assert column(page, 0) == ranked[: first.n_worse]
    page.click("#s1 .filters input[value=m]")
    assert column(page, 0) == [one for one in ranked if one in worse and moves[one]]
    page.click("#s1 .filters input[value=w]")
    page.click("#s1 .filters input[type=search]")
    page.call("Input.insertText", text=" SERVICE-01")
    assert column(page, 0) == [one for one in ranked if one.startswith("service-01") and moves[one]]
    assert page.ask(said) == f"{len(column(page, 0))} of 121 groups"
    drawn = "[...document.querySelectorAll('#s1 > details')].filter((one) => one.checkVisibility()).length"
    assert page.ask(drawn) == len([one for one in ranked[:12] if one in column(page, 0)])


def test_the_keyboard_reaches_the_content_and_sorts(browser, pages):
    page = chromium.Page(browser, pages / "everyday.html")
    page.press("Tab", 9)
    assert page.ask("document.activeElement.className") == "skip"
    assert page.ask("document.activeElement.getBoundingClientRect().left") >= 0
    page.press("Enter", 13)
    assert page.ask("document.activeElement.id") == "main"
    page.ask(
        "document.querySelector('#s1 > .wide th:nth-child(4)').previousSibling.querySelector('button').focus()"
    )
    page.press("Tab", 9)
    style = "getComputedStyle(document.activeElement)"
    assert page.ask(f"[{style}.outlineStyle, {style}.outlineWidth]") == ["solid", "3px"]
    page.press("Enter", 13)
    assert (
        page.ask("document.querySelector('#s1 > .wide th:nth-child(4)').getAttribute('aria-sort')")
        == "descending"
    )


def test_a_screen_reader_is_told_names_of_pictures_and_tables(browser, pages):
    page = chromium.Page(browser, pages / "everyday.html")
    page.ask("document.querySelector('#findings details').open = true")
    page.call("Accessibility.enable")
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    told = {
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in nodes
        if not node.get("ignored")
    }
    assert ("image", "Queues that change, from old owner to new owner") in told
    assert ("table", "2 findings, the most severe first") in told
    assert ("heading", "rmqalloc plan of 4 consumer groups") in told
    assert {role for role, _ in told} >= {
        "banner",
        "navigation",
        "main",
        "contentinfo",
        "columnheader",
        "rowheader",
    }
    assert ("navigation", "Sections") in told
    assert "graphics-symbol" not in {role for role, _ in told}, (
        "shapes are for the eye: the description says the same"
    )
