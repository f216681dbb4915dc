"""Targets of the guided fuzz in C do not rot: each runs over its corpus and a little further, and sees what is broken."""

import shutil
import subprocess

import pytest
from checkout import ROOT
from guided_fuzz import c_targets, places, replay

needs_clang = pytest.mark.skipif(not shutil.which("clang"), reason="no clang, which libFuzzer is part of")


@needs_clang
@pytest.mark.slow
@pytest.mark.parametrize("name", c_targets.C_TARGETS)
def test_a_target_runs_over_its_corpus_and_finds_nothing(name):
    replay.replay_c(name, seconds=3)


def test_every_c_file_of_the_kernels_has_a_target():
    """And so has every header that promises something: those of instruction sets are included by the C files."""
    aimed_at = {file for target in c_targets.C_TARGETS.values() for file in target.files}
    assert {path.name for path in (ROOT / "pyx").glob("*_core.c")} == aimed_at
    included = "".join(path.read_text() for path in (ROOT / "tests/support/c").glob("fuzz_*"))
    promised = (
        "isa.h",
        "md5.h",
        "mix.h",
        "names.h",
        "preferences.h",
        "ring.h",
        "rows.h",
        "slots.h",
        "split.h",
        "strings.h",
        "tally.h",
    )
    assert [header for header in promised if f'#include "{header}"' not in included] == []


@needs_clang
@pytest.mark.slow
def test_a_step_too_many_in_a_split_is_found(tmp_path, monkeypatch):
    """Over the committed inputs alone, so in no time."""
    broken = tmp_path / "pyx"
    shutil.copytree(ROOT / "pyx", broken)
    body = (broken / "split_body.h").read_text()
    assert body.count("2 * step - n : 2 * step") == 1
    (broken / "split_body.h").write_text(body.replace("2 * step - n : 2 * step", "2 * step - n + 1 : 2 * step"))
    monkeypatch.setattr(c_targets, "WORK", tmp_path)
    program = c_targets.build(c_targets.C_TARGETS["split"], source_folder=broken)
    command = [program, "-runs=20000", f"-artifact_prefix={tmp_path}/", places.corpus("split", committed=True)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0
    assert "queue" in done.stderr or "AddressSanitizer" in done.stderr
