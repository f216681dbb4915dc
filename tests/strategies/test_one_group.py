"""One group of objects by its kernel: the owners that the same group has in a fleet, whatever is
odd about it.
"""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples

from rmqalloc import Fleet, MessageQueue, strategy
from rmqalloc._engine import preferences, ring_of_one, slots

RULES = [
    ("CONSISTENT_HASH", {}),
    ("ORDINAL", {}),
    ("ORDINAL", {"pattern": "x#y"}),
    ("ORDINAL/2", {}),
    ("STABLE", {}),
    ("STABLE", {"slack": 1}),
]
KERNELS = [
    (ring_of_one.consistent_hash, (10,)),
    (slots.own_group, (b"-", b"", False)),
    (preferences.match_group, (True,)),
]

NAMES = st.one_of(
    st.sampled_from(["T", "orders", "%RETRY%g", "ünï", "\ud800", "\U0001f600"]), st.text(max_size=9)
)
QUEUES = st.builds(MessageQueue, NAMES, NAMES, st.integers(-(2**31), 2**31 - 1))
SLOTS = st.integers(0, 40) | st.integers(0, 10**10)
IDS = st.one_of(
    SLOTS.map("10.0.0.1@web-{}".format), SLOTS.map("a@x{}y@u".format), st.text(max_size=4), NAMES
)
GROUPS = {
    "queues": st.lists(QUEUES, min_size=1, max_size=80),
    "client_ids": st.lists(IDS, min_size=1, max_size=40),
}


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize(("name", "parameters"), RULES)
@examples(60)
@given(**GROUPS)
def test_owners_are_those_of_a_fleet(
    name: str, parameters: dict[str, Any], queues: list[MessageQueue], client_ids: list[str]
) -> None:
    rule = strategy(name, **parameters)
    fleet = Fleet.from_groups([("g", queues[0].topic, queues, client_ids)])
    expected = rule.assign_fleet(fleet).tolist()
    assert rule.assign(queues, client_ids).owners.tolist() == expected
    for client_id in filter(None, client_ids):
        found = rule.allocate("g", client_id, tuple(queues), client_ids)
        place = client_ids.index(client_id)
        if client_id.isascii():  # others may be equal to Java though not to Python
            assert found == [
                queue for queue, owner in zip(queues, expected, strict=True) if owner == place
            ]


@pytest.mark.parametrize(("kernel", "parameters"), KERNELS)
@pytest.mark.parametrize(
    ("queues", "client_ids"),
    [
        ((("T", "b", 0),), ("x", "x")),
        ((("T", "b", 0),), ("x", "")),
        ((("T", "b", 0),), ("\ud800",)),
        ((("T", "b", 0),), (7,)),
        ((("T", "b", 2**31),), ("x",)),
        ((("T", "b", True),), ("x",)),
        (((None, "b", 0),), ("x",)),
        ((("T", "b"),), ("x",)),
        (({"topic": "T", "brokerName": "b", "queueId": 0},), ("x",)),
        ((), ("x",)),
        ((("T", "b", 0),), ()),
    ],
)
def test_what_is_not_plain_is_left_to_others(
    kernel: Any, parameters: Any, queues: Any, client_ids: Any
) -> None:
    out = np.full(max(len(queues), 1), 7, np.int32)
    assert kernel(queues, client_ids, *parameters, 0, None) is None
    assert kernel(queues, client_ids, *parameters, -1, out) is None
    assert set(out.tolist()) == {7}
