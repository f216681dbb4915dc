"""The timeline of a transition: bars, lines and the mark against the table that they are drawn
from.
"""

import re

import numpy as np
import report_plans
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples
from page_reader import Page

from rmqalloc.report.html import report
from rmqalloc.report.html.charts._transition import (
    MOST_BARS,
    PANEL,
    Exposure,
    TransitionStep,
    transition_figure,
    worst_moment,
)

RECT = re.compile(
    r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)" class="worst (s\d)( bound)?"><title>(.*?)</title>'
)
LINE = re.compile(r'<line class="expected" x1="([\d.]+)" x2="[\d.]+" y1="([\d.]+)"')
PEAK = re.compile(r'<path class="peak" d="M([\d.]+) ([\d.]+)h10l-5 7z"/>')

exposures = st.builds(
    Exposure,
    worst=st.integers(0, 10**6),
    is_exact=st.booleans(),
    expected=st.none() | st.floats(0, 1),
    seconds_worst=st.none() | st.floats(0, 10**5),
).map(lambda one: one if one.expected is None else one._replace(expected=one.expected * one.worst))


def steps_of(pairs):
    return [TransitionStep(str(i), f"step {i}", pair) for i, pair in enumerate(pairs)]


@examples(60, nightly=1000)
@given(st.lists(st.tuples(exposures, exposures), min_size=1, max_size=3 * MOST_BARS))
def test_bars_are_as_high_as_the_worst_and_the_mark_stands_over_the_first_worst(pairs):
    drawn = transition_figure("x", steps_of(pairs), 10**6)
    size = -(-len(pairs) // MOST_BARS)
    folded = [pairs[i : i + size] for i in range(0, len(pairs), size)]
    most = max(one.worst for pair in pairs for one in pair)
    bars = RECT.findall(drawn)
    wanted, marks = [], []
    for kind, colour in ((0, "s1"), (1, "s3")):
        worst = [max(pair[kind].worst for pair in some) for some in folded]
        wanted += [(colour, n) for n in worst if n]
        if any(worst):
            marks.append(worst.index(max(worst)))
    assert len(folded) <= MOST_BARS
    assert [bar[4] for bar in bars] == [colour for colour, _ in wanted]
    np.testing.assert_allclose(
        [float(bar[3]) for bar in bars], [PANEL * n / max(most, 1) for _, n in wanted], atol=0.006
    )
    width = (400 - 30 - 8) / len(folded)
    at = [(float(x) + 5 - 30) / width - 0.5 for x, _ in PEAK.findall(drawn)]
    np.testing.assert_allclose(at, marks, atol=0.02 * len(folded))
    assert drawn.count("none at any moment") == 2 - len(marks)


def test_steps_that_share_a_bar_are_as_bad_as_the_worst_of_them():
    steps = steps_of(
        [
            (Exposure(1 + (i == 101), expected=0.5 + (i == 102)), Exposure(0))
            for i in range(4 * MOST_BARS)
        ]
    )
    drawn = transition_figure("x", steps, 9)
    bars, lines = RECT.findall(drawn), LINE.findall(drawn)
    assert "each bar is the worst of 4 steps" in drawn and len(bars) == len(lines) == MOST_BARS
    assert [i for i, bar in enumerate(bars) if float(bar[3]) == PANEL] == [25]
    assert [i for i, (_, y) in enumerate(lines) if float(y) == min(float(y) for _, y in lines)] == [
        25
    ]
    assert "Worst moment: step 101, 2 of 9 queues without an owner." in drawn


@given(st.lists(exposures, min_size=1, max_size=40))
def test_lines_are_at_the_number_to_expect(found):
    drawn = transition_figure("x", steps_of((one, Exposure(0)) for one in found), 10**6)
    most = max(1, *(one.worst for one in found), 1)
    heights = [54 + PANEL - float(y) for _, y in LINE.findall(drawn)]
    wanted = [PANEL * one.expected / most for one in found if one.expected]
    np.testing.assert_allclose(heights, wanted, atol=0.006)
    assert ("lines: the expected number" in drawn) == any(
        bound.expected is not None for bound in found
    )


def test_an_upper_bound_is_told_from_what_is_attained():
    drawn = transition_figure("x", steps_of([(Exposure(3), Exposure(7, is_exact=False))]), 9)
    assert (
        "3 of 9 queues without an owner." in drawn
        and "≤ 7 of 9 queues with several owners." in drawn
    )
    assert [bar[5] for bar in RECT.findall(drawn)] == ["", " bound"]


def test_what_never_happens_is_said():
    steps = steps_of([(Exposure(0), Exposure(0))] * 3)
    assert worst_moment(steps, 0, 4) == "No queue is ever without an owner."
    assert not PEAK.findall(transition_figure("x", steps, 4))


def test_the_caption_says_for_how_long():
    one = Exposure(2, seconds_worst=40.0, seconds_p99=0.25)
    said = worst_moment(steps_of([(Exposure(0), one)]), 1, 4)
    assert said.endswith(
        "2 of 4 queues with several owners, for 40 s at most, 250 ms in 99 of 100 cases."
    )
    assert "for" not in worst_moment(steps_of([(Exposure(2), one)]), 0, 4).split("owner")[1]


def test_a_scenario_says_before_worst_and_after_also_as_a_table():
    plan, _ = report_plans.whole()
    page = Page(report(plan))
    said = page.said()
    assert (
        "Worst moment: while clients are being notified, 12 of 42 queues without an owner, for 40 s at most"
        in said
    )
    assert (
        "Worst moment: while clients are being notified, ≤ 11 of 42 queues without an owner" in said
    )
    table = said[
        said.index(
            "Most queues at one moment, before, during and after the notification of clients"
        ) :
    ]
    rows = re.sub(r"\s+", " ", table[: table.index("Owners")])
    assert (
        "before the change00–––" in rows
        and "while clients are being notified1234.254.254021.54021.5" in rows
    )
    assert (
        "While clients are being notified"
        not in Page(report(report_plans.with_tables(plan))).said()
    )


def test_what_a_scenario_leaves_open_is_drawn_for_the_groups_with_something_open():
    plan = report_plans.everyday()
    rows = plan.transitions().to_pylist()
    is_open = [one for one in rows if one["unowned"] or one["double_owned"]]
    assert 0 < len(is_open) < len(rows)
    assert Page(report(plan)).said().count("While clients are being notified") == len(is_open)
    calm = report_plans.with_tables(plan, transitions=[one for one in rows if one not in is_open])
    assert "being notified" not in Page(report(calm)).said()
