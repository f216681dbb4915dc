"""Pages that people search, filter and read: the worst first, what is alike said once, names in
natural order.
"""

import re

import pytest
import report_plans
from page_reader import Page

import rmqalloc
from rmqalloc.audit import Findings
from rmqalloc.audit.finding import Finding
from rmqalloc.model import MessageQueue
from rmqalloc.plans import plan_snapshot
from rmqalloc.plans.worst_first import worst_groups
from rmqalloc.report.html import report
from rmqalloc.report.html._check_page import check_page
from rmqalloc.report.html.advice_page import advice_page
from rmqalloc.snapshot.snapshot import Client, Group, Snapshot, Topic, TopicBroker


def one_group(n_queues, n_clients, change, name="orders-service"):
    members = tuple(Client(f"10.0.0.{i}@1") for i in range(n_clients, 0, -1))
    topics = (Topic("orders", (TopicBroker("broker-a", n_queues),)),)
    group = Group(name, ("orders",), members, strategy="AVG")
    return plan_snapshot(Snapshot(topics, (group,)), [{"name": "s", "changes": [change]}])


def rows_of(page, ident):
    """Classes of the rows of the first table of a section, and what their first cells say."""
    section = page[page.index(f'<section id="{ident}"') :]
    body = section[section.index("<tbody>") : section.index("</tbody>")]
    return re.findall(r"<tr(?: class=\"([^\"]*)\")?><th scope=\"row\"[^>]*>(.*?)</th>", body)


# --- Plans ---


@pytest.mark.parametrize("made", [report_plans.everyday, report_plans.many])
def test_groups_stand_in_the_order_of_all_others_and_those_that_get_worse_have_a_sign(made):
    plan = made()
    rows, first = rows_of(report(plan), "s1"), worst_groups(plan, 1)
    names = plan.groups["consumer_group"].to_pylist()
    moved = plan.groups["moved"].slice(plan.n_groups, plan.n_groups).to_pylist()
    assert [re.sub("<.*?>", "", cell).removeprefix("! ") for _, cell in rows] == [
        names[i] for i in first.positions
    ]
    for (kinds, cell), i in zip(rows, first.positions.tolist(), strict=True):
        assert ("w" in kinds.split(), "m" in kinds.split()) == (first.is_worse[i], moved[i] > 0)
        assert cell.startswith('<span class="warn">!</span> ') == first.is_worse[i]


def test_filters_are_hidden_until_the_script_shows_them_and_one_group_has_none():
    page = Page(report(report_plans.many()))
    [bar] = [one for one in page.all("div") if one.get("class") == "filters"]
    assert "hidden" in bar and bar["role"] == "search"
    assert [one.get("value") for one in page.all("input")] == [None, "w", "m"]
    assert not Page(report(one_group(8, 3, {"remove_clients": {"count": 1}}))).all("input")


def test_a_thousand_queues_are_told_in_one_sentence_instead_of_pictures():
    said = Page(
        report(one_group(1000, 40, {"set_queues": {"topics": "orders", "read_queue_nums": 1040}}))
    ).said()
    assert "Each client: + 1 (25 → 26 queues)." in said
    assert (
        "Owners" not in said
        and "Evenness" not in said
        and "of 1,040 from old to new owner, 40 new." in said
    )


def test_few_clients_and_those_that_change_in_many_ways_are_drawn():
    few = {"set_queues": {"topics": "orders", "read_queue_nums": 24}}
    assert "Owners" in Page(report(one_group(12, 12, few))).said()
    assert "Owners" in Page(report(report_plans.many(n_groups=0))).said()


def test_clients_are_in_natural_order():
    plan = one_group(24, 12, {"set_queues": {"topics": "orders", "read_queue_nums": 36}})
    page, ids = Page(report(plan)), [f"10.0.0.{i}@1" for i in range(1, 13)]
    assert [text for tag, text in page.texts if tag == "text" and text in ids][:12] == ids, (
        "the bars of owners"
    )
    rows = {row["client_id"]: row for row in plan.clients.to_pylist() if row["scenario"] == "s"}
    by_change = sorted(ids, key=lambda one: -(rows[one]["gained"] + rows[one]["lost"]))
    assert [text for tag, text in page.texts if tag == "bdi" and text in ids] == by_change, (
        "the table"
    )


def test_colours_of_movements_are_explained():
    page = report(one_group(12, 4, {"set_queues": {"topics": "orders", "read_queue_nums": 14}}))
    flows = page[page.index("<h4>Movement</h4>") : page.index("<h4>Evenness</h4>")]
    drawn = set(re.findall(r'class="flow (\w+)"', flows))
    keys = dict(re.findall(r'rx="1.5" class="(\w+)"/></svg><bdi>(.*?)</bdi>', flows))
    assert drawn == keys.keys() == {"s0", "s2"}
    assert keys == {"s0": "to another client", "s2": "new"}


# --- Checks, recommendations ---


def test_queues_of_a_finding_are_folded_and_clients_in_natural_order():
    queues = tuple(MessageQueue("orders", "broker-a", i) for i in (3, 12, 13, 14, 15))
    one = Finding(
        "r", "error", "g", None, queues, ("10.0.0.10@1", "10.0.0.2@1"), "message", "advice"
    )
    page = Page(check_page(Findings([one])))
    concerned = [text for tag, text in page.texts if tag == "bdi"][-3:]
    assert concerned == ["10.0.0.2@1", "10.0.0.10@1", "orders broker-a:3,12-15"]


def test_a_recommendation_is_advice_with_the_table_below():
    advice = rmqalloc.recommend(rmqalloc.read("example:48-pods"))
    page = Page(advice_page(advice))
    said = page.said()
    places = [said.index(text) for text in advice.most_idle_first()["advice"].to_pylist()]
    assert places == sorted(places) and said.index(advice.summary()) < places[0]
    assert [name for _, name in rows_of(advice_page(advice), "groups")] == [
        f"<bdi>{name}</bdi>" for name in advice.most_idle_first()["consumer_group"].to_pylist()
    ]
    assert said.index("most idle clients first") > places[-1]


def test_hostile_names_of_a_recommendation_are_text():
    page = Page(advice_page(rmqalloc.recommend(report_plans.hostile_snapshot())))
    assert len(page.all("script")) == 1 and not page.all("img")
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    assert "<script>document.title='owned'</script>" in page.said()
