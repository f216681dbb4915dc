"""The fuzz sees an error that is not a reader's own, an answer that differs, and a silent loss."""

import json
import shutil
import subprocess
from collections import Counter
from dataclasses import replace

import pytest
import silent_losses
from checkout import ROOT
from contradicting_outputs import contradiction
from damaged_outputs import damages, given_cases
from fuzz import peers, readers, running, wire
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


# --- Silence ---

SHOWS_OWNERS = "papers/progress-s-without-rows-of-a-broker/all.txt"


@pytest.fixture
def planted(monkeypatch):
    """Replace what is read: by what a function makes of the snapshot, its warnings and the sources."""
    read = silent_losses.read_snapshots

    def plant(change):
        monkeypatch.setattr(
            silent_losses, "read_snapshots", lambda sources: change(*read(sources), sources)
        )

    return plant


def kinds_of_faults(kind):
    files = given_cases()[SHOWS_OWNERS]
    before = silent_losses.answer(files)
    return {
        fault.kind
        for damage in damages(kind, files)
        for fault in silent_losses.judged(before, damage).faults
    }


def without_a_word(snapshot, _warnings, _sources):
    groups = tuple(replace(group, unknown={}) for group in snapshot.groups)
    return replace(snapshot, groups=groups), ()


def test_a_loss_without_a_word_is_seen(planted):
    planted(without_a_word)
    assert "owner changed" in kinds_of_faults("row deleted")


def test_a_contradiction_that_nothing_names_is_seen(planted):
    planted(without_a_word)
    faults = silent_losses.silent_contradiction(contradiction("counts", 1))
    assert [fault.kind for fault in faults] == ["not named"]


def test_another_answer_about_the_same_outputs_is_seen(planted):
    def without_topics_if_coloured(snapshot, warnings, sources):
        is_coloured = any(b"\x1b" in source.data for source in sources)
        return (replace(snapshot, topics=()) if is_coloured else snapshot), warnings

    planted(without_topics_if_coloured)
    assert kinds_of_faults("coloured") == {"other answer"}


def test_an_exception_of_what_reads_outputs_is_seen(planted):
    def broken(snapshot, _warnings, sources):
        if b"broker-b" not in sources[0].data:
            raise KeyError("x")
        return snapshot, ()

    planted(broken)
    assert "exception" in kinds_of_faults("column deleted")


# --- Peers ---


def test_an_answer_that_is_not_due_is_a_fault():
    faults, due = [], Counter(["1"])
    for said in (b'{"id":1,"result":{}}\n', b'{"id":1,"result":{}}\n'):
        peers._judge(said, due, Counter(), faults)
    peers._judge('{"id":null,"error":{"code":1},"x":"\u202e"}\n'.encode(), due, Counter(), faults)
    assert [fault.split(":")[0] for fault in faults] == [
        "more than is due",
        "not printable ASCII",
        "more than is due",
    ]
