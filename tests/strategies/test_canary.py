"""CANARY: a share of every broker's queues for some clients, and no retries."""

from fractions import Fraction

import numpy as np
import pytest
import reference
import reference_own
from hypothesis import given
from hypothesis import strategies as st
from strategy_cases import Rule, avg, nearby, nearby_reference, numbered, over
from strategy_declarations import JavaCases, Promise

from rmqalloc import Fleet, MessageQueue, strategy


def twin(inner):
    return reference_own.Canary(inner, 3000, lambda client: client.endswith("1"))


CASES = [
    Rule("CANARY-AVG", over("CANARY", avg, share="0.3", pattern="*1"), twin(reference.Avg())),
    Rule(
        "CANARY-ROTATED-NEARBY-AVG",
        over("CANARY", over("ROTATED", nearby(avg)), share="0.3", pattern="*1"),
        twin(reference_own.Rotated(nearby_reference(reference.Avg()))),
    ),
]
PROMISES = [
    Promise("CANARY-AVG", "CANARY-AVG", {"share": 0.25, "pattern": "*@consumer-1"}),
]
JAVA_CASES = [
    JavaCases(
        "CANARY",
        lambda random, inner: {
            "inner": inner,
            "share": random.choice([0, 0.0001, 0.05, 0.1, 0.25, 0.29, 0.5, 0.9999, 1]),
            "pattern": random.choice(["*@gray", "10.*", "*1*", "*?@*-?", "*", "a@b-[0]", "中*"]),
        },
    )
]

CLIENTS = ["c1@gray", "c1@main", "c2@gray", "c2@main", "c3@main"]
IS_CANARY = np.array([True, False, True, False, False])


@given(sizes=st.lists(st.integers(1, 30), min_size=1, max_size=5), points=st.integers(0, 10_000))
def test_canary_clients_have_their_share_of_every_broker(sizes, points):
    queues = [MessageQueue("T", f"b{b}", i) for b, n in enumerate(sizes) for i in range(n)]
    owners = strategy("CANARY", share=points / 10_000).assign(queues, CLIENTS).owners
    assert owners.min() >= 0
    for b, n in enumerate(sizes):
        mine = [
            bool(IS_CANARY[o])
            for q, o in zip(queues, owners, strict=True)
            if q.broker_name == f"b{b}"
        ]
        k = -(-Fraction(points * n, 10_000) // 1)
        assert mine == [True] * k + [False] * (n - k)


def test_names_that_differ_by_a_nul_are_two_brokers():
    """An array of text dropped NULs at its end, so that the second broker gave no queue of its own
    to the canary clients.
    """
    queues = [MessageQueue("T", name, i) for name in ("b", "b\0", "", "\0") for i in range(2)]
    made = strategy("CANARY", share=0.5)
    owners = made.assign(queues, CLIENTS).owners
    assert IS_CANARY[owners].tolist() == [True, False] * 4
    assert (
        made.assign_fleet(Fleet.from_groups([("g", "T", queues, CLIENTS)])).tolist()
        == owners.tolist()
    )


@pytest.mark.parametrize("name", ["CANARY", "CANARY-ROTATED-AVG", "CANARY-CONSISTENT_HASH"])
def test_a_retry_topic_is_not_for_them(name):
    queues = [MessageQueue("%RETRY%g", f"b{b}", 0) for b in range(4)]
    made = strategy(name, share=0.01)
    owners = made.assign(queues, CLIENTS).owners
    assert not IS_CANARY[owners].any()
    fleet = Fleet.from_groups(
        [("g", "%RETRY%g", queues, CLIENTS), ("g", "T", numbered(8), CLIENTS)]
    )
    both = made.assign_fleet(fleet)
    assert both[:4].tolist() == owners.tolist()
    assert IS_CANARY[both[4:]].tolist() == [True] + [False] * 7


@pytest.mark.parametrize(
    "clients", [["a", "b"], ["a@gray", "b@gray"], ["a@Gray", "b@graY"], ["a@gray ", "@gra"]]
)
@pytest.mark.parametrize("topic", ["T", "%RETRY%g"])
def test_of_one_kind_alone_all_divide_all(clients, topic):
    queues, made = numbered(5, topic=topic), strategy("CANARY", share=0.5)
    assert made.assign(queues, clients).owners.tolist() == [0, 0, 0, 1, 1]
    assert made.assign_fleet(Fleet.from_groups([("g", topic, queues, clients)])).tolist() == [
        0,
        0,
        0,
        1,
        1,
    ]


@given(st.text("ab*?[]!-.\n😀", max_size=6), st.text("ab*?[]!-.\n😀", max_size=6))
def test_patterns_by_the_book(pattern, text):
    def matches(pattern, text):
        if not pattern:
            return not text
        if pattern[0] == "*":
            return matches(pattern[1:], text) or (text != "" and matches(pattern, text[1:]))
        return text != "" and pattern[0] in ("?", text[0]) and matches(pattern[1:], text[1:])

    owners = (
        strategy("CANARY", share=1, pattern=pattern)
        .assign(numbered(2), [text, "another, which never matches"])
        .owners
    )
    both = matches(pattern, "another, which never matches")
    expected = [0, 1] if matches(pattern, text) == both else [1, 1] if both else [0, 0]
    assert owners.tolist() == ([-1 if o == 0 and not text else o for o in expected])


def test_a_pattern_of_many_stars_takes_no_time():
    strategy("CANARY", share=0.1, pattern="*a" * 40 + "b").assign(numbered(4), ["a" * 5000, "x"])


@pytest.mark.parametrize("threads", [1, 2])
def test_a_fleet_is_its_groups(threads):
    groups = [
        (
            "g",
            f"{'%RETRY%' * (i % 7 == 0)}t{i}",
            [("b", q) for q in range(1 + i % 9)],
            CLIENTS[: 1 + i % 5],
        )
        for i in range(120)
    ]
    fleet = Fleet.from_groups([*groups, ("g", "none", [], CLIENTS)])
    made = strategy("CANARY-CONSISTENT_HASH", share="0.25", virtual_nodes=3)
    found = made.assign_fleet(fleet, on_error="report", threads=threads).tolist()
    assert found == [
        o
        for _, topic, queues, ids in groups
        for o in made.assign([(topic, *q) for q in queues], ids).owners.tolist()
    ]


@pytest.mark.parametrize(
    ("params", "error", "said"),
    [
        pytest.param(
            {},
            TypeError,
            "missing a required argument: 'share'; it takes share, pattern, inner",
            id="no share",
        ),
        ({"share": 1.5}, ValueError, "share must be from 0 to 1, got 1.5"),
        ({"share": 0.00001}, ValueError, "share must have at most 4 decimals, got 1e-05"),
        ({"share": 0.1, "pattern": None}, TypeError, "pattern must be text, got None"),
    ],
)
def test_wrong_parameters(params, error, said):
    with pytest.raises(error, match=said):
        strategy("CANARY", **params)


def test_reasons():
    queues = [MessageQueue("T", b, i) for b in ("a", "b") for i in range(4)]
    made = strategy("CANARY", share=0.3)
    steps = [made.explain(queues, CLIENTS, place).steps for place in range(8)]
    whose = (
        "2 of 5 clients match *@gray; canary clients get the first 2 of the 4 queues of broker {}, and this queue is number {} "
        "(from 0), for {}"
    )
    assert [one[0] for one in steps] == [
        whose.format(
            q.broker_name,
            q.queue_id,
            "canary clients" if q.queue_id < 2 else "the remaining clients",
        )
        for q in queues
    ]
    for place, owner in enumerate(made.assign(queues, CLIENTS).owners.tolist()):
        assert f"client {CLIENTS[owner]} is client number" in steps[place][-1]
    retry = [MessageQueue("%RETRY%g", "a", 0)]
    assert (
        "holds retries, which go only to the remaining clients"
        in made.explain(retry, CLIENTS, 0).steps[0]
    )
    assert "so all clients divide all queues" in made.explain(retry, ["x"], 0).steps[0]
    assert (made.share, made.with_virtual_nodes(3).points) == (made.share, 3000)
