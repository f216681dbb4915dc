"""Files of plans that were changed are followed through all that reads them; what is wrong there is
found.
"""

import json
import sys
from collections import Counter
from random import Random

import pytest
from certified_plans import saved
from followed_plans import __main__ as followed
from followed_plans import forgeries
from plan_forgeries import FORGERIES

from rmqalloc.plans import _verification


@pytest.fixture
def work():
    return followed._Work()


def test_what_is_changed_is_not_read_rejected_or_the_plan_of_its_inputs(work):
    counts = sum(
        (work.followed(name, 12, Random(name)) for name in ("plain", "shared", "scenarios")),
        Counter(),
    )
    assert counts["wrong"] == 0
    assert counts["not read"] > 10 and counts["rejected"] + counts["not all recomputed"] > 0


def test_an_exception_and_a_forged_plan_that_is_accepted_are_wrong(work, monkeypatch, capsys):
    monkeypatch.setattr(followed, "report", lambda _plan: {}["x"])
    path, _ = saved("plain", work._path.parent)
    document = json.loads(path.read_text())
    monkeypatch.setattr(followed, "_mutated", lambda one, _random: one)
    monkeypatch.setattr(followed.change, "changed_data", lambda one, _random: one)
    assert work.followed("plain", 1, Random(1))["wrong"] == 1
    monkeypatch.setattr(_verification, "_differences", lambda _file, _again: ())
    document["tables"]["queues"]["owner_after"]["rows"][9] = 0
    monkeypatch.setattr(followed, "_mutated", lambda _one, _random: document)
    monkeypatch.setattr(followed.change, "changed_data", lambda _one, _random: document)
    assert work.followed("plain", 1, Random(1))["wrong"] == 1
    assert "KeyError: 'x'" in (said := capsys.readouterr().err) and "accepted: queues" in said


def test_the_program_ends_with_0(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["followed_plans", "--mutations", "7"])
    monkeypatch.setattr(forgeries, "FORGERIES", {})
    monkeypatch.setattr(forgeries, "_packed", lambda _cluster: [])
    assert followed.main() == 0
    assert "| scenarios | 1 |" in capsys.readouterr().out


def test_a_forgery_that_is_accepted_or_never_answered_is_wrong(monkeypatch):
    monkeypatch.setitem(FORGERIES, "nothing", lambda _document: None)
    monkeypatch.setattr(forgeries, "FORGERIES", ["nothing"])
    monkeypatch.setattr(forgeries, "_packed", lambda _cluster: [])
    page, n_wrong = forgeries.page()
    assert n_wrong == 1 and "| nothing | 0 | 0 |" in page
    monkeypatch.setattr(forgeries, "SECONDS", 0)
    assert forgeries.ended([sys.executable, "-c", "while True: pass"]).code == -9
