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
        for one in ids:
            cpp = go_reference.CppAvg().allocate("g", one, queues, ids)
            assert cpp == reference.Avg().allocate("g", one, queues, ids)
            assert cpp == strategy("AVG", dialect="cpp").allocate("g", one, queues, ids)


@pytest.mark.parametrize("name", ["CONSISTENT_HASH", "MACHINE_ROOM"])
def test_what_is_explained_is_who_owns_it(name):
    parameters = {"virtual_nodes": 7} if name == "CONSISTENT_HASH" else {"machine_rooms": ["hz", "sh"]}
    engine = strategy(name, dialect="go", **parameters)
    queues = [MessageQueue("T", broker, i) for broker in ("a", "hz@b1", "sh@b1", "zz@b") for i in range(7)]
    ids = [f"c{i}" for i in range(5)]
    owners = engine.assign(queues, ids).owners.tolist()
    for i, owner in enumerate(owners):
        facts = engine.explain(queues, ids, i).facts
        said = facts["hit"]["client_id"] if name == "CONSISTENT_HASH" else facts.get("client_place", -1)
        assert said == (ids[owner] if name == "CONSISTENT_HASH" else owner)
    assert name == "CONSISTENT_HASH" or {-1, 0, 4} <= set(owners)
