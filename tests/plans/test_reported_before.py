"""What clients report that they own is the state before a change; what they compute is compared
with it, and counted.
"""

from dataclasses import replace

import pytest
from audited import group, queues, snapshot, topic
from bruteforce.twin import computed
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples

from rmqalloc.evaluation.differing import differing_queues
from rmqalloc.evidence import Known, UnansweredError, with_strategies
from rmqalloc.plans import plan_snapshot
from rmqalloc.snapshot.snapshot import Client, Group, TopicBroker
from rmqalloc.strategies.ordering import utf16

FOUR = (topic(a=4),)


def before(plan):
    """Owners before any change, by queue id."""
    rows = [row for row in plan.queues.to_pylist() if row["scenario"] == "current"]
    return {row["queue_id"]: [row["owner_before"], *(row["others_before"] or ())] for row in rows}


def planned(*clients, topics=FOUR, **fields):
    whole = snapshot(group(*clients, strategy_source="given", **fields), topics=topics)
    whole = with_strategies(
        replace(whole, groups=(replace(whole.groups[0], strategy_source=None),))
    )
    return plan_snapshot(whole, [{"name": "x", "changes": [{"scale_clients": {"to": 3}}]}])


def differs(plan):
    return plan.evidence["differs"].to_pylist()


def clients(c1, c2, **fields):
    return Client("c1", owned=queues(c1), **fields), Client("c2", owned=queues(c2))


def test_a_plain_group_starts_from_what_it_reports():
    reporting = [replace(client, strategy="AVG") for client in clients((0, 1, 2), (3,))]
    with pytest.raises(UnansweredError, match="AVG explains 3 of 4 known owners"):
        planned(*reporting, strategy_doubt=None)
    accepted = plan_snapshot(
        with_strategies(snapshot(group(*clients((0, 1, 2), (3,))), topics=FOUR), strategy="AVG"),
        [{"name": "x", "changes": [{"scale_clients": {"to": 3}}]}],
    )
    assert before(accepted) == {0: ["c1"], 1: ["c1"], 2: ["c1"], 3: ["c2"]}
    assert differs(accepted) == [1]
    rows = [row for row in accepted.queues.to_pylist() if row["scenario"] == "x"]
    assert {row["queue_id"]: row["owner_after"] for row in rows} == {
        0: "c1",
        1: "c1",
        2: "c2",
        3: "what-if-000001",
    }
    assert [row["change"] for row in rows] == ["kept", "kept", "moved", "moved"]


@pytest.mark.parametrize(
    ("owned", "found", "n"),
    [
        (((0, 1), (2, 3)), {0: ["c1"], 1: ["c1"], 2: ["c2"], 3: ["c2"]}, 0),
        (
            ((0, 1), (2,)),
            {0: ["c1"], 1: ["c1"], 2: ["c2"], 3: [None]},
            1,
        ),  # nobody owns it, though all else is as computed
        (((0, 1, 2), (2, 3)), {0: ["c1"], 1: ["c1"], 2: ["c1", "c2"], 3: ["c2"]}, 1),
        (
            ((0, 1, 9), (2, 3)),
            {0: ["c1"], 1: ["c1"], 2: ["c2"], 3: ["c2"]},
            0,
        ),  # a queue that is no more
        (((0, 1, 9), (2,)), {0: ["c1"], 1: ["c1"], 2: ["c2"], 3: [None]}, 1),
        (((), ()), {i: [None] for i in range(4)}, 4),
    ],
)
def test_queues_of_nobody_of_two_and_those_that_are_no_more(owned, found, n):
    plan = planned(*clients(*owned))
    assert (before(plan), differs(plan)) == (found, [n])


def test_a_mixed_group_starts_from_what_it_reports_even_if_one_strategy_explains_that():
    """Every owner is that of AVG, which the second client does not divide by."""
    mixed = [
        replace(one, strategy=name)
        for one, name in zip(clients((0, 1), (2, 3)), ("AVG", "AVG_BY_CIRCLE"), strict=True)
    ]
    plan = planned(*mixed)
    assert before(plan) == {0: ["c1"], 1: ["c1"], 2: ["c2"], 3: ["c2"]}
    assert plan.evidence["source"].to_pylist() == ["by client"]
    assert differs(plan) == [
        2
    ]  # the second computes 1 and 3, so 1 would have two owners and 2 none


def test_two_processes_of_one_id_own_what_both_report():
    twice = Client("c1", owned=queues((0,))), Client("c1", owned=queues((1, 2)))
    plan = plan_snapshot(with_strategies(snapshot(group(*twice), topics=FOUR), strategy="AVG"), [])
    assert before(plan) == {0: ["c1"], 1: ["c1"], 2: ["c1"], 3: [None]}
    assert differs(plan) == [
        1
    ]  # AVG gives both 0 and 1, and the second slot 2 and 3, which nobody takes


def test_what_some_clients_do_not_report_is_computed():
    with pytest.raises(UnansweredError, match="AVG explains 2 of 3 known owners"):
        planned(Client("c1", owned=queues((0, 1, 2))), Client("c2"), strategy_doubt=None)
    whole = with_strategies(
        snapshot(group(Client("c1", owned=queues((0, 1, 2))), Client("c2")), topics=FOUR),
        strategy="AVG",
    )
    plan = plan_snapshot(whole, [])
    assert before(plan) == {0: ["c1"], 1: ["c1"], 2: ["c2"], 3: ["c2"]}
    assert differs(plan) == [1]
    assert plan.warnings == (
        "g: not all of its clients report their queues (c2): owners are computed",
    )


OWNED = st.lists(st.sets(st.integers(0, 6)), min_size=1, max_size=4)


@examples(150, nightly=5_000)
@given(
    OWNED,
    st.lists(st.sampled_from(["AVG", "AVG_BY_CIRCLE", None]), min_size=4, max_size=4),
    st.booleans(),
)
def test_before_and_differs_are_those_of_every_client_on_its_own(owned, names, is_shared):
    """If all report, the state before is what they report; it differs where the twin's readers are
    others.
    """
    ids = ["c1" if is_shared and i == 1 else f"c{i + 1}" for i in range(len(owned))]
    made = tuple(
        Client(one, strategy=name, owned=queues(mine))
        for one, name, mine in zip(ids, names, map(sorted, owned), strict=False)
    )
    one = Group("g", ("orders",), made, strategy="AVG", strategy_source="given")
    whole = with_strategies(snapshot(one, topics=(topic(a=5),)))
    reported = {
        i: sorted({c.client_id for c in made if i in {q.queue_id for q in c.owned}}, key=utf16)
        for i in range(5)
    }
    silent = replace(one, clients=tuple(replace(client, owned=None) for client in made))
    [state] = computed(snapshot(silent, topics=(topic(a=5),)))
    readers = [sorted(ids, key=utf16) for ids in state.owners.values()]
    assert before(plan_snapshot(whole, [])) == {i: found or [None] for i, found in reported.items()}
    assert differing_queues(Known.of(whole)) == {
        "g": sum(reported[i] != readers[i] for i in range(5))
    }


def test_queues_that_differ_are_counted_of_the_chosen_groups_alone():
    groups = [
        Group(name, ("orders",), clients((0, 1), (2, 3)), strategy="AVG", strategy_source="given")
        for name in "gh"
    ]
    whole = snapshot(*groups, topics=(topic(a=4),))
    assert differing_queues(Known.of(whole, ["h"])) == {"h": 0}


def test_a_broker_that_is_not_readable_has_no_queues():
    one = topic(a=4)
    two = replace(one, brokers=(*one.brokers, TopicBroker("b", 4, perm=2)))
    plan = planned(*clients((0, 1), (2, 3)), topics=(two,))
    assert (len(before(plan)), differs(plan)) == (4, [0])
