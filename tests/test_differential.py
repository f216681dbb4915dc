"""RocketMQ's real classes under random events, asked in this run; ``python -m differential`` is the long form.

``RMQALLOC_SEED`` takes other sequences. Where a JDK or Maven is missing, these tests are skipped and say what to install.
"""

import os

import pytest
from differential.__main__ import told
from differential.releases import HALVES, RELEASES
from differential.runs import run
from differential.tolerated import TOLERATED
from java_driver import JavaMissing

pytestmark = pytest.mark.java

SEED = int(os.environ.get("RMQALLOC_SEED") or 1)
SEQUENCES = 1_000


@pytest.mark.parametrize("half", HALVES)
def test_real_classes_and_the_product_agree_after_every_event(half):
    try:
        totals = run([half], list(RELEASES), SEQUENCES, SEED)
    except JavaMissing as missing:
        pytest.skip(str(missing))
    assert [one.sequences for one in totals] == [SEQUENCES] * len(RELEASES)
    assert not any(one.differences for one in totals), "\n".join(map(told, totals))


def test_every_tolerated_corner_names_its_line():
    assert len({(one.half, one.name) for one in TOLERATED}) == len(TOLERATED)
    for corner in TOLERATED:
        assert corner.half in HALVES and corner.lines and corner.lines.keys() <= RELEASES.keys() and corner.why
        assert all(":" in line for line in corner.lines.values()), corner.name
