"""Strategies by name: versions, strategies over others, and who gets which parameter."""

import re

import pytest

from rmqalloc import strategy
from rmqalloc.evidence.client_method import method_of
from rmqalloc.evidence.inferred_strategies import candidates, nearby_guesses
from rmqalloc.evidence.method import Method, Rooms
from rmqalloc.snapshot.snapshot import Client, Group, Topic, TopicBroker
from rmqalloc.snapshot.units import batch_of
from rmqalloc.strategies import STRATEGIES
from rmqalloc.strategies._averagely import Averagely
from rmqalloc.strategies.by_name import (
    class_of,
    from_label,
    full_name,
    inner_class_of,
    is_same,
    lacks_inner,
    outer_name,
    reads_rooms,
    rule,
)


class Newer(Averagely):
    """A second version of a rule, which only its line in the registry makes known."""

    def get_name(self):
        return "LEAST/2"


class Tenth(Newer):
    def get_name(self):
        return "LEAST/10"


@pytest.fixture
def versions(monkeypatch):
    for name, made in (("LEAST/2", Newer), ("LEAST/10", Tenth)):
        monkeypatch.setitem(STRATEGIES, name, made)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("ROTATED", "ROTATED/1-AVG"),
        ("ROTATED/1", "ROTATED/1-AVG"),
        ("ROTATED-AVG_BY_CIRCLE", "ROTATED/1-AVG_BY_CIRCLE"),
        ("ROTATED/1-CONSISTENT_HASH", "ROTATED/1-CONSISTENT_HASH"),
        ("ROTATED-ROTATED", "ROTATED/1-ROTATED/1-AVG"),
        ("ROTATED-MACHINE_ROOM_NEARBY-AVG", "ROTATED/1-MACHINE_ROOM_NEARBY-AVG"),
        ("MACHINE_ROOM_NEARBY-ROTATED-AVG", "MACHINE_ROOM_NEARBY-ROTATED/1-AVG"),
        ("MACHINE_ROOM_NEARBY-ROTATED", "MACHINE_ROOM_NEARBY-ROTATED/1-AVG"),
        ("AVG", "AVG"),
    ],
)
def test_a_name_and_what_the_strategy_calls_itself(given, name):
    for made in (strategy(given), rule(given)):
        assert made.get_name() == name
        assert isinstance(made, class_of(given))
    assert full_name(given, {}) == full_name(name, {}) == (name, {})
    assert outer_name(given) == outer_name(name) in STRATEGIES
    assert is_same(given, name)
    assert not lacks_inner(given)


@pytest.mark.parametrize("make", [strategy, rule])
@pytest.mark.parametrize(
    ("given", "said"),
    [
        pytest.param(
            "ROTATED/2",
            "unknown version of strategy ROTATED: ROTATED/2; known is ROTATED/1",
            id="ROTATED/2",
        ),
        pytest.param(
            "ROTATED/2-AVG",
            "unknown version of strategy ROTATED: ROTATED/2; known is ROTATED/1",
            id="ROTATED/2-AVG",
        ),
        pytest.param(
            "MACHINE_ROOM_NEARBY-ROTATED/0",
            "unknown version of strategy ROTATED: ROTATED/0; known is ROTATED/1",
            id="MACHINE_ROOM_NEARBY-ROTATED/0",
        ),
        ("AVG/1", "unknown version of strategy AVG: AVG/1; known is AVG"),
        pytest.param(
            "ROTATED/",
            "unknown version of strategy ROTATED: ROTATED/; known is ROTATED/1",
            id="ROTATED/",
        ),
        ("ROTATED-BEST", "unknown strategy 'BEST'; known are AVG, "),
        ("AVG-AVG", "unknown strategy 'AVG-AVG'; known are AVG, "),
        ("ROTATED-", "unknown strategy ''"),
        ("POP-AVG", "unknown strategy 'POP-AVG'"),
        ("/1", "unknown strategy '/1'"),
        (None, "unknown strategy None"),
        (1, "unknown strategy 1"),
    ],
)
def test_what_is_wrong_with_a_name(make, given, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        make(given)


def test_a_registered_version_is_all_it_takes(versions):
    assert strategy("LEAST").get_name() == "LEAST/10"  # a number, not a text
    assert strategy("LEAST/2").get_name() == "LEAST/2"
    assert rule("ROTATED-LEAST").get_name() == "ROTATED/1-LEAST/10"
    assert full_name("ROTATED", {"inner": "LEAST/2"}) == ("ROTATED/1-LEAST/2", {})
    assert from_label("LEAST") == ("LEAST", {})
    with pytest.raises(ValueError, match="LEAST/3; known are LEAST/2, LEAST/10"):
        strategy("LEAST/3")


def test_the_outer_strategy_takes_its_own_parameters_and_the_inner_one_all_others():
    made = strategy(
        "MACHINE_ROOM_NEARBY-ROTATED-CONSISTENT_HASH", virtual_nodes=3, client_room={"c": "hz"}
    )
    assert (made.client_room, made.inner.inner.virtual_nodes, made.virtual_nodes) == (
        {"c": "hz"},
        3,
        3,
    )
    assert made.with_virtual_nodes(5).inner.inner.virtual_nodes == 5
    assert rule("CANARY-CONSISTENT_HASH", share=1, virtual_nodes=3).inner.virtual_nodes == 3
    with pytest.raises(
        TypeError, match=r"strategy AVG: .*'client_room'"
    ):  # a table says where clients stand
        rule("MACHINE_ROOM_NEARBY-AVG", client_room={})
    for make in (strategy, rule):
        with pytest.raises(TypeError, match=r"strategy AVG: .*; it takes no parameters"):
            make("ROTATED-AVG", virtual_nodes=3)
        with pytest.raises(TypeError, match="leave out inner"):
            make("ROTATED-AVG", inner=strategy("AVG"))
        with pytest.raises(TypeError, match="inner must be a strategy, got 'AVG'"):
            make("ROTATED", inner="AVG")
    with pytest.raises(TypeError, match="inner must give every queue to one client, got CONFIG"):
        strategy("ROTATED-CONFIG", message_queues=[])
    with pytest.raises(
        TypeError, match="ROTATED-CONFIG gives a client its whole list once for every part"
    ):
        rule("ROTATED-CONFIG", message_queues={"c1": []})


def test_what_is_known_of_a_name():
    assert inner_class_of("ROTATED").__name__ == "Averagely"
    assert inner_class_of("ROTATED-MACHINE_ROOM_NEARBY-CONSISTENT_HASH").virtual_nodes == 10
    assert [
        reads_rooms(name) for name in ("ROTATED", "ROTATED-MACHINE_ROOM_NEARBY-AVG", "BEST")
    ] == [
        False,
        True,
        False,
    ]
    assert Method("ROTATED-MACHINE_ROOM_NEARBY-AVG").asks_for_rooms
    assert Method("ROTATED-CONSISTENT_HASH").virtual_nodes == 10
    assert lacks_inner("ROTATED-MACHINE_ROOM_NEARBY")
    assert not is_same("ROTATED-AVG_BY_CIRCLE", "ROTATED/1-AVG")
    assert is_same("ROTATED", "ROTATED/1-AVG_BY_CIRCLE")
    assert not is_same("MACHINE_ROOM_NEARBY-AVG", "MACHINE_ROOM_NEARBY-AVG_BY_CIRCLE")


def test_labels_and_flags():
    assert from_label("ROTATED-CONSISTENT_HASH:160") == (
        "ROTATED-CONSISTENT_HASH",
        {"virtual_nodes": 160},
    )
    for label in ("ROTATED:160", "ROTATED-AVG:160"):
        with pytest.raises(ValueError, match=f"'{label}' is neither NAME, nor"):
            from_label(label)


def test_what_clients_report():
    group = Group(
        "g",
        ("T",),
        (Client("c1"),),
        strategy="ROTATED",
        strategy_params={"inner": "CONSISTENT_HASH"},
    )
    assert method_of(group, Client("c1")).name == "ROTATED/1-CONSISTENT_HASH"
    assert method_of(group, Client("c1", strategy="ROTATED")).name == "ROTATED/1-CONSISTENT_HASH"
    assert method_of(group, Client("c1", strategy="ROTATED-AVG")).name == "ROTATED/1-AVG"
    topic = Topic("T", (TopicBroker("b", 4),))
    assert batch_of([(group, topic)]).column("strategy").to_pylist() == ["ROTATED-CONSISTENT_HASH"]


def test_no_strategy_of_our_own_is_guessed():
    assert not [
        one.name for one in [*candidates(Rooms({}, {})), *nearby_guesses()] if "/" in one.name
    ]
