"""``top=`` of everything that prints itself: a number of rows from 0 on, and an error for anything
else, at every face.
"""

import io
import re

import numpy as np
import pyarrow as pa
import pytest
from checkout import ROOT

import rmqalloc
from rmqalloc.audit import Findings
from rmqalloc.evidence import evidence_of
from rmqalloc.history import HistoryEvents
from rmqalloc.history.history_events import events_table
from rmqalloc.report.formats import write_table
from rmqalloc.results import TableResult
from rmqalloc.results.table_result import checked_top
from rmqalloc.rollouts.advice import replica_counts
from rmqalloc.watching.guard import may_stop

SCALED = [{"name": "six", "changes": [{"scale_clients": {"to": 6}}]}]


@pytest.fixture(scope="module")
def made():
    """A result of every kind."""
    cluster = rmqalloc.read("example:seed")
    group = cluster.groups[0]
    topic = cluster.topic(group.subscriptions[0])
    restart = rmqalloc.rollout.restart(cluster, [group.name])
    return [
        rmqalloc.plan(cluster, SCALED),
        rmqalloc.compare(cluster, ["AVG"]),
        rmqalloc.explain(cluster, group.name, topic.name, topic.brokers[0].broker_name, 0),
        rmqalloc.check(cluster),
        rmqalloc.recommend(cluster),
        replica_counts(cluster),
        rmqalloc.diff(cluster, cluster),
        restart,
        rmqalloc.rollout.best_restart(cluster, [group.name]),
        rmqalloc.simulate(ROOT / "examples" / "simulations" / "concurrent.yaml"),
        evidence_of(cluster),
        rmqalloc.show(cluster),
        rmqalloc.groups(cluster),
        may_stop(cluster, group.client_ids[0]),
        HistoryEvents(
            events_table(
                [{"event": "joined", "consumer_group": "g", "client_id": f"c{i}"} for i in range(3)]
            )
        ),
    ]


def test_a_result_of_every_kind_is_tried(made):
    kinds = {one for one in kinds_of(TableResult) if one.__module__.startswith("rmqalloc.")}
    assert {type(one) for one in made} == kinds


def kinds_of(kind):
    return {one for sub in kind.__subclasses__() for one in {sub, *kinds_of(sub)}}


def faces(result):
    """Ways to ask for the first rows of a result, and the name of the argument."""
    yield "top", lambda n: list(result.lines(top=n))
    yield "top", lambda n: write_table(result.main_table(), "csv", io.StringIO(), top=n)
    if isinstance(result, Findings):
        yield "most", result.text


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (-1, ValueError),
        (-(2**70), ValueError),
        (True, TypeError),
        (1.0, TypeError),
        ("3", TypeError),
        ([], TypeError),
    ],
)
def test_what_is_no_number_of_rows_is_refused_by_every_result(made, wrong, error):
    assert made
    for result in made:
        for name, ask in faces(result):
            with pytest.raises(
                error,
                match=rf"^{name} must be a (whole )?number of rows.*got {re.escape(repr(wrong))}",
            ):
                ask(wrong)


def test_any_number_of_rows_from_0_on_is_taken(made):
    assert made
    for result in made:
        for _, ask in faces(result):
            assert ask(2**70) == ask(np.int64(10**6))
            ask(0)
            ask(None)


def test_the_first_rows_are_shown():
    table = pa.table({"n": [1, 2, 3]})
    out = io.StringIO()
    write_table(table, "csv", out, top=np.int32(2))
    assert out.getvalue() == "n\n1\n2\n"
    assert (checked_top(None), checked_top(0), checked_top(7)) == (None, 0, 7)
