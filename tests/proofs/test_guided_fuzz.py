"""The guided fuzz: no target and no header is left out, and it sees what is wrong; `tests/` replays
its corpora.
"""

import json
import shutil
import subprocess

import pytest
from checkout import ROOT
from fuzz.readers import Reader
from guided_fuzz import c_targets, ledger, of_kernels, of_readers, places, python_targets, replay

LARGEST = 300_000
"""Bytes of all corpora."""


def test_names_are_those_of_the_targets():
    assert set(python_targets.load(True)) == set(python_targets.NAMES_OF_KERNELS)
    assert set(python_targets.load(False)) == set(python_targets.NAMES_OF_READERS)


def test_corpora_are_small_and_of_targets_that_are_there():
    files = [path for path in places.CORPORA.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < LARGEST
    assert {path.parent.name for path in files} <= {
        "fuzz",
        *python_targets.NAMES,
        *c_targets.C_TARGETS,
    }


def test_seeds_are_what_is_committed():
    """A right file that changes is written anew: `python -m guided_fuzz seeds`."""
    for name in python_targets.NAMES:
        made = replay.target(name).seeds()
        assert made.keys() == {
            path.name
            for path in places.inputs(name)
            if not path.name.startswith(("grown-", "found-"))
        }, name


def test_a_difference_and_an_error_that_is_not_the_readers_own_are_findings(monkeypatch, tmp_path):
    reader = replay.target("offsets")
    kept = json.dumps({"x": 1}).encode()
    reader.one(kept)

    def broken(_path):
        raise KeyError("x")

    with pytest.raises(KeyError):
        of_readers.reading("odd", Reader("o.json", lambda _: b"", broken, (ValueError,)))(kept)
    monkeypatch.setattr(
        of_kernels.reference_own, "weighted", lambda weights, _: [-1] * len(weights)
    )
    with pytest.raises(AssertionError, match="the twin says"):
        of_kernels.weights(bytes(range(40)))


@pytest.mark.parametrize(
    ("log", "n", "first"),
    [
        pytest.param(
            "#7\tNEW cov: 3\n#90\tDONE\nstat::number_of_executed_units: 93\n",
            93,
            "it ended with an error and said nothing known",
            id="nothing known",
        ),
        pytest.param(
            "#7\tNEW cov: 3\navx2: queue 3 of 9: 1\n==1== ERROR: libFuzzer: deadly signal\n",
            7,
            "avx2: queue 3 of 9: 1",
            id="a line of the target",
        ),
        pytest.param(
            " === Uncaught Python exception: ===\nKeyError: 1\n",
            0,
            " === Uncaught Python exception: ===",
            id="an exception",
        ),
    ],
)
def test_a_log_says_how_many_inputs_and_what_was_found(log, n, first):
    assert ledger.executed(log) == n
    assert ledger.said(log) == first


def test_every_c_file_of_the_kernels_has_a_target():
    """And so has every header that promises something: those of instruction sets are included by
    the C files.
    """
    aimed_at = {file for target in c_targets.C_TARGETS.values() for file in target.files}
    assert {path.name for path in (ROOT / "pyx/vector").glob("*_core.c")} == aimed_at
    included = "".join(path.read_text() for path in (ROOT / "tests/support/c").glob("fuzz_*"))
    promised = (
        "isa.h",
        "md5.h",
        "mix.h",
        "preferences.h",
        "ring.h",
        "rows.h",
        "split.h",
        "strings.h",
        "tally.h",
    )
    assert [header for header in promised if f'#include "{header}"' not in included] == []


@pytest.mark.needs("clang")  # libFuzzer is part of it
@pytest.mark.slow
def test_a_step_too_many_in_a_split_is_found(tmp_path, monkeypatch):
    """Over the committed inputs alone, so in no time."""
    broken = tmp_path / "pyx"
    shutil.copytree(ROOT / "pyx", broken)
    body = (broken / "vector/split_body.h").read_text()
    assert body.count("2 * step - n : 2 * step") == 1
    (broken / "vector/split_body.h").write_text(
        body.replace("2 * step - n : 2 * step", "2 * step - n + 1 : 2 * step")
    )
    monkeypatch.setattr(c_targets, "WORK", tmp_path)
    program = c_targets.build(c_targets.C_TARGETS["split"], source_folder=broken)
    command = [
        program,
        "-runs=20000",
        f"-artifact_prefix={tmp_path}/",
        places.corpus("split", committed=True),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0
    assert "queue" in done.stderr or "AddressSanitizer" in done.stderr
