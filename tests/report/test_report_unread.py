"""Messages that nobody reads, in the page of a plan."""

import pytest
import report_plans
from audited import group, queues, snapshot, topic
from page_reader import Page

from rmqalloc.audit import Findings, check_snapshot
from rmqalloc.plans import plan_snapshot
from rmqalloc.report.html import report
from rmqalloc.report.html._unread_section import MOST_ROWS, MOST_SHOWN, unread_section
from rmqalloc.snapshot.snapshot import Lag, Topic, TopicBroker

HOSTILE = "<img src=x onerror=alert(1)>\x1b[2J"


def page_of(cluster):
    return report(plan_snapshot(cluster, []), check_snapshot(cluster))


def section(page):
    return page.partition('<section id="unread"')[2].partition("</section>")[0]


def test_they_come_before_everything_else():
    dead = group(name="dead", lags=(Lag(*queues([1]), 1500, 0),))
    page = page_of(snapshot(group("c1", "c1"), dead, topics=(topic(a=2),)))
    assert page.index('id="unread"') < page.index('id="findings"') < page.index('id="summary"')
    shown = section(page)
    assert "Unread messages: 3 queues of 1 topic, at least 1,500 messages waiting" in shown
    assert 'data-v="1500"' in shown and "the group has no client" in shown and "a:0-1" in shown
    assert '<a href="#unread">' in page


def test_one_line_says_that_everything_is_read():
    shown = section(page_of(snapshot(group("c1", "c2"))))
    assert "✓ Every written queue of 1 topic is read." in shown
    assert "<table" not in shown


def test_without_an_audit_nothing_is_said():
    cluster = snapshot(group("c1"))
    assert "Unread messages" not in report(plan_snapshot(cluster, []))
    assert "Unread messages" not in report(
        plan_snapshot(cluster, []), list(check_snapshot(cluster))
    )
    assert unread_section(Findings()) == unread_section(()) == ""


def test_names_cannot_become_markup():
    routes = (topic(), Topic(HOSTILE, (TopicBroker(HOSTILE, 2, 2),)))
    page = page_of(
        snapshot(group("c1"), group(name=HOSTILE, subscriptions=(HOSTILE,)), topics=routes)
    )
    assert "<img" not in page and "\x1b" not in page
    assert "&lt;img src=x" in section(page)


@pytest.mark.parametrize("n", [1, MOST_SHOWN, MOST_SHOWN + 1, MOST_ROWS, MOST_ROWS + 5])
def test_the_greatest_backlog_stands_first_and_the_rest_is_folded(n):
    markup = unread_section(Findings((), report_plans.unread("g", n=n)))
    page, (shown, *rest) = Page(markup), markup.split("<details")
    assert f"✗ Unread messages: {4 * n} queues of {n} topic" in page.said()
    # The backlog of orders-0 is not known, that of each after it is greater.
    order = [f"<bdi>orders-{i}</bdi>" for i in range(n - 1, -1, -1)]
    places = [markup.index(one) for one in order[:MOST_ROWS]]
    assert places == sorted(places) and not any(one in markup for one in order[MOST_ROWS:])
    assert all(one in shown for one in order[:MOST_SHOWN]) and not any(
        one in shown for one in order[MOST_SHOWN:]
    )
    assert len(rest) == len(page.all("details")) == (n > MOST_SHOWN)
    assert len(page.all("tr")) == 1 + len(rest) + min(n, MOST_ROWS)
    assert (f"{n - MOST_SHOWN} more rows; the first {MOST_ROWS - MOST_SHOWN}" in page.said()) == (
        n > MOST_ROWS
    )


def test_queues_of_groups_that_the_plan_does_not_have_are_left_out():
    plan, found = report_plans.whole()
    text = Page(
        report(plan, Findings(found, report_plans.unread("order-service", "other-service")))
    ).said()
    assert "✗ Unread messages: 12 queues of 3 topics" in text and "other-service" not in text


def test_a_topic_that_no_group_subscribes_to_concerns_every_plan():
    plan = report_plans.everyday()
    text = Page(report(plan, Findings((), report_plans.unread("other-service", None)))).said()
    assert "✗ Unread messages: 12 queues of 3 topics" in text and "other-service" not in text
