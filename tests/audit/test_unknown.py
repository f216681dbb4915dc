"""Silence is not an answer: without one of its sources a snapshot gives no error that it does not
give with it.

The cases are random snapshots; of each every source is left out in turn, as a reader leaves it out
that does not get an answer.
"""

from collections import Counter
from random import Random

import removed_sources
from audited import group, snapshot
from bruteforce import reached
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples

from rmqalloc.audit import check_snapshot
from rmqalloc.snapshot.plain_data import from_document
from rmqalloc.snapshot.snapshot import SourceError


@examples(25, nightly=5000)
@given(st.integers(0, 2**32))
def test_without_a_source_no_error_is_new_and_no_fault_becomes_an_all_clear(seed):
    whole = from_document(reached.case(Random(seed)))
    before = check_snapshot(whole)
    wrong = {
        what: removed_sources.wrong(
            before, check_snapshot(less), removed_sources.reported(whole, what)
        )
        for what, less in removed_sources.without_one(whole)
    }
    assert wrong
    assert wrong == dict.fromkeys(wrong)


def test_sources_of_every_kind_are_left_out():
    kinds = Counter(
        what.split(" ")[0]
        for seed in range(20)
        for what, _ in removed_sources.without_one(from_document(reached.case(Random(seed))))
    )
    assert kinds.keys() == {
        "clients",
        "lags",
        "subscriptions",
        "owners",
        "group",
        "route",
        "guessed",
        "broker",
    }


def test_lags_that_are_not_known_are_said_once_and_put_nothing_in_doubt():
    error = SourceError("broker a", "GET_CONSUME_STATS g", "timeout")
    found = check_snapshot(snapshot(group("c1"), group("c2", name="h"), errors=(error,))).not_known
    assert [(one.subject, one.is_scope) for one in found if one.kind == "lags"] == [
        ("g", True),
        ("h", True),
    ]
