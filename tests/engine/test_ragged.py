"""Routes of lists in the order of their brokers: what the kernel says of lists that it cannot put
in order alone.
"""

import numpy as np
import pytest

from rmqalloc._engine import ragged


@pytest.mark.parametrize(
    ("topics", "brokers", "moves", "clashes"),
    [
        ((0, 0), (0, 1), 0, 0),
        ((0, 0), (1, 0), 1, 0),
        ((0, 0), (1, 1), 0, 1),
        ((0, 0, 0), (0, 1, 1), 0, 1),
        ((0, 1), (0, 1), 0, 1),
    ],
)
def test_a_list_clashes_with_two_routes_of_a_broker_or_of_two_topics(
    topics, brokers, moves, clashes
):
    n, facts = len(brokers), np.zeros(2, np.uint8)
    (places, broker), offsets = np.empty((2, n), np.int32), np.empty(n + 1, np.int64)
    ragged.sort_routes(
        np.array([0, n], np.int64), np.arange(n + 1, dtype=np.int64), np.array(topics, np.int32),
        np.array(brokers, np.int32), np.arange(2, dtype=np.int32), np.empty(n, np.uint64), np.empty(n, np.int32), facts,
        places, broker, offsets,
    )  # fmt: skip
    assert facts.tolist() == [moves, clashes]
    assert broker.tolist() == sorted(brokers)
