"""The fuzz sees an error that is not a reader's own, an answer that differs, and a trace of an event."""

import json
import shutil
import subprocess

import pytest
from checkout import ROOT
from fuzz import readers, running, wire
from fuzz.__main__ import cells
from fuzz.guided import c_targets, of_kernels, of_readers, places, python_targets, replay
from fuzz.readers import Reader
from fuzz.streams import streams
from fuzz.streams.hostile_events import hostile


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
    """A right file that changes is written anew: `python -m fuzz.guided seeds`."""
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


NOW = 1_800_000_000


def rows_of(events):
    """Rows that refuse events, as live plans make them: text that was read is serialised again."""
    return [
        {
            "version": None,
            "err_code": 1,
            "err_msg": "no",
            "event": one if isinstance(one, str) else json.dumps(one, ensure_ascii=False),
        }
        for _, one in events
    ]


def test_a_trace_of_a_hostile_event_is_a_difference(monkeypatch):
    wrong, taken = hostile(200, NOW), [{"version": version, "err_code": 0} for version in (1, 2)]
    monkeypatch.setattr(streams, "followed", lambda _: "owners")
    monkeypatch.setattr(streams, "answer", lambda *_: "owners")
    right = {"rows": taken[::-1], "state": ["a", "b"]}
    made = {"rows": taken + rows_of(wrong), "state": ["a", "b"]}

    def faults(**other):
        return streams.differences(made | other, right, [], wrong)

    assert faults() == []
    assert faults(state=["a", "c"]) == ["a state that is not that of the good events alone"]
    assert faults(rows=made["rows"][1:]) == [
        "1 rows that are not those of the good events alone, which are 2"
    ]
    kind = wrong[-1][0]
    n = sum(one == kind for one, _ in wrong)
    assert faults(rows=made["rows"][:-1]) == [f"{kind}: {n - 1} rows of {n} events"]
    assert faults(rows=[*made["rows"], made["rows"][-1]]) == [f"{kind}: {n + 1} rows of {n} events"]
    broken = made["rows"][-1] | {"err_msg": "two\nlines"}
    assert faults(rows=[*made["rows"][:-1], broken]) == [
        "1 refused rows without a code, or with other than one line of reason"
    ]
    monkeypatch.setattr(streams, "answer", lambda *_: "others")
    assert faults() == ["owners that are not those of the engine"]
