"""Strategies as clients of other languages compute them, beside the references in Python alone."""

import os
from random import Random, SystemRandom

import go_reference
import pytest
import reference

from rmqalloc import MessageQueue, strategy

SEED = int(os.environ.get("RMQALLOC_SEED") or SystemRandom().randrange(2**32))


def test_the_reference_of_cpp_computes_what_javas_does():
    random = Random(SEED)
    for _ in range(300):
        n, m = random.randrange(1, 40), random.randrange(1, 20)
        queues, ids = [("T", "b", i) for i in range(n)], [f"c{i}" for i in range(m)]
        cpp = [go_reference.CppAvg().allocate("g", one, queues, ids) for one in ids]
        assert cpp == [reference.Avg().allocate("g", one, queues, ids) for one in ids]
        assert cpp == [
            strategy("AVG", dialect="cpp").allocate("g", one, queues, ids) for one in ids
        ]


@pytest.mark.parametrize("name", ["CONSISTENT_HASH", "MACHINE_ROOM"])
def test_what_is_explained_is_who_owns_it(name):
    parameters = (
        {"virtual_nodes": 7} if name == "CONSISTENT_HASH" else {"machine_rooms": ["hz", "sh"]}
    )
    engine = strategy(name, dialect="go", **parameters)
    queues = [
        MessageQueue("T", broker, i) for broker in ("a", "hz@b1", "sh@b1", "zz@b") for i in range(7)
    ]
    ids = [f"c{i}" for i in range(5)]
    owners = engine.assign(queues, ids).owners.tolist()
    for i, owner in enumerate(owners):
        facts = engine.explain(queues, ids, i).facts
        said = (
            facts["hit"]["client_id"]
            if name == "CONSISTENT_HASH"
            else facts.get("client_place", -1)
        )
        assert said == (ids[owner] if name == "CONSISTENT_HASH" else owner)
    assert name == "CONSISTENT_HASH" or {-1, 0, 4} <= set(owners)


def test_what_a_client_has_as_java_is_javas_and_what_it_lacks_is_an_error():
    assert (
        type(strategy("AVG", dialect="go"))
        is type(strategy("AVG", dialect="cpp"))
        is type(strategy("AVG"))
    )
    for name, dialect in (("AVG_BY_CIRCLE", "cpp"), ("CONSISTENT_HASH_BOUNDED", "go")):
        with pytest.raises(ValueError, match=f"has no {name}"):
            strategy(name, dialect=dialect)


@pytest.mark.parametrize("dialect", ["go", "java"])
@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("CONSISTENT_HASH", {"virtual_nodes": 1.5}, "virtual_nodes must be an integer, got 1.5"),
        pytest.param(
            "MACHINE_ROOM",
            {"machine_rooms": "hz"},
            "machine_rooms must be a set of names, got the string 'hz'",
            id="MACHINE_ROOM-hz",
        ),
        ("MACHINE_ROOM", {"machine_rooms": [1]}, r"machine_rooms must hold strings, got \[1\]"),
    ],
)
def test_a_parameter_of_a_wrong_type_is_refused_in_every_dialect(dialect, name, given, said):
    with pytest.raises(TypeError, match=said):
        strategy(name, dialect=dialect, **given)
