"""The vectors of ORDINAL, ORDINAL/2 and STABLE are what their pages answer now, and the pages keep
what they promise.
"""

from collections import Counter
from random import Random

import pytest
import strategy_vectors
from checkout import DATA
from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples
from specified import page


@pytest.mark.parametrize("name", strategy_vectors.FILES)
def test_the_vectors_are_what_the_page_answers(name):
    text = (DATA / f"{name}-vectors.tsv").read_text(encoding="ascii")
    assert text.count("\n") >= 60
    assert text == strategy_vectors.text(strategy_vectors.FILES[name])


@pytest.mark.parametrize(
    ("strategy", "slack"), [("ORDINAL", 0), ("ORDINAL/2", 0), ("STABLE", 0), ("STABLE", 1)]
)
@examples(60, nightly=3000)
@given(seed=st.integers(0, 2**32))
def test_loads_differ_by_no_more_than_is_promised(strategy, slack, seed):
    one = strategy_vectors.random_case(Random(seed), strategy)._replace(
        parameters={"slack": slack} if slack else {}
    )
    taking_part = {one.client_ids.index(client_id) for client_id in one.client_ids if client_id}
    loads = Counter(one.specified_owners())
    if taking_part:
        assert loads.keys() <= taking_part
        assert max(loads.values()) - min(loads[position] for position in taking_part) <= 1 + slack
    else:
        assert loads.keys() == {-1}


@examples(40, nightly=2000)
@given(seed=st.integers(0, 2**32), n_clients=st.integers(2, 20))
def test_under_ordinal_a_client_that_goes_gives_up_its_own_queues_alone(seed, n_clients):
    queues = strategy_vectors.random_queues(Random(seed))
    keys = [(queue.broker_name, queue.queue_id) for queue in queues]
    ids = strategy_vectors.slot_ids(range(n_clients))
    gone = seed % n_clients
    left = [*ids[:gone], *ids[gone + 1 :]]
    before = page("ordinal").ordinal(queues[0].topic, keys, ids)
    after = page("ordinal").ordinal(queues[0].topic, keys, left)
    # The highest slot leaves a smaller group, not a hole: then others may move, too.
    if gone < n_clients - 1:
        assert [
            q for q, (a, b) in enumerate(zip(before, after, strict=True)) if ids[a] != left[b]
        ] == [q for q, a in enumerate(before) if a == gone]


def test_the_example_of_a_slot_on_the_page_is_right():
    assert page("ordinal").slot_of("10.0.3.17@consumer-7") == 7
