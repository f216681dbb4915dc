"""The twin's own loops of ORDINAL and STABLE against the pages that define the two, on odd groups."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st
from hypothesis_budget import examples
from plan_checker import named_rules as rules
from strategy_vectors import random_case


@examples(60, nightly=3000)
@given(seed=st.integers(0, 2**32), slack=st.integers(0, 1))
def test_owners_are_those_of_the_pages(seed, slack):
    for name in ("ORDINAL", "STABLE"):
        one = random_case(Random(seed), name)
        pattern = one.parameters.get("pattern", "-#")
        one = one._replace(parameters={"pattern": pattern} if name == "ORDINAL" else {"slack": slack})
        queues, ids = [queue[1:] for queue in one.queues], tuple(one.client_ids)
        expected = [one.client_ids[owner] if owner >= 0 else None for owner in one.specified_owners()]
        last = pattern if name == "ORDINAL" else slack
        assert getattr(rules, name.lower())(one.queues[0].topic, queues, ids, last) == expected
