"""The page of a plan as text: what it holds, what it must never hold, and what helps people read
it.
"""

import base64
import hashlib
import re
from collections import Counter
from functools import cache
from itertools import pairwise

import numpy as np
import pandas
import pyarrow as pa
import pytest
import report_plans
from hypothesis import given
from hypothesis import strategies as st
from page_reader import Page

from rmqalloc.audit import Findings
from rmqalloc.plans import Gates, load_plan, plan_snapshot, save_plan
from rmqalloc.plans._plan import CLIENTS_SCHEMA
from rmqalloc.report.html import report
from rmqalloc.report.html._check_page import check_page
from rmqalloc.report.html._palette import (
    DARK,
    HEAT_DARK,
    HEAT_LIGHT,
    LIGHT,
    REST_DARK,
    REST_LIGHT,
    SERIES_DARK,
    SERIES_LIGHT,
)
from rmqalloc.report.html.charts._flows import _flows, _folded
from rmqalloc.report.html.charts._loads import MOST_CLIENTS, MOST_TOPICS, Loads
from rmqalloc.snapshot.snapshot import Group, Snapshot, Topic, TopicBroker
from rmqalloc.text import printable

PICTURES = {"svg", "g", "rect", "path", "line", "text", "title", "desc"}
TAGS = PICTURES | {
    *(
        "html",
        "head",
        "meta",
        "style",
        "script",
        "body",
        "header",
        "nav",
        "main",
        "section",
        "footer",
    ),
    *("h1", "h2", "h3", "h4"),
    *(
        "a",
        "ul",
        "li",
        "bdi",
        "p",
        "b",
        "strong",
        "span",
        "br",
        "code",
        "dl",
        "dt",
        "dd",
        "figure",
        "figcaption",
    ),
    *("div", "table", "caption", "thead", "tbody", "tr", "th", "td", "details", "summary"),
    *("label", "input", "output"),
}


@cache
def everyday_page():
    return report(report_plans.everyday(), report_plans.everyday_findings())


@cache
def hostile_page():
    return report(
        report_plans.hostile(), report_plans.hostile_findings(), Gates(max_moved=0, max_skew=1)
    )


@cache
def large_page():
    return report(report_plans.many())


@cache
def whole_page():
    plan, findings = report_plans.whole(report_plans.HOSTILE)
    return report(plan, findings, Gates(max_moved_share=0.2))


@cache
def audit_page():
    unread = report_plans.unread(
        *report_plans.HOSTILE, detail=report_plans.HOSTILE[0], n=len(report_plans.HOSTILE)
    )
    return check_page(Findings(report_plans.hostile_findings(), unread))


PAGES = (everyday_page, hostile_page, large_page, whole_page, audit_page)


# --- Safety ---


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("made", [hostile_page, whole_page, audit_page])
def test_hostile_names_make_no_element_no_handler_and_no_link(made):
    page = Page(made())
    assert {tag for tag, _ in page.elements} <= TAGS
    for tag, attributes in page.elements:
        assert not any(
            name.startswith("on") or name in ("style", "src", "srcdoc", "action")
            for name in attributes
        ), tag
        assert all(value.startswith("#") for name, value in attributes.items() if "href" in name)
    assert len(page.all("script")) == len(page.all("style")) == 1
    for name in report_plans.HOSTILE if made is not whole_page else report_plans.HOSTILE[:1]:
        assert len(name) > 48 or printable(name) in page.said()


@pytest.mark.parametrize("page", PAGES)
def test_nothing_invisible_is_in_a_page(page):
    assert all(c == "\n" or c.isprintable() for c in page())


def test_a_name_of_5000_characters_is_shortened_and_told():
    page = Page(hostile_page())
    assert max(len(text) for tag, text in page.texts if tag not in ("script", "style")) < 2000
    assert (
        max(len(value) for _, attributes in page.elements for value in attributes.values() if value)
        < 25_000
    )
    assert "(5,000 characters)" in hostile_page()


def test_names_are_isolated_so_that_none_turns_the_line_it_stands_in():
    hebrew = report_plans.HOSTILE[6]
    tags = Counter(tag for tag, text in Page(hostile_page()).texts if hebrew in text)
    assert tags["bdi"] > 20
    # Texts and titles of pictures and labels of tables are strings of their own; nothing of ours
    # follows in the same line.
    assert set(tags) <= {"bdi", "text", "title", "desc", "code"}


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("page", PAGES)
def test_the_policy_names_the_style_and_the_script_that_are_there_and_allows_nothing_else(page):
    parsed = Page(page())
    policy = next(
        one["content"]
        for one in parsed.all("meta")
        if one.get("http-equiv") == "Content-Security-Policy"
    )
    allowed = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        text = "".join(text for where, text in parsed.texts if where == tag)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert allowed.pop(directive) == f"'sha256-{digest}'"
    assert allowed == {"default-src": "'none'", "base-uri": "'none'", "form-action": "'none'"}
    assert (
        parsed.elements.index(("style", {})) > [tag for tag, _ in parsed.elements].index("meta") + 1
    )


@pytest.mark.parametrize("page", PAGES)
def test_a_page_loads_nothing(page):
    text = re.sub(r"<title.*?</title>|data-v=\".*?\"", "", page())
    assert not re.search(r"@import|url\(|<link|<iframe|<object|<embed|xlink", text)


# --- Reading it ---


@pytest.mark.parametrize("page", PAGES)
def test_landmarks_and_headings_are_in_order(page):
    parsed = Page(page())
    assert parsed.all("html") == [{"lang": "en"}]
    for landmark in ("header", "nav", "main", "footer", "h1"):
        assert len(parsed.all(landmark)) == 1
    levels = [int(tag[1]) for tag, _ in parsed.elements if re.fullmatch("h[1-6]", tag)]
    assert all(after <= before + 1 for before, after in pairwise(levels))
    ids = [attributes["id"] for _, attributes in parsed.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {one["href"][1:] for one in parsed.all("a")} <= set(ids)
    assert all(one["aria-labelledby"] in ids for one in parsed.all("section"))


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("page", PAGES)
def test_tables_have_captions_and_scopes_and_pictures_have_titles(page):
    parsed = Page(page())
    assert len(parsed.all("table")) == len(parsed.all("caption")) > 1
    assert {one["scope"] for one in parsed.all("th")} == {"col", "row"}
    ids = {attributes.get("id") for _, attributes in parsed.elements}
    pictures = [one for one in parsed.all("svg") if one.get("aria-hidden") != "true"]
    assert len(pictures) >= (0 if page is audit_page else 6)
    for one in pictures:
        assert one["role"] == "img" and {one["aria-labelledby"], one["aria-describedby"]} <= ids


def contrast(one, other):
    """Of two colours, as WCAG 2 defines it."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_contrast_is_measured_right():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize(
    ("theme", "series", "rest", "heat"),
    [(LIGHT, SERIES_LIGHT, REST_LIGHT, HEAT_LIGHT), (DARK, SERIES_DARK, REST_DARK, HEAT_DARK)],
)
def test_colours_have_enough_contrast(theme, series, rest, heat):
    for ground in ("page", "card", "band"):
        for text in ("text", "soft", "link", "good", "warn", "bad"):
            assert contrast(theme[text], theme[ground]) >= 4.5, (text, ground)
    assert min(contrast(colour, theme["card"]) for colour in (*series, rest)) >= 3
    assert min(contrast(text, ground) for ground, text in heat) >= 4.5


def test_both_themes_have_the_same_colours():
    assert LIGHT.keys() == DARK.keys()
    assert (len(SERIES_LIGHT), len(HEAT_LIGHT)) == (len(SERIES_DARK), len(HEAT_DARK))


# --- What it says ---


def test_the_summary_says_what_every_scenario_comes_to():
    plan = report_plans.everyday()
    said = Page(report(plan, gates=Gates(max_moved_share=0.2))).said()
    for scenario in plan.scenarios:
        moved = sum(
            row["moved"] for row in plan.groups.to_pylist() if row["scenario"] == scenario.name
        )
        assert f"{scenario.name}: {moved} queues change owner in " in said
    assert (
        plan.digest in said
        and plan.input_digest in said
        and f"rmqalloc {plan.tool_version}" in said
    )
    assert "All groups are included." in said and not plan.warnings
    assert "✗ 3 bounds are not kept (max_moved_share 0.2)" in said
    assert (
        "✓ Every group keeps the bounds (max_moved 100)."
        in Page(report(plan, gates=Gates(max_moved=100))).said()
    )


def test_the_summary_says_what_the_plan_leaves_out():
    topics = (Topic("t", (TopicBroker("b", 4),)),)
    groups = (Group("g", ("t",), strategy="AVG"), Group("unsure", ("t",)))
    plan = plan_snapshot(Snapshot(topics, groups), [])
    said = Page(report(plan)).said()
    assert len(plan.warnings) == 1 and plan.warnings[0] in said and "! 1 warning" in said


def test_a_page_of_a_saved_plan_is_that_of_the_plan(tmp_path):
    plan = report_plans.everyday()
    save_plan(plan, tmp_path / "plan.json")
    # A file keeps neither: the snapshot, from which both are made when they are read, is not in it.
    kept = report_plans.with_tables(plan, evidence=(), transitions=())
    assert plan.evidence.num_rows and plan.transitions().num_rows
    assert report(load_plan(tmp_path / "plan.json")) == report(kept) != report(plan)
    assert report(plan) == report(report_plans.everyday())


def test_many_groups_are_folded_the_worst_first():
    parsed = Page(large_page())
    assert "(!) and are listed first" in parsed.said()
    assert [
        *map(
            "tr".__eq__,
            (tag for tag, one in parsed.elements if "g" in one.get("class", "").split()),
        )
    ].count(True) == 121
    assert parsed.said().count("Owners") == 12
    assert "Charts of 109 more groups are left out." in parsed.said()
    assert len(large_page()) < 1_000_000


def test_many_clients_and_topics_are_folded_in_pictures():
    parsed = Page(report(report_plans.many(n_groups=0)))
    texts = Counter(text for tag, text in parsed.texts if tag == "text")
    assert texts["others (50 clients)"] == 2, "owners and evenness have the same rows"
    assert any(text.startswith("others (4 topics)") for tag, text in parsed.texts if tag == "bdi")
    assert "50 of 90 clients; all rows are in the saved plan" in parsed.said()


def test_what_could_not_be_planned_says_why():
    said = Page(hostile_page()).said()
    assert "Not planned" in said
    assert "5 rows without figures" in said
    topic = Topic("t", (TopicBroker("b", 4),))
    empty = plan_snapshot(
        Snapshot((topic,), (Group("g", ("t",), strategy="AVG"),)),
        [{"name": "s", "changes": [{"scale_clients": {"to": 0}}]}],
    )
    assert "The group has no clients" in Page(report(empty)).said()
    assert (
        "There is no scenario"
        in Page(
            report(plan_snapshot(Snapshot((topic,), (Group("g", ("t",), strategy="AVG"),)), []))
        ).said()
    )


def test_findings_come_gravest_first_with_a_sign_before_the_colour():
    said = Page(everyday_page()).said()
    assert said.index("✗ error") < said.index("! warning")
    assert "and 1 more" in said
    assert "Findings" not in Page(report(report_plans.everyday())).said()


# --- Folding ---


@given(st.integers(1, 90), st.integers(1, 15), st.integers(0, 2**32 - 1))
def test_folded_loads_lose_nothing(n_clients, n_topics, seed):
    rng = np.random.default_rng(seed)
    n = n_clients * n_topics
    status = np.repeat(rng.choice(["new", "gone", "stays"], n_clients), n_topics)
    counts = rng.integers(0, 9, (2, n)) * [status != "new", status != "gone"]
    columns = {
        "topic": np.tile([f"t{i}" for i in range(n_topics)], n_clients),
        "client_id": np.repeat([f"c{i}" for i in range(n_clients)], n_topics),
        "before": counts[0],
        "after": counts[1],
        "status": status,
    }
    filled = {
        field.name: columns.get(field.name, pa.nulls(n, field.type)) for field in CLIENTS_SCHEMA
    }
    means = {f"t{i}": float(i) for i in range(n_topics)}
    loads = Loads.of(pa.table(filled, schema=CLIENTS_SCHEMA), means, means)
    assert len(loads.labels) <= MOST_CLIENTS + 1 and len(loads.topics) <= MOST_TOPICS + 1
    for side, owned, absent in ((loads.before, counts[0], "new"), (loads.after, counts[1], "gone")):
        assert side.owned.shape == (len(loads.labels), len(loads.topics)) == side.shares.shape
        assert side.owned.sum() == owned.sum()
        assert side.there.sum() == (status != absent).sum() // n_topics
        assert side.mean.sum() == sum(means.values())
        assert np.nansum(side.each * side.there[:, None]) == pytest.approx(owned.sum())
    assert (
        loads.has_other_topics
        == (n_topics > MOST_TOPICS + 1)
        == (loads.topics[-1].startswith("others"))
    )


@given(st.integers(2, 60), st.integers(0, 2**32 - 1))
def test_folded_flows_lose_nothing(n_clients, seed):
    rng = np.random.default_rng(seed)
    owners = np.array([*(f"c{i}" for i in range(n_clients)), None], object)
    before, after = owners[rng.integers(0, n_clients + 1, (2, 300))]
    changes = [
        "kept" if one == other else "moved" for one, other in zip(before, after, strict=True)
    ]
    queues = pa.table(
        {
            "owner_before": pa.array(before, pa.string()),
            "owner_after": pa.array(after, pa.string()),
            "change": changes,
        }
    )
    flows = _flows(queues)
    folded = _folded(_folded(flows, 0), 1)
    assert sum(flows.values()) == sum(folded.values()) == changes.count("moved")
    assert all(len({ends[side] for ends in folded}) <= MOST_CLIENTS + 1 for side in (0, 1))


# --- Elsewhere ---


def test_other_libraries_read_a_plan_as_arrow():
    plan = report_plans.everyday()
    assert pa.table(plan).equals(plan.units)
    assert pa.RecordBatchReader.from_stream(plan).read_all().equals(plan.units)
    assert pandas.DataFrame(pa.table(plan).to_pandas())["moved"].sum() == sum(
        plan.units["moved"].to_pylist()
    )


@pytest.mark.needs("polars")
def test_polars_reads_a_plan():
    import polars

    plan = report_plans.everyday()
    assert polars.DataFrame(plan)["moved"].to_list() == plan.units["moved"].to_pylist()


@pytest.mark.needs("duckdb")
def test_duckdb_reads_a_plan():
    import duckdb

    plan = report_plans.everyday()
    assert duckdb.sql("select sum(moved) from plan").fetchall() == [
        (sum(plan.units["moved"].to_pylist()),)
    ]


def test_a_notebook_shows_ten_rows_at_most_and_no_name_is_markup():
    shown = report_plans.many()._repr_html_()
    assert shown.count("<tr>") == 11 and "111 more rows" in shown
    hostile = report_plans.hostile()._repr_html_()
    assert {tag for tag, _ in Page(hostile).elements} <= {
        "div",
        "b",
        "bdi",
        "table",
        "tr",
        "th",
        "td",
    }
    assert all(c.isprintable() for c in hostile)
