"""The comparison with RocketMQ's real classes sees an answer that differs, and tolerates what it
names and no more.
"""

from collections import Counter

import pytest
from differential import broker_half, comparing
from differential.__main__ import never_met
from differential.compared_releases import HALVES, RELEASES
from differential.comparing import Totals
from differential.corner import Corner
from differential.differential_page import part, written
from differential.tolerated import TOLERATED

from rmqalloc.rebalance._service import RebalanceService

SEED = 1


@pytest.mark.java
def test_a_twin_that_answers_otherwise_is_seen(monkeypatch):
    class Liar(broker_half.Twin):
        def after(self, event):
            return super().after(event) | (
                {"answer": ["nobody"]} if event["kind"] == "lists" else {}
            )

    monkeypatch.setattr(broker_half, "Twin", Liar)
    totals = comparing.compare("broker", "4.9.8", 5, SEED)
    assert totals.differences > 0
    assert '{"kind": "lists"' in totals.first[0] and '"nobody"' in totals.first[0]


def test_a_corner_lets_pass_what_it_names_and_no_more(monkeypatch):
    def evened(seen):
        return {**seen.java, "order": 0}, {**seen.product, "order": 0}

    corners = (Corner("order", "broker", {"4.9.8": "Class:1"}, "it is drawn at random", evened),)
    monkeypatch.setattr(comparing, "TOLERATED", corners)

    class Twin:
        def after(self, event):
            return event["product"]

    sides = [
        ({"order": 1}, {"order": 2}),
        ({"order": 1, "n": 1}, {"order": 2, "n": 1}),
        ({"order": 1, "n": 1}, {"n": 2}),
    ]
    events = [{"kind": "k", "product": product} for _, product in sides]
    answers = [java for java, _ in sides]
    for version, passed in (("4.9.8", 2), ("5.5.0", 0)):
        totals = Totals("broker", version)
        comparing._compare_sequence(totals, Twin(), SEED, {"config": {}, "events": events}, answers)
        assert (totals.met["order"], totals.differences, totals.events) == (passed, 1, passed + 1)


def test_a_sequence_that_is_cut_short_is_compared_up_to_there():
    class Twin:
        def after(self, event):
            return {}

    totals = Totals("delayed client", "5.5.0")
    events = [{"kind": "k"}] * 3
    answers = [{}, {"cut": "two at a time"}, {"cut": "two at a time"}]
    comparing._compare_sequence(totals, Twin(), SEED, {"config": {}, "events": events}, answers)
    assert (totals.sequences, totals.events, totals.differences) == (1, 1, 0)
    assert totals.cut == Counter({"two at a time": 1})
    assert "| two at a time | 1 |" in part("delayed client", [totals], SEED, 1.0)


@pytest.mark.java
def test_a_notice_that_is_lost_during_a_pass_is_seen(monkeypatch):
    def deaf(service):
        if service._timer is not None:
            woken(service)

    woken = RebalanceService.wakeup
    monkeypatch.setattr(RebalanceService, "wakeup", deaf)
    assert comparing.compare("delayed client", "5.5.0", 150, SEED, short=True).differences > 0


def test_a_corner_that_is_never_met_is_an_error_of_the_table():
    names = {corner.name for corner in TOLERATED if corner.half == "broker"}
    assert all(
        any(name in line for line in never_met([Totals("broker", "5.5.0")])) for name in names
    )
    assert never_met([Totals("broker", "5.5.0", met=Counter(names))]) == []


def test_a_run_of_one_half_leaves_the_page_of_the_other(tmp_path):
    page = tmp_path / "page.md"
    written(page, [Totals("client", "5.5.0", 7, 70)], 1, 2.0)
    written(page, [Totals("broker", "5.5.0", 8, 80)], 1, 2.0)
    first = page.read_text(encoding="utf-8")
    assert "| 5.5.0 | 7 | 70 | 0 | 0 |" in first and "| 5.5.0 | 8 | 80 | 0 | 0 |" in first
    written(page, [Totals("client", "5.5.0", 9, 90)], 1, 2.0)
    assert page.read_text(encoding="utf-8") == first.replace("| 7 | 70 |", "| 9 | 90 |")


def test_every_tolerated_corner_names_its_line():
    assert len({(one.half, one.name) for one in TOLERATED}) == len(TOLERATED)
    for corner in TOLERATED:
        assert (
            corner.half in HALVES
            and corner.lines
            and corner.lines.keys() <= RELEASES.keys()
            and corner.why
        )
        assert all(":" in line for line in corner.lines.values()), corner.name
