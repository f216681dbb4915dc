"""Every verb beside a brute force that shares nothing with the product: a few snapshots each; `bruteforce` runs many."""

import pytest
from bruteforce import golden, java, runs
from bruteforce.tally import Tally
from bruteforce.verbs import VERBS
from checkout import DATA

N_SNAPSHOTS, SEED = 40, 20261122
SLOW = {"command line": 10, "compare": 25, "budget": 25}
GOLDEN = DATA / "golden.jsonl.gz"


@pytest.mark.parametrize("verb", VERBS)
def test_no_answer_differs(verb):
    n_snapshots = SLOW.get(verb, N_SNAPSHOTS)
    done = runs.run(verb, SEED, range(n_snapshots))
    assert done.compared > 5 * n_snapshots
    assert not done.differing, (done.differing[0][0], [str(one) for one in done.differing[0][2][:5]])


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
