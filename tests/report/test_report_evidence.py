"""What answers rest on, as the page says it."""

import pyarrow as pa
import pytest
import report_plans
from page_reader import Page

import rmqalloc
from rmqalloc.evidence import EVIDENCE_SCHEMA, evidence_of, with_strategies
from rmqalloc.plans import load_plan, save_plan
from rmqalloc.report.html import report
from rmqalloc.report.html._evidence_section import (
    MOST_ROWS,
    evidence_line,
    evidence_section,
    group_evidence,
    plan_evidence,
)
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, SourceError, Topic, TopicBroker

TOPIC = Topic("t", (TopicBroker("b", 4),))


def row(**figures):
    unknown = dict.fromkeys(EVIDENCE_SCHEMA.names)
    return (
        unknown
        | {"consumer_group": "g", "strategy": "AVG", "fetched_at": "2026-11-22T12:00:00Z"}
        | figures
    )


def said(rows):
    return Page(evidence_line(pa.Table.from_pylist(rows, EVIDENCE_SCHEMA))).said()


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ({"source": "given"}, "Strategy AVG, stated; snapshot of 2026-11-22T12:00:00Z."),
        (
            {"source": "by client", "strategy": "AVG + POP"},
            "Strategy AVG + POP, known client by client; ",
        ),
        (
            {"source": "fitted", "explains": 0.999},
            "fitted to the known owners, explains 99 % of the known owners; ",
        ),
        (
            {"source": "reported", "n_reporting": 1},
            "reported by its clients, 1 client reports its queues; ",
        ),
        ({"parameters": '{"virtual_nodes": 20}'}, "Strategy AVG virtual_nodes=20; "),
        (
            {"errors": ["GET of broker-a: timeout", "GET of broker-b: timeout"]},
            "; 2 requests were not answered; ",
        ),
        ({"errors": ["GET of broker-a: timeout"]}, "; 1 request was not answered; "),
        ({"differs": 3}, "; 3 queues have other owners than computed; "),
        ({"differs": 1}, "; 1 queue has other owners than computed; "),
        ({"may_be_cut": ["orders", "broker-a"]}, "; mqadmin may have cut orders, broker-a; "),
        ({"doubt": "AVG explains 1 of 8 known owners"}, "; AVG explains 1 of 8 known owners; "),
        ({"age_seconds": 9000.0}, "snapshot of 2026-11-22T12:00:00Z, 2 h old."),
        (
            {"fetched_at": None, "strategy": None},
            "Strategy not known; the snapshot does not state its time.",
        ),
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
        *(
            ({"explains": share}, share is not None and share < 1)
            for share in (None, 0.0, 0.5, 1.0)
        ),
        *(
            ({column: texts}, bool(texts))
            for column in ("errors", "may_be_cut")
            for texts in (None, [], ["b"])
        ),
        *(({"differs": n}, bool(n)) for n in (None, 0, 2)),
        *(({"doubt": text}, bool(text)) for text in (None, "", "a guess")),
        ({"doubt": "its clients do not agree", "source": "by client"}, False),
    ],
)
def test_doubt_has_a_sign(figures, is_doubtful):
    assert said([row(**figures)]).startswith("! ") == is_doubtful


def test_many_groups_are_counted_and_those_in_doubt_come_first():
    sources = ["given", "assumed", "fitted"]
    rows = [
        row(consumer_group=f"g{i:04}", source=sources[i % 3], explains=None) for i in range(300)
    ]
    assert said(rows).endswith(
        "strategies of 300 groups: 100 stated, 100 fitted to the known owners, 100 assumed."
    )
    different = [one | {"strategy": f"S{i}"} for i, one in enumerate(rows)]
    page = Page(evidence_section(pa.Table.from_pylist(different, EVIDENCE_SCHEMA)))
    assert len(page.all("tr")) == MOST_ROWS + 1
    assert page.said().count("assumed") == MOST_ROWS and "50 of 300 rows" in page.said()


def test_groups_of_which_the_same_is_known_are_one_row():
    rows = [
        row(consumer_group=f"g{i:02}", explains=None, source="fitted" if i % 2 else "given")
        for i in range(40)
    ]
    rows[39] |= {"errors": ["b"]}
    page = Page(evidence_section(pa.Table.from_pylist(rows, EVIDENCE_SCHEMA)))
    cells = [text for tag, text in page.texts if tag == "td"]
    assert len(page.all("tr")) == 1 + 3
    assert cells == ["1", "20", "19"], "the one in doubt comes first"
    assert "g00, g02, " in page.said() and "g22, and 8 more" in page.said()


def test_a_plan_from_a_file_says_what_its_tables_hold(tmp_path):
    clients = (Client("a", strategy="AVG"), Client("b", strategy="AVG_BY_CIRCLE"))
    groups = (
        Group("mixed", ("t",), clients),
        Group("plain", ("t",), (Client("a"),), strategy="CONSISTENT_HASH"),
        Group("<b>", ("t",), (Client("a"),), strategy="<script>"),
    )
    made = rmqalloc.plan(Snapshot((TOPIC,), groups, fetched_at="2026-11-22T12:00:00Z"), [])
    save_plan(made, tmp_path / "plan.json")
    plan = load_plan(tmp_path / "plan.json")
    told = {one["consumer_group"]: one for one in plan_evidence(plan).to_pylist()}
    assert (
        told["mixed"]["source"] == "by client"
        and told["mixed"]["strategy"] == "AVG + AVG_BY_CIRCLE"
    )
    assert told["plain"]["source"] is None and told["plain"]["strategy"] == "CONSISTENT_HASH"
    assert told.keys() == set(plan.groups["consumer_group"].to_pylist())
    assert "1 known client by client" in Page(report(plan)).said()


def test_the_evidence_of_a_snapshot_is_said_as_it_is():
    """What `evidence_of` finds, not rows made up for the page."""
    groups = (
        Group("given", ("t",), (Client("a"),), strategy="AVG"),
        Group("assumed", ("t",), (Client("a"),)),
        Group(
            "mixed", ("t",), (Client("a", strategy="AVG"), Client("b", strategy="AVG_BY_CIRCLE"))
        ),
        Group("other", ("t",), (Client("a"),)),
    )
    lacks = (
        SourceError("broker b", "GET_ALL", "timeout"),
        SourceError("n", "GET_CONSUMER_CONNECTION_LIST mixed", "?"),
    )
    cluster = with_strategies(Snapshot((TOPIC,), groups, lacks))
    rows = evidence_of(cluster, ["given", "assumed", "mixed"], {"given": 2}).groups.to_pylist()
    texts = {one["consumer_group"]: group_evidence(one) for one in rows}
    untold = "the snapshot does not state its time."
    assert texts == {
        "given": "Strategy AVG, stated; 1 request was not answered; 2 queues have other owners than computed; "
        + untold,
        "assumed": "Strategy AVG, assumed; nothing shows which strategy its clients use; AVG is RocketMQ's default; "
        "1 request was not answered; " + untold,
        "mixed": "Strategy AVG, known client by client; 2 requests were not answered; " + untold,
    }


def test_the_page_of_a_plan_has_the_evidence_of_every_pictured_group():
    plan, _ = report_plans.whole()
    text = Page(report(plan)).said()
    times = [text.count(group_evidence(one)) for one in plan.evidence.to_pylist()]
    assert times == [len(plan.scenarios)] * 3
