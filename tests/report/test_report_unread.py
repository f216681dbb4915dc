"""Messages that nobody reads, in the page of a plan."""

from audited import group, queues, snapshot, topic

from rmqalloc.audit import check_snapshot
from rmqalloc.plans import plan_snapshot
from rmqalloc.report.html import report
from rmqalloc.snapshot._snapshot import Lag, Topic, TopicBroker

HOSTILE = "<img src=x onerror=alert(1)>\x1b[2J"


def page_of(cluster):
    return report(plan_snapshot(cluster, []), check_snapshot(cluster))


def section(page):
    return page.partition('<section id="unread"')[2].partition("</section>")[0]


def test_they_come_before_everything_else():
    dead = group(name="dead", lags=(Lag(*queues([1]), 1500, 0),))
    page = page_of(snapshot(group("c1", "c1"), dead, topics=(topic(a=2),)))
    assert page.index('id="unread"') < page.index('id="summary"') < page.index('id="findings"')
    shown = section(page)
    assert "Messages nobody reads: 3 queues of 1 topic, at least 1,500 messages waiting" in shown
    assert 'data-v="1500"' in shown and "the group has no client" in shown and "a:0-1" in shown
    assert '<a href="#unread">' in page


def test_one_line_says_that_everything_is_read():
    shown = section(page_of(snapshot(group("c1", "c2"))))
    assert "✓ Every written queue of 1 topic is read." in shown
    assert "<table" not in shown


def test_without_an_audit_nothing_is_said():
    cluster = snapshot(group("c1"))
    assert "Messages nobody reads" not in report(plan_snapshot(cluster, []))
    assert "Messages nobody reads" not in report(plan_snapshot(cluster, []), list(check_snapshot(cluster)))


def test_names_cannot_become_markup():
    routes = (topic(), Topic(HOSTILE, (TopicBroker(HOSTILE, 2, 2),)))
    page = page_of(snapshot(group("c1"), group(name=HOSTILE, subscriptions=(HOSTILE,)), topics=routes))
    assert "<img" not in page and "\x1b" not in page
    assert "&lt;img src=x" in section(page)


def test_many_rows_are_cut():
    cluster = snapshot(group("c1"), *(group(name=f"g{i:03}") for i in range(70)))
    shown = section(page_of(cluster))
    assert "the first 50 of 70 rows" in shown and shown.count("<tr>") == 51
