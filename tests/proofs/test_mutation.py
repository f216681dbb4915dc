"""The lists of mutants follow the code, notes on survivors only become fewer, and a run ends badly
where it should.
"""

import re

import pytest
from checkout import ROOT
from mutation import by_hand, listed, python_edits, trial, verdicts
from mutation.mutant import named
from mutation.tree import Tree, Workers
from mutation.trial import BY_TIME, KILLED, NO_PROGRAM, SURVIVES
from mutation.verdicts import Row

NOTED, OPEN = 33, 9
"""Notes on survivors when they were last fewer: lower them with the list, and never raise them."""

FOUND, GONE = listed.of_today()


def test_each_entry_of_the_list_is_still_in_the_code_and_each_room_has_its_part():
    assert GONE == [], "python -m mutation --draw replaces these"
    assert len(FOUND) == len(listed.listed()) >= listed.SIZE
    rooms = [room for room, _ in FOUND]
    assert all(rooms.count(room.name) >= listed.LEAST for room in listed.rooms())


def test_notes_say_what_survivors_are_and_only_become_fewer():
    notes = [one for one in listed.listed().values() if one.note]
    assert [
        one.key for one in notes if not one.note.startswith(listed.STATES) or len(one.note) < 20
    ] == []
    assert (len(notes), sum(not one.is_equivalent for one in notes)) == (NOTED, OPEN)


def test_committed_verdicts_are_those_of_the_list():
    assert set(verdicts.kept()) <= listed.listed().keys()


FILE = "rmqalloc/plans/_plan.py"
TOTAL = "def total(a, b):\n    if a < b:\n        return a + b\n    return a - b\n"
MUTANTS = {one.edit.operator: one for one in named(FILE, TOTAL, python_edits.edits_of(TOTAL))}
BOUND, PLUS = MUTANTS["< to <="], MUTANTS["+ to -"]


class Copy(Tree):
    """A tree in which tests fail on mutants as a table says."""

    def __init__(self, folder, fails):
        self.folder, self.fails = folder, fails

    def run(self, paths, timeout, marks="", **more):
        text = (self.folder / FILE).read_text(encoding="utf-8")
        ran = [test for test in self.fails if test in more.get("tests", self.fails)]
        failed = [test for test in ran if self.fails[test] in text]
        return {
            "code": int(bool(failed)),
            "failures": failed,
            "signal": None,
            "tests": dict.fromkeys(ran, 0.1),
        }


@pytest.fixture
def workers(tmp_path, monkeypatch):
    """Makes workers with one copy of a tree that has one file, which stands in for the checkout,
    too.
    """
    for at in (tmp_path / "checkout", tmp_path / "copy"):
        (at / FILE).parent.mkdir(parents=True)
        (at / FILE).write_text(TOTAL, encoding="utf-8")
    monkeypatch.setattr("mutation.tree.ROOT", tmp_path / "checkout")

    def make(fails):
        made = Workers(1)
        made.free.put(Copy(tmp_path / "copy", fails))
        return made

    return make


def test_survivors_meet_costly_tests_at_once_and_those_that_fail_one_by_one(workers, tmp_path):
    broken, of_the_list = (
        {"tests/a.py::broken": "def"},
        {f"{trial.OF_THE_LISTS}test_each_entry": "a <= b"},
    )
    killed = {BOUND.key: (KILLED, "tests/a.py::bound")}
    assert (
        trial.together(
            workers({"tests/a.py::bound": "a <= b"} | broken), [BOUND, PLUS], ["tests"], 1
        )
        == killed
    )
    assert (tmp_path / "copy" / FILE).read_text(encoding="utf-8") == TOTAL
    for fails in (broken, of_the_list, {}):
        assert trial.together(workers(fails), [BOUND, PLUS], ["tests"], 1) == {}


def noted(rows, **notes):
    return {key: listed.Entry(key, "a -> b", notes.get(key, "")) for key in rows}


def test_survivors_without_a_note_and_killed_ones_with_one_are_wrong():
    rows, rooms = {"a": Row(SURVIVES), "b": Row(KILLED, "x")}, {"a": "audit", "b": "audit"}
    assert verdicts.wrong(rooms, rows, noted([*rows, "untried"], a="equivalent: it is"), []) == []
    assert verdicts.wrong(rooms, rows, noted([*rows, "untried"], a="open: not yet"), []) == []
    assert len(verdicts.wrong(rooms, rows, noted([*rows, "untried"]), [])) == 1
    assert len(verdicts.wrong(rooms, rows, noted([*rows, "untried"], b="open: not yet"), [])) == 2
    assert len(verdicts.wrong(rooms, rows, noted([*rows, "untried", "gone"]), ["gone"])) == 2


@pytest.mark.parametrize(
    ("room", "n_open", "n_wrong"),
    [("audit", 8, 0), ("audit", 9, 1), ("plans", 3, 0), ("plans", 4, 1)],
)
def test_goals_are_of_all_rooms_and_higher_in_some_and_leave_equivalent_ones_out(
    room, n_open, n_wrong
):
    alive = [f"open{n}" for n in range(n_open)]
    rows = {f"m{n}": Row(KILLED, "x") for n in range(100 - n_open)} | dict.fromkeys(
        [*alive, "same"], Row(SURVIVES)
    )
    rows |= {"odd": Row(NO_PROGRAM), "slow": Row(BY_TIME)}
    del rows["m0"]
    entries = noted(rows, same="equivalent: it is", **dict.fromkeys(alive, "open: not yet"))
    found = verdicts.wrong(dict.fromkeys(rows, room), rows, entries, [])
    assert len(found) == n_wrong and all("are killed in" in one for one in found)
    numbers = verdicts.counts(rows, entries)
    assert numbers == (101, 100 - n_open, 1, 0, n_open + 1, 1, n_open)
    assert numbers.shares == (pytest.approx(100 * (100 - n_open) / 101), 100 - n_open)


@pytest.mark.parametrize("area", by_hand.areas())
def test_each_fault_by_hand_fits_the_code_once_and_names_tests_that_exist(area):
    faults = [one for one in by_hand.faults() if one.area == area]
    assert faults
    for fault in faults:
        assert fault.mutant() and fault.new != fault.old, fault.what
        named = [word.split("::")[0] for word in fault.tests.split() if word.startswith("tests/")]
        assert named and all((ROOT / path).is_file() for path in named), fault.what
        texts = "".join((ROOT / path).read_text("utf-8") for path in named)
        words = [*re.findall(r"::(\w+)", fault.tests), fault.tests.partition(" -k ")[2]]
        assert [word for word in words if word not in texts] == [], fault.what


def test_a_fault_by_hand_is_noticed_survives_or_has_no_verdict(workers, monkeypatch, tmp_path):
    monkeypatch.setattr(by_hand, "ROOT", tmp_path / "checkout")
    fault = by_hand.Fault("a", FILE, "a < b:\n", "a <= b:\n", "the bound", "tests/a.py")
    with workers({"tests/a.py::bound": "a <= b"}).tree() as tree:
        assert by_hand.verdict(tree, fault) == KILLED
        assert by_hand.verdict(tree, fault._replace(new="a > b:\n")) == SURVIVES
        assert by_hand.verdict(tree, fault._replace(old="return")) == by_hand.DOES_NOT_FIT
        monkeypatch.setattr(tree, "run", lambda *_, **__: {"code": 4})
        monkeypatch.setattr(tree, "log", lambda: "")
        assert by_hand.verdict(tree, fault) == by_hand.NO_VERDICT
