"""The comparison with RocketMQ's real classes sees an answer that differs, and tolerates what it
names and no more.
"""

from collections import Counter

import pytest
from differential import broker_half, comparing
from differential.__main__ import never_met, reported
from differential.comparing import Totals
from differential.corner import Corner
from differential.tolerated import TOLERATED
from proof import Report

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


def test_a_difference_ends_the_program_with_1(capsys):
    report = Report("differential")
    reported(report, [Totals("client", "5.5.0", 7, 70, differences=1, first=["event 3"])], False)
    assert report.end() == 1 and "event 3" in capsys.readouterr().out
    report = Report("differential")
    reported(report, [Totals("client", "5.5.0", 7, 70)], False)
    assert report.end() == 0
