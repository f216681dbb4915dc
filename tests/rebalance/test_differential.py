"""RocketMQ's real classes under random events, asked in this run; ``python -m differential`` is the
long form.

``RMQALLOC_SEED`` takes other sequences. Where a JDK or Maven is missing, these tests are skipped
and say what to install.
"""

import os

import pytest
from differential.__main__ import told
from differential.compared_releases import HALVES, RELEASES
from differential.runs import run

pytestmark = pytest.mark.java

SEED = int(os.environ.get("RMQALLOC_SEED") or 1)
SEQUENCES = {"client": 340, "delayed client": 250, "broker": 1_000}
"""Of each release; those of the client half are the longer ones: 1,020 of them take as long as 3,000 of the other."""


@pytest.mark.parametrize("half", HALVES)
def test_real_classes_and_the_product_agree_after_every_event(half):
    totals = run([half], list(RELEASES), SEQUENCES[half], SEED, short=True)
    assert [one.sequences for one in totals] == [SEQUENCES[half]] * len(RELEASES)
    assert not any(one.differences for one in totals), "\n".join(map(told, totals))
