"""The fuzz itself: its files are right before they are changed, and it sees an error that is not a
reader's own.
"""

import json
from random import Random

import pytest
from fuzz import readers, running, wire
from fuzz.__main__ import cells

from rmqalloc.plans import load_plan
from rmqalloc.snapshot.files import read_snapshot


def test_what_is_changed_is_right_before(tmp_path):
    (tmp_path / "s.json").write_text(json.dumps(readers.DOCUMENT))
    (tmp_path / "p.json").write_text(json.dumps(readers.PLAN))
    assert read_snapshot(str(tmp_path / "s.json")) == readers.SNAPSHOT
    assert load_plan(tmp_path / "p.json").queues.num_rows == 10


def test_equal_seeds_give_equal_inputs():
    for name, reader in readers.READERS.items():
        if "Parquet" not in name and "form" not in name:  # these keep files that they damage later
            assert [reader.make(Random(3)) for _ in range(2)] == [reader.make(Random(3))] * 2, name


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
    assert cells(made)[4] == "5"


def test_a_traceback_of_the_wire_is_seen(monkeypatch):
    monkeypatch.setattr(wire.answers, "text_of", lambda value, what: value.strip())
    assert any("AttributeError" in text for text in wire.run(100, 7).tracebacks)
