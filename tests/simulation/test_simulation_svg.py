"""The picture of a simulation: clients can be told apart, names are only text, and what is left out
is said.
"""

import itertools
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from rmqalloc.model import MessageQueue
from rmqalloc.simulation import EventResult, Ownership, Result, svg_timeline
from rmqalloc.simulation._timeline import Spans
from rmqalloc.simulation._timeline_svg import (
    BACKGROUND,
    COLOURS,
    DOUBLE,
    GAP,
    MOST_EVENTS,
    MOST_GROUPS,
    MOST_STYLES,
    OTHERS,
)

HOSTILE = "</title><script>alert(1)</script>\"'&\x1b[2J\u202e\ufffe\ud800 url(#client-9)"

# G. M. Machado et al., A physiologically-based model for simulation of color vision deficiency,
# 2009, severity 1.0.
SEEN_WITH = {
    "all cones": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.01182, 0.04294, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.3039],
    ],
}
TO_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.072175],
        [0.0193339, 0.119192, 0.9503041],
    ]
)


def spans(queues, start, end):
    n = len(queues)
    return Spans(np.array(queues, np.int32), np.full(n, start, np.int64), np.full(n, end, np.int64))


def ownership(client_ids, n_queues, name="g"):
    """Queue i is owned by the i-th client, counted around; the first queue is owned by nobody at
    first.
    """
    queues = [MessageQueue("t", "b", i) for i in range(n_queues)]
    owners = np.arange(n_queues, dtype=np.int32) % len(client_ids)
    intervals = spans(range(n_queues), 100, 1000)
    return Ownership(
        name, queues, client_ids, intervals, owners, spans([0], 0, 100), spans([], 0, 0)
    )


def simulated(*ownerships, n_events=0, name="try"):
    events = [EventResult(i, f"event-{i}", *[0] * 12) for i in range(n_events + 1)]
    return Result(name, "5.5", 0, 1000, events, [], {}, list(ownerships))


class Picture:
    """What is in the SVG."""

    def __init__(self, text):
        self.root = ET.fromstring(text)
        self.texts = ["".join(one.itertext()) for one in self.all("text")]
        titled = [(one, one[0].text) for one in self.all("rect") if len(one)]
        self.legend = {said: one.get("fill") for one, said in titled if one.get("width") == "22"}
        self.bars = [(said.rpartition(" ")[0].rpartition(" ")[0], one.get("fill")) for one, said in titled
                     if one.get("width") != "22"]  # fmt: skip

    def all(self, tag):
        return [one for one in self.root.iter() if one.tag.rpartition("}")[2] == tag]

    def patterns(self):
        """What is drawn by every pattern."""
        return {one.get("id"): ET.tostring(one).partition(b">")[2] for one in self.all("pattern")}

    def head(self, name="g"):
        """What is said of a group's clients."""
        return next(text for text in self.texts if text.startswith(f"{name}: "))


def lab(colour, seen_with):
    rgb = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    x, y, z = np.cbrt(TO_XYZ @ np.clip(np.array(seen_with) @ linear, 0, 1) / [0.95047, 1, 1.08883])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("who", SEEN_WITH)
def test_colours_differ_for_all_readers(who):
    """From each other, from the page and from those with a meaning: CIE 1976 differences of 15 and
    more, 2.3 is just seen.
    """
    labs = [lab(one, SEEN_WITH[who]) for one in (*COLOURS, BACKGROUND, GAP, DOUBLE, OTHERS)]
    assert (
        min(np.linalg.norm(a - b) for a, b in itertools.combinations(labs[: len(COLOURS) + 4], 2))
        >= 15
    )


@pytest.mark.parametrize("n", [1, 8, 9, 16, MOST_STYLES])
def test_every_client_of_the_legend_has_a_look_of_its_own(n):
    ids = [f"c{i}" for i in range(n)]
    picture = Picture(svg_timeline(simulated(ownership(ids, 48))))
    patterns = picture.patterns()
    looks = [
        patterns[fill[5:-1]] if fill.startswith("url(#") else fill
        for fill in picture.legend.values()
    ]
    assert list(picture.legend) == ids
    assert len(set(looks)) == n
    assert not {BACKGROUND, GAP, DOUBLE, OTHERS} & set(looks)
    assert picture.bars == [(f"c{i % n}", picture.legend[f"c{i % n}"]) for i in range(48)]
    assert [text for text in picture.texts if text.endswith("  c0")] == ["1  c0"]
    assert picture.texts.count(str(n)) == 48 // n, "bars bear the numbers of the legend"
    assert picture.head() == f"g: {n} client{'s' * (n > 1)}"


def test_all_patterns_that_are_used_are_there():
    picture = Picture(
        svg_timeline(
            simulated(ownership([f"c{i}" for i in range(60)], 60), ownership(["x"], 1, "h")),
            rows=60,
        )
    )
    used = {
        one.get("fill")[5:-1]
        for one in picture.root.iter()
        if (one.get("fill") or "").startswith("url(")
    }
    assert used == picture.patterns().keys() == {f"client-{i}" for i in range(9, MOST_STYLES + 1)}


def test_the_legend_says_how_many_clients_it_leaves_out():
    """5,000 clients on 9,990 queues: 60 rows are drawn, of 60 clients."""
    ids = [f"c{i}" for i in range(5000)]
    text = svg_timeline(simulated(ownership(ids, 9_990)), rows=60)
    picture = Picture(text)
    owning = {one for one, _ in picture.bars}
    assert len(picture.bars) == len(owning) == 60
    assert "g (60 of 9,990 queues)" in picture.texts
    assert picture.head() == (
        f"g: 5,000 clients; {MOST_STYLES} of them are named, {len(owning) - MOST_STYLES} more own queues shown here, in grey; "
        f"{5000 - len(owning):,} own no queue that is shown"
    )
    assert len(picture.legend) == MOST_STYLES
    assert {one for one, fill in picture.bars if fill == OTHERS} == owning - picture.legend.keys()
    assert len(text) < 40_000


def test_nothing_is_said_to_be_left_out_where_nothing_is():
    picture = Picture(
        svg_timeline(simulated(ownership([f"c{i}" for i in range(48)], 48), n_events=MOST_EVENTS))
    )
    assert picture.head() == "g: 48 clients"
    assert "g" in picture.texts
    assert len(picture.all("line")) == MOST_EVENTS
    assert not [text for text in picture.texts if " of " in text or " more" in text]


def test_processes_of_one_id_are_one_client():
    picture = Picture(svg_timeline(simulated(ownership(["x", "y", "x"], 3))))
    assert picture.head() == "g: 2 clients"
    assert [fill for _, fill in picture.bars] == [COLOURS[0], COLOURS[1], COLOURS[0]]


def test_groups_and_events_are_bounded_and_counted():
    groups = [ownership(["x"], 1, f"g{i}") for i in range(1000)]
    text = svg_timeline(simulated(*groups, n_events=1234))
    picture = Picture(text)
    assert f"{MOST_GROUPS} of 1,000 groups" in picture.texts[0]
    assert len(picture.bars) == MOST_GROUPS
    assert len(picture.all("line")) == MOST_EVENTS
    assert f"and {1234 - MOST_EVENTS:,} events more, which are not drawn" in picture.texts
    assert len(text) < 40_000


def test_everything_lies_within_the_picture_and_nothing_on_another_text():
    picture = Picture(
        svg_timeline(
            simulated(
                ownership([f"c{i}" for i in range(50)], 50), ownership(["x"], 1, "h"), n_events=3
            )
        )
    )
    _, _, width, height = map(float, picture.root.get("viewBox").split())
    ends = [(float(one.get("x")) + float(one.get("width", 0)), float(one.get("y")) + float(one.get("height", 0)))
            for one in [*picture.all("rect"), *picture.all("text")] if one.get("x")]  # fmt: skip
    assert max(x for x, _ in ends) <= width
    assert max(y for _, y in ends) <= height
    places = [(one.get("x"), one.get("y")) for one in picture.all("text")]
    assert len(set(places)) == len(places)
    page = picture.all("rect")[len(picture.patterns())]
    assert (page.get("width"), page.get("height"), page.get("fill")) == (
        f"{width:g}",
        f"{height:g}",
        BACKGROUND,
    )


def test_hostile_and_long_names_are_only_text_and_whole_in_titles():
    long = "client-of-a-very-long-deployment-name-" + "x" * 200 + "@41"
    given = simulated(ownership([HOSTILE, long, "名" * 100], 3, HOSTILE), name=HOSTILE)
    text = svg_timeline(given)
    picture = Picture(text)
    tags = {one.tag.rpartition("}")[2] for one in picture.root.iter()}
    assert tags <= {"svg", "defs", "rect", "text", "tspan", "title", "g"}
    assert {one.get("fill") for one in picture.root.iter()} <= {None, *COLOURS, BACKGROUND, GAP}
    assert all(character.isprintable() for character in text.replace("\n", ""))
    assert list(picture.legend)[1:] == [long, "名" * 100]
    assert any(
        one.startswith("2  client-of-a") and one.endswith("@41") and len(one) == 29
        for one in picture.texts
    )
    assert any(one.startswith("3  名") and len(one) == 16 for one in picture.texts)
