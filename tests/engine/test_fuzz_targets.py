"""Kernels in C under the inputs that fuzzing kept, and a little further: every instruction set
agrees with plain C.
"""

import pytest
from fuzz.guided import c_targets, replay


@pytest.mark.needs("clang")  # libFuzzer is part of it
@pytest.mark.slow
@pytest.mark.parametrize("name", c_targets.C_TARGETS)
def test_a_target_runs_over_its_corpus_and_finds_nothing(name):
    replay.replay_c(name, seconds=3)
