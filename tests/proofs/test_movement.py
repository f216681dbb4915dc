"""The least that an assignor moves, held to a brute force."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples
from movement import least


def balanced_owners(n_queues, clients):
    """All ways to give queues to clients with max - min at most 1."""
    for owners in itertools.product(clients, repeat=n_queues):
        counts = [owners.count(client) for client in clients]
        if max(counts) - min(counts) <= 1:
            yield owners


@given(st.data())
@examples(60, nightly=600)
def test_the_least_of_a_step_is_that_of_a_brute_force(data):
    n_queues, n_ever = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 4))
    everybody = list(range(n_ever))
    before = data.draw(st.lists(st.sampled_from(everybody), min_size=n_queues, max_size=n_queues))
    clients = data.draw(st.lists(st.sampled_from(everybody), min_size=1, unique=True))
    fewest = min(
        sum(map(int.__ne__, before, after)) for after in balanced_owners(n_queues, clients)
    )
    moved, loads = least.step(np.bincount(before, minlength=n_ever), n_queues, clients)
    assert moved == fewest
    assert least.is_balanced(loads, clients) and loads.sum() == n_queues


# --- Kafka's own classes ---
