"""The brute force answers as Java does, and sees a rule that is wrong;
`tests/plans/test_bruteforce.py` asks the product.
"""

import pytest
from bruteforce import golden, java, runs, state_verbs, states
from bruteforce.tally import Tally
from checkout import DATA

SEED = 20261122
GOLDEN = DATA / "golden.jsonl.gz"


def test_the_brute_force_agrees_with_the_real_java_classes():
    tally = Tally()
    golden.compare(GOLDEN, tally, every=5)
    assert tally.compared > 2_000
    assert not tally.differences, tally.differences[:3]


@pytest.mark.parametrize(
    ("verb", "n"),
    [
        ("plan", 8),
        ("plan of mixed groups", 8),
        ("explain", 8),
        ("check", 40),
        ("reach", 40),
        ("bulk", 8),
        ("recommend", 8),
        ("restart", 8),
    ],
)
def test_a_wrong_rule_is_seen(verb, n, monkeypatch):
    """AVG whose last client gets all that is over, as a stand-in for a fault of either side."""

    def wrong(rule, current, queues, ids, rooms):
        share, i = len(queues) // len(ids), ids.index(current)
        return queues[i * share : (i + 1) * share if i < len(ids) - 1 else len(queues)]

    monkeypatch.setitem(java.RULES, "AVG", wrong)
    assert runs.run(verb, SEED, range(n)).differing


@pytest.mark.parametrize("verb", ["show", "check", "groups", "service", "mcp"])
def test_a_wrong_state_is_seen(verb, monkeypatch):
    """Reports that are not believed, as a stand-in for a fault of either side."""
    monkeypatch.setattr(states.States, "reports", lambda self, topic: False)
    found = []
    for number in range(12):
        case = runs.case_of("states", SEED, number) | {"verbs": [verb]}
        found += runs.differences("states", case).differences
    assert found


def test_a_false_yes_of_the_guard_is_seen(monkeypatch):
    monkeypatch.setattr(state_verbs, "unsettled", lambda states: "a queue is unowned")
    found = []
    for number in range(12):
        case = runs.case_of("states", SEED, number) | {"verbs": ["guard"]}
        found += runs.differences("states", case).differences
    assert any("yes" in fault.kind for fault in found)
