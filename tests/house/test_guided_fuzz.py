"""The guided fuzz in Python: its committed inputs come to answers and refusals, and it sees what is wrong."""

import json

import pytest
from guided_fuzz import c_targets, ledger, places, python_targets, replay

LARGEST = 300_000
"""Bytes of all corpora."""


@pytest.mark.parametrize("name", python_targets.NAMES)
def test_committed_inputs_are_read_or_refused_and_answers_are_the_twin_s(name):
    assert replay.replay_python(name) > 0


def test_names_are_those_of_the_targets():
    assert set(python_targets.load(True)) == set(python_targets.NAMES_OF_KERNELS)
    assert set(python_targets.load(False)) == set(python_targets.NAMES_OF_READERS)


def test_corpora_are_small_and_of_targets_that_are_there():
    files = [path for path in places.CORPORA.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < LARGEST
    assert {path.parent.name for path in files} <= {"fuzz", *python_targets.NAMES, *c_targets.C_TARGETS}


def test_seeds_are_what_is_committed():
    """A right file that changes is written anew: `python -m guided_fuzz seeds`."""
    for name in python_targets.NAMES:
        made = replay.target(name).seeds()
        assert made.keys() == {
            path.name for path in places.inputs(name) if not path.name.startswith(("grown-", "found-"))
        }, name


def test_a_difference_and_an_error_that_is_not_the_readers_own_are_findings(monkeypatch, tmp_path):
    reader = replay.target("offsets")
    kept = json.dumps({"x": 1}).encode()
    reader.one(kept)
    from fuzz.readers import Reader
    from guided_fuzz import of_kernels, of_readers

    def broken(_path):
        raise KeyError("x")

    with pytest.raises(KeyError):
        of_readers.reading("odd", Reader("o.json", lambda _: b"", broken, (ValueError,)))(kept)
    monkeypatch.setattr(of_kernels.reference_own, "weighted", lambda weights, _: [-1] * len(weights))
    with pytest.raises(AssertionError, match="the twin says"):
        of_kernels.weights(bytes(range(40)))


@pytest.mark.parametrize(
    ("log", "n", "first"),
    [
        (
            "#7\tNEW cov: 3\n#90\tDONE\nstat::number_of_executed_units: 93\n",
            93,
            "it ended with an error and said nothing known",
        ),
        ("#7\tNEW cov: 3\navx2: queue 3 of 9: 1\n==1== ERROR: libFuzzer: deadly signal\n", 7, "avx2: queue 3 of 9: 1"),
        (" === Uncaught Python exception: ===\nKeyError: 1\n", 0, " === Uncaught Python exception: ==="),
    ],
)
def test_a_log_says_how_many_inputs_and_what_was_found(log, n, first):
    assert ledger.executed(log) == n
    assert ledger.said(log) == first
