"""Kernels in C under the inputs that fuzzing kept, and a little further: every instruction set agrees with plain C."""

import shutil

import pytest
from guided_fuzz import c_targets, replay


@pytest.mark.skipif(not shutil.which("clang"), reason="no clang, which libFuzzer is part of")
@pytest.mark.slow
@pytest.mark.parametrize("name", c_targets.C_TARGETS)
def test_a_target_runs_over_its_corpus_and_finds_nothing(name):
    replay.replay_c(name, seconds=3)
