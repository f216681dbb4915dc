"""The proof of public faces knows every face, and finds a check that is taken away."""

import inspect
import sys

import numpy as np
import pytest
from public_faces import __main__ as program
from public_faces import called, called_columns, calling, listed, page, signs
from public_faces.not_called import NOT_CALLED
from public_faces.world import World

from rmqalloc.fleet import columns, fleet


@pytest.fixture(scope="module")
def world():
    return World()


def test_every_face_is_called_or_listed_with_the_reason():
    """New ones belong into `called.FACES`, or into `NOT_CALLED` with the reason why no array or
    position leads anywhere.
    """
    found = listed.faces().keys()
    called_ = {name for name in called.FACES if name in found}
    assert found - called_ - NOT_CALLED.keys() == set()
    assert called_ & NOT_CALLED.keys() == set()
    assert NOT_CALLED.keys() - found == set()
    assert called.FACES.keys() - found == set()
    assert all(len(reason) > 10 for reason in NOT_CALLED.values())


def test_faces_are_found_by_names_and_annotations_of_parameters():
    def by_name(self, positions): ...
    def by_annotation(self, a: "NDArray[np.int64]", b: str): ...  # noqa: F821
    def neither(self, name: str, n: int): ...

    assert [listed._taken(one) for one in (by_name, by_annotation, neither)] == [
        ["positions"],
        ["a"],
        [],
    ]


def test_what_it_calls_is_refused_or_answered_rightly(world):
    counts = {b"r": 0, b"a": 0}
    for number in range(400):
        _, ask = calling.call(world, "test", number)
        kind, wrong = ask()
        assert not wrong
        counts[kind] += 1
    assert min(counts.values()) > 50


def findings(world, name, n=60):
    random = calling.Random(name)
    outcomes = [calling.outcome(name, *called.FACES[name](world, random)) for _ in range(n)]
    return [wrong for _, wrong in outcomes if wrong]


def test_a_check_of_positions_that_is_gone_is_found(world, monkeypatch):
    name = "rmqalloc.fleet.fleet.Fleet.select"
    assert findings(world, name) == []
    monkeypatch.setattr(
        fleet, "positions", lambda _given, n, _what: np.arange(n)
    )  # in bounds, and others than were given
    assert findings(world, name)


def test_a_check_of_text_that_is_gone_is_found(world, monkeypatch):
    name = "rmqalloc.fleet.columns.Strings.__init__"
    assert findings(world, name) == []
    monkeypatch.setattr(columns, "check_text", lambda _values, _offsets: None)
    monkeypatch.setattr(
        called_columns, "_told", len
    )  # no kernel, which might read anywhere in this process
    assert findings(world, name)


def test_an_exception_of_another_kind_and_another_answer_are_wrong():
    def raising(error):
        raise error

    outcome = calling.outcome
    assert outcome("x", lambda: raising(IndexError("none")), signs.REFUSED) == (b"r", "")
    assert "MemoryError" in outcome("x", lambda: raising(MemoryError()), signs.ANY)[1]
    assert "KeyError" in outcome("x", lambda: raising(KeyError()), signs.REFUSED)[1]
    assert "the twin 2" in outcome("x", lambda: 1, 2)[1]
    assert "the twin an error" in outcome("x", lambda: 1, signs.REFUSED)[1]
    assert "refused" in outcome("x", lambda: raising(IndexError("none")), 1)[1]
    assert outcome("x", lambda: 1, 1) == (b"a", "")


class _Dies:
    """Stands for the program of a child: it makes calls, then dies of one."""

    SCRIPT = "import os, sys; log = open(sys.argv[-1], 'wb'); log.write(b'\\0a\\1r\\2'); log.close(); os.abort()"


def test_a_call_that_a_process_dies_of_is_named_and_the_run_goes_on(monkeypatch):
    monkeypatch.setattr(program, "build_without_fuzzer", dict)
    run = program.Run(7, 1000)
    monkeypatch.setattr(program, "COMMAND", ("-c", _Dies.SCRIPT))
    assert run.child(100, 200) == 102
    assert run.findings == [(calling.NAMES[2], 102, "ended with -6: ")]
    assert dict(run.counts) == {
        (calling.NAMES[0], "a"): 1,
        (calling.NAMES[1], "r"): 1,
        (calling.NAMES[2], "f"): 1,
    }
    said = page.page(run)
    assert (
        "| all | 3 | 1 | 1 | 1 |" in said and "python -m public_faces --seed 7 --call 102" in said
    )


def test_why_a_process_ended_is_said_in_the_words_of_the_sanitizer():
    said = page.of_crash(
        1,
        "x\n==9==ERROR: AddressSanitizer: heap-buffer-overflow\n    #0 0x1 in f\nSUMMARY: AddressSanitizer: heap\n",
    )
    assert said.splitlines() == [
        "==9==ERROR: AddressSanitizer: heap-buffer-overflow",
        "SUMMARY: AddressSanitizer: heap",
        "    #0 0x1 in f",
    ]


def test_the_program_ends_with_1_where_nothing_was_called(monkeypatch, capsys):
    monkeypatch.setattr(program, "build_without_fuzzer", dict)
    monkeypatch.setattr(sys, "argv", ["public_faces", "--seconds", "0"])
    assert program.main() == 1
    assert "| all | 0 |" in capsys.readouterr().out


def test_a_call_of_a_seed_is_the_same_every_time(world):
    names = [[calling.call(world, seed, number)[0] for number in range(30)] for seed in (1, 1, 2)]
    assert names[0] == names[1] != names[2]
    assert inspect.isfunction(calling.call(world, 1, 1)[1])
