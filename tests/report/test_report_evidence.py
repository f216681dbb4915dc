"""What answers rest on, and what nobody reads, as the page says it."""

import pyarrow as pa
import pytest
import report_plans
from page_reader import Page

import rmqalloc
from rmqalloc.report.html import report
from rmqalloc.report.html._evidence import (
    MOST_GROUPS,
    evidence_line,
    evidence_section,
    group_evidence,
    plan_evidence,
    snapshot_evidence,
)
from rmqalloc.report.html._unread_section import MOST_ROWS, MOST_SHOWN, unread_section
from rmqalloc.snapshot._snapshot import Client, Group, Snapshot, SourceError, Topic, TopicBroker

TOPIC = Topic("t", (TopicBroker("b", 4),))


def row(**figures):
    return {"consumer_group": "g", "strategy": "AVG", "fetched_at": "2026-11-22T12:00:00Z"} | figures


def said(rows):
    return Page(evidence_line(pa.Table.from_pylist(rows))).said()


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ({"source": "given"}, "Strategy AVG, stated; snapshot of 2026-11-22T12:00:00Z."),
        ({"source": "by client", "strategy": "AVG + POP"}, "Strategy AVG + POP, known client by client; "),
        ({"source": "fitted", "explains": 0.999}, "fitted to the known owners, explains 99 % of the known owners; "),
        ({"source": "reported", "n_reporting": 1}, "reported by its clients, 1 client reports it; "),
        ({"parameters": "virtual_nodes=20"}, "Strategy AVG virtual_nodes=20; "),
        ({"parameters": {"virtual_nodes": 20}}, "Strategy AVG virtual_nodes=20; "),
        ({"errors": ["broker-a", "broker-b"]}, "; 2 sources did not answer; "),
        ({"errors": 1}, "; 1 source did not answer; "),
        ({"errors": "broker-a: timeout"}, "; broker-a: timeout; "),
        ({"may_be_cut": True, "differs": True}, "; lists may be cut short; its clients differ; "),
        ({"age_seconds": 9000.0}, "snapshot of 2026-11-22T12:00:00Z, 2 h old."),
        ({"fetched_at": None, "strategy": None}, "Strategy not known; the snapshot does not say when it was taken."),
    ],
)
def test_the_evidence_of_one_group_is_one_sentence(figures, words):
    assert words in group_evidence(row(**figures))
    assert words in said([row(**figures)])


@pytest.mark.parametrize(
    ("figures", "is_doubtful"),
    [
        *(
            ({"source": source}, source == "assumed")
            for source in ("given", "reported", "fitted", "assumed", "by client")
        ),
        *(({"explains": share}, share is not None and share < 1) for share in (None, 0.0, 0.5, 1.0)),
        *(({"errors": errors}, bool(errors)) for errors in (None, 0, 2, [], ["b"])),
        ({"differs": True}, True),
    ],
)
def test_doubt_has_a_sign(figures, is_doubtful):
    assert said([row(**figures)]).startswith("! ") == is_doubtful


def test_many_groups_are_counted_and_those_in_doubt_come_first():
    sources = ["given", "assumed", "fitted"]
    rows = [row(consumer_group=f"g{i:04}", source=sources[i % 3], explains=None) for i in range(300)]
    assert said(rows).endswith("strategies of 300 groups: 100 stated, 100 fitted to the known owners, 100 assumed.")
    page = Page(evidence_section(pa.Table.from_pylist(rows)))
    assert len(page.all("tr")) == MOST_GROUPS + 1
    assert page.said().count("assumed") == MOST_GROUPS and "50 of 300" in page.said()


def test_a_plan_without_evidence_says_what_its_tables_hold():
    clients = (Client("a", strategy="AVG"), Client("b", strategy="AVG_BY_CIRCLE"))
    groups = (
        Group("mixed", ("t",), clients),
        Group("plain", ("t",), (Client("a"),), strategy="CONSISTENT_HASH"),
        Group("<b>", ("t",), (Client("a"),), strategy="<script>"),
    )
    plan = rmqalloc.plan(Snapshot((TOPIC,), groups, fetched_at="2026-11-22T12:00:00Z"), [])
    told = {one["consumer_group"]: one for one in plan_evidence(plan).to_pylist()}
    assert told["mixed"]["source"] == "by client" and told["mixed"]["strategy"] == "AVG + AVG_BY_CIRCLE"
    assert told["plain"]["source"] is None and told["plain"]["strategy"] == "CONSISTENT_HASH"
    assert told.keys() == set(plan.groups["consumer_group"].to_pylist())
    assert "1 known client by client" in Page(report(plan)).said()


def test_evidence_of_a_snapshot_is_how_its_strategies_are_known():
    clients = (Client("a", strategy="AVG"), Client("b", strategy="AVG_BY_CIRCLE"))
    groups = (
        Group("given", ("t",), (Client("a"),), strategy="AVG"),
        Group("assumed", ("t",), (Client("a"),)),
        Group("mixed", ("t",), clients),
        Group("other", ("t",), clients),
    )
    errors = (SourceError("broker-a", "GET", "timeout"), SourceError("broker-a", "GET", "timeout again"))
    rows = snapshot_evidence(Snapshot((TOPIC,), groups, errors), ["given", "assumed", "mixed"]).to_pylist()
    assert [(one["consumer_group"], one["source"]) for one in rows] == [
        ("given", "given"),
        ("assumed", "assumed"),
        ("mixed", "by client"),
    ]
    assert {one["errors"] for one in rows} == {1} and rows[2]["n_reporting"] == 2


def test_the_page_of_a_plan_has_the_evidence_of_every_pictured_group():
    plan, _ = report_plans.whole()
    text = Page(report(plan)).said()
    for one in plan.evidence.to_pylist():
        assert text.count(group_evidence(one)) == len(plan.scenarios)


# --- What nobody reads ---


@pytest.mark.parametrize("n", [1, MOST_SHOWN, MOST_SHOWN + 1, MOST_ROWS + 5])
def test_the_greatest_backlog_stands_first_and_the_rest_is_folded(n):
    table = report_plans.unread("g", n=n)
    page = Page(unread_section(table))
    assert f"✗ {4 * n} queues are read by nobody" in page.said()
    tables = page.said().split("messages/s")
    assert len(page.all("details")) == (n > MOST_SHOWN) == len(tables) - 2
    shown = [i for _, i in sorted((-(one["backlog"] or -1), i) for i, one in enumerate(table.to_pylist()))]
    assert all(f"orders-{i}" in tables[1] for i in shown[:MOST_SHOWN])
    assert len(page.all("tr")) == len(tables) - 1 + min(n, MOST_ROWS)


def test_nothing_is_said_of_what_everybody_reads():
    assert unread_section(None) == unread_section(report_plans.unread("g", n=1).slice(0, 0)) == ""
    plan, findings = report_plans.whole()
    assert "Messages nobody reads" in Page(report(plan, findings)).said()
    assert "Messages nobody reads" not in Page(report(plan, list(findings))).said()


def test_queues_of_groups_that_the_plan_does_not_have_are_left_out():
    plan, findings = report_plans.whole()
    type(findings).unread = report_plans.unread("order-service", "other-service")
    text = Page(report(plan, findings)).said()
    assert "✗ 12 queues are read by nobody" in text and "other-service" not in text
