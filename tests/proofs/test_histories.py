"""Histories of random readings are right at every moment, and the judge notices faults."""

from collections import Counter

import pytest
from chaos.histories import sequence
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples

from rmqalloc.history._past_timeline import PastTimeline
from rmqalloc.history._spans import ReadingSpans


def wrong_of(seeds, path):
    totals, wrong = Counter(), []
    for seed in seeds:
        wrong += sequence(seed, path / f"{seed}.history", totals)
    return wrong


@examples(40)
@given(seed=st.integers(0, 1 << 40))
def test_every_moment_is_bracketed_or_not_known(seed, tmp_path_factory):
    assert not wrong_of([seed], tmp_path_factory.mktemp("random"))


def no_change(*args):
    return None


def no_lag(*args):
    return None


@pytest.mark.parametrize(
    ("owner", "name", "fault", "kind"),
    [
        (PastTimeline, "_changing", no_change, "invented"),
        (PastTimeline, "_in_gap", no_change, "invented"),
        (ReadingSpans, "_lag", no_lag, "invented"),
        (PastTimeline, "_mixed", lambda *args: "never known", "missed"),
    ],
)
def test_a_planted_fault_is_found(owner, name, fault, kind, tmp_path, monkeypatch):
    monkeypatch.setattr(owner, name, fault)
    assert any(line.startswith(kind) for line in wrong_of(range(1, 12), tmp_path))
