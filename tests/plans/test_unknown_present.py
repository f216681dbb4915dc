"""Plans of groups of which it is not known who owns a queue now: no figure is compared with what is
not known, and text, page and gates say so.
"""

from dataclasses import replace

import pytest
from certified_plans import TOPIC, differing, group

from rmqalloc.model import MessageQueue
from rmqalloc.plans import Gates, plan_snapshot
from rmqalloc.plans.plan_totals import summaries
from rmqalloc.plans.worst_first import worst_groups
from rmqalloc.report.html import report
from rmqalloc.snapshot.snapshot import Client, Snapshot

NAMES = ("g", "h", "i", "j")
IDLE = [{"name": "seven", "changes": [{"scale_clients": {"to": 7}}]}]
"""Five queues among seven clients: two are idle after the change, none before."""


def planned(n_groups, *silent, scenarios=IDLE):
    """The plan of some groups; of those named, one client reports what it owns and two are silent."""
    reports = Client("c1", owned=(MessageQueue("T", "a", 0), MessageQueue("T", "a", 1)))
    clients = (reports, Client("c2"), Client("c3"))
    groups = [
        group(name=name, clients=clients if name in silent else None) for name in NAMES[:n_groups]
    ]
    return plan_snapshot(Snapshot((TOPIC,), tuple(groups)), scenarios)


def text(plan):
    return " ".join(" ".join(plan.lines()).split())


def test_one_group_says_what_is_not_known():
    plan = planned(1, "g")
    said = text(plan)
    assert "min/max not known → 0/1 skew not known → 1.40" in said
    assert "idle not known → 2 unowned not known → 0" in said
    assert said.endswith(
        "unowned not known → 0, idle not known → 2; "
        "it is not known what gets worse, because the present state is not known."
    )
    assert "2 clients own no queue" in said


def test_of_several_groups_the_known_ones_are_compared():
    plan = planned(4, "h", "j")
    worst = worst_groups(plan, 1)
    assert worst.is_worse.tolist() == [True, False, True, False]
    assert worst.is_unknown.tolist() == [False, True, False, True]
    assert [NAMES[at] for at in worst.positions] == ["g", "i", "h", "j"]
    said = text(plan)
    assert said.count("not known → 1.40") == 2
    assert said.endswith(
        "2 of 4 groups get worse (idle 2, skew 2); it is not known what gets worse of 2 groups, because the present state "
        "is not known."
    )
    assert (summaries(plan)[0].idle_before, summaries(plan)[0].idle) == (None, 8)


def test_a_gate_does_not_hold_against_a_present_that_is_not_known():
    plan = planned(4, "h")
    broken = {
        (violation.consumer_group, violation.text)
        for violation in Gates(fail_if_worse=True).broken(plan)
    }
    assert (
        "h",
        "it is not known whether the group gets worse, because its present state is not known",
    ) in broken
    assert {("g", "idle grows from 0 to 2"), ("i", "idle grows from 0 to 2")} < broken
    assert len([name for name, _ in broken if name == "h"]) == 1
    same = [{"name": "same", "changes": [{"scale_clients": {"to": 3}}]}]
    kept, unknown = planned(1, scenarios=same), planned(1, "g", scenarios=same)
    assert not Gates(fail_if_worse=True).broken(kept) and Gates(fail_if_worse=True).broken(unknown)
    assert not Gates(max_moved=5, max_skew=2).broken(unknown)


def test_the_page_says_what_is_not_known():
    page = report(planned(2, "h"), gates=Gates(fail_if_worse=True))
    assert "it is not known whether the group gets worse" in page
    assert "not known → 4" in page and "not known → 0–1" in page
    assert "idle clients" not in page.partition("Origin")[0].split("warn")[-1]


def test_a_topic_that_could_not_be_assigned_is_not_an_unknown_present():
    """Nobody owned its queues, and that is known."""
    nobody = replace(group(), clients=())
    plan = plan_snapshot(Snapshot((TOPIC,), (nobody,)), IDLE)
    assert "not known" not in text(plan)
    assert not worst_groups(plan, 1).is_unknown.any()
    assert not Gates(fail_if_worse=True).broken(plan)


@pytest.mark.parametrize(
    ("n_now", "n_after", "verdict"),
    [
        (3, 7, "idle 0 → 2; worse: idle, skew 1.20 → 1.40."),
        (7, 4, "idle 2 → 0; better: idle; worse: skew 1.40 → 1.60."),
        (4, 4, "idle 0; nothing gets worse."),
    ],
)
def test_the_verdict_names_what_gets_better_and_worse(n_now, n_after, verdict):
    clients = tuple(Client(f"c{number}") for number in range(n_now))
    scenario = {"name": "s", "changes": [{"scale_clients": {"to": n_after}}]}
    plan = plan_snapshot(Snapshot((TOPIC,), (group(clients=clients),)), [scenario])
    assert text(plan).endswith(verdict)


def test_an_owner_for_an_unowned_queue_is_never_only_worse():
    """The other clients divide by another rule, so that a queue is unowned until all use one."""
    rule = {"name": "s", "changes": [{"set_strategy": {"strategy": "AVG"}}]}
    plan = plan_snapshot(Snapshot((TOPIC,), (group(clients=differing()),)), [rule])
    assert text(plan).endswith(
        "unowned 1 → 0, double-owned 1 → 0, idle 1; better: unowned, double-owned; nothing gets worse."
    )
