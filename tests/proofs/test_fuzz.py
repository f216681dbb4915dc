"""The fuzz sees an error that is not a reader's own and an answer that differs."""

import json
import shutil
import subprocess

import pytest
from checkout import ROOT
from fuzz import readers, running, wire
from fuzz.__main__ import cells
from fuzz.guided import c_targets, of_kernels, of_readers, places, python_targets, replay
from fuzz.readers import Reader


@pytest.mark.parametrize("raised", [TypeError("x"), RecursionError(), running.TookTooLong()])
def test_an_error_that_is_not_the_readers_own_is_seen(raised, monkeypatch):
    def read(_path):
        raise raised

    monkeypatch.setitem(
        readers.READERS, "odd", readers.Reader("x", lambda _: b"abc", read, (ValueError,))
    )
    made = running.run("odd", 5, 1)
    assert made.errors == {"traceback": 5}
    assert len(made.tracebacks) == 1 and "input: b'abc'" in made.tracebacks[0]
    assert cells(made)[4] == 5


def test_a_traceback_of_the_wire_is_seen(monkeypatch):
    monkeypatch.setattr(wire.answers, "text_of", lambda value, what: value.strip())
    assert any("AttributeError" in text for text in wire.run(100, 7).tracebacks)


def test_seeds_are_what_is_committed():
    """A right file that changes is written again by `python -m fuzz.guided seeds`."""
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
