"""Every verb beside a brute force that shares nothing with the product: a few snapshots each; `bruteforce` runs many."""

import pytest
from bruteforce import runs
from bruteforce.verbs import VERBS

N_SNAPSHOTS, SEED = 25, 20261122
SLOW = {"command line": 8, "compare": 15, "budget": 10}


@pytest.mark.parametrize("verb", VERBS)
def test_no_answer_differs(verb):
    n_snapshots = SLOW.get(verb, N_SNAPSHOTS)
    done = runs.run(verb, SEED, range(n_snapshots))
    assert done.compared > 5 * n_snapshots
    assert not done.differing, (done.differing[0][0], [str(one) for one in done.differing[0][2][:5]])
