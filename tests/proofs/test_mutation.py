"""The lists of mutants follow the code, notes on survivors only become fewer, and a run ends badly
where it should.
"""

import ast
import re
from types import SimpleNamespace

import pytest
from checkout import ROOT
from mutation import by_hand, c_edits, listed, python_edits, reach, trial, verdicts
from mutation.mutant import named
from mutation.tree import Tree, Workers
from mutation.trial import BY_TIME, KILLED, NO_PROGRAM, SERVERS, SURVIVES
from mutation.verdicts import Row, Verdicts

NOTED, OPEN = 38, 11
"""Notes on survivors when they were last fewer: lower them with the list, and never raise them."""

PYTHON = '''
class Bound:
    """2 < 3"""

    def holds(self, a: int, b: int = 1) -> bool:
        """1 == 1"""
        if a <= b and not self.closed:
            return min(a, 2) + 1
        raise ValueError(f"{a + 1}")
'''
C = """
#define WIDE 8 < 9
static int NAME(most)(const int *a, int n) { /* 1 < 2 */
    for (int i = 0; i < n; i++) { if (a[i] == '1' && n > 3) return i + 1; }
    return -1; // 1 + 1
}
"""
CYTHON = '''
cdef extern from "x.h":
    int most(int n) nogil

def total(const int[::1] values not None, int n):
    """1 + 1"""
    return values[n - 1] if n > 0 else 0  # 2 < 3
'''


def names(file, text):
    edits = python_edits.edits_of(text) if file.endswith(".py") else c_edits.edits_of(file, text)
    return [one.key.removeprefix(f"{file}::") for one in named(file, text, edits)]


def test_python_is_changed_in_functions_and_not_in_what_is_only_said():
    assert set(names("a.py", PYTHON)) == {
        "Bound.holds::constant + 1::1",
        "Bound.holds::condition true::1",
        "Bound.holds::condition false::1",
        "Bound.holds::<= to <::1",
        "Bound.holds::and to or::1",
        "Bound.holds::not removed::1",
        "Bound.holds::return None::1",
        "Bound.holds::min to max::1",
        "Bound.holds::+ to -::1",
        "Bound.holds::constant + 1::2",
        "Bound.holds::constant + 1::3",
        "Bound.holds::raise dropped::1",
    }


def test_c_and_cython_are_changed_in_functions_beside_comments_and_texts():
    assert set(names("a.c", C)) == {
        *(f"most::constant + 1::{n}" for n in (1, 2, 3, 4)),
        *(f"most::{one}::1" for one in ("< to <=", "== to !=", "&& to ||", "> to >=", "+ to -")),
    }
    assert set(names("a.pyx", CYTHON)) == {
        *(f"total::constant + 1::{n}" for n in (1, 2, 3)),
        "total::- to +::1",
        "total::> to >=::1",
    }


FOUND, GONE = listed.of_today()


def test_each_entry_of_the_list_is_still_in_the_code_and_each_room_has_its_part():
    assert GONE == [], "python -m mutation --draw replaces these"
    assert len(FOUND) == len(listed.listed()) >= listed.SIZE
    rooms = [room for room, _ in FOUND]
    assert all(rooms.count(room.name) >= listed.LEAST for room in listed.rooms())


def test_every_file_of_python_is_of_one_room():
    files = sorted(
        file.relative_to(ROOT).as_posix() for room in listed.rooms() for file in room.files()
    )
    there = [path for top in ("rmqalloc", "spark_udfs") for path in ROOT.glob(f"{top}/**/*.py")]
    assert [file for file in files if file.endswith(".py")] == sorted(
        path.relative_to(ROOT).as_posix() for path in there
    )


def test_notes_say_what_survivors_are_and_only_become_fewer():
    notes = [one for one in listed.listed().values() if one.note]
    assert [
        one.key for one in notes if not one.note.startswith(listed.STATES) or len(one.note) < 20
    ] == []
    assert (len(notes), sum(not one.is_equivalent for one in notes)) == (NOTED, OPEN)


def test_committed_verdicts_are_those_of_the_list():
    assert set(verdicts.kept()) <= listed.listed().keys()


def test_a_mutant_is_reached_by_the_lines_of_its_statement_and_a_header_without_its_body():
    text = "LIMIT = 1\n\n\ndef f(a, n=2):\n    if (a <\n        3):\n        return [\n            4]\n    return 5\n"
    lines = {}
    for one in named("a.py", text, python_edits.edits_of(text)):
        if one.edit.operator == "constant + 1":
            lines[text[one.edit.start]] = [*reach.lines_of(one, ast.parse(text))]
    assert lines == {"1": [*range(1, 10)], "2": [*range(4, 10)], "3": [5, 6], "4": [7, 8], "5": [9]}


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


def test_a_mutant_meets_its_nearest_tests_alone_and_the_test_that_killed_it(workers):
    fails = {"tests/a.py::bound": "a <= b", "tests/a.py::broken": "def", "tests/a.py::good": "x"}
    nearest = SimpleNamespace(
        nearest=lambda _: ["tests/a.py::good", "tests/a.py::bound"], seconds=lambda _: 0.1
    )
    with workers(fails).tree() as tree:
        assert trial.alone(tree, BOUND, nearest) == trial.by_test(
            tree, BOUND, "tests/a.py::bound", 1
        )
        assert trial.alone(tree, BOUND, nearest) == (KILLED, "tests/a.py::bound")
        assert trial.alone(tree, PLUS, nearest) == (SURVIVES, "")
    assert trial.passing(workers(fails), [*fails]) == {
        "tests/a.py::bound": 0.1,
        "tests/a.py::good": 0.1,
    }


def noted(rows, **notes):
    return {key: listed.Entry(key, "a -> b", notes.get(key, "")) for key in rows}


def test_survivors_without_a_note_and_killed_ones_with_one_are_wrong():
    rows, rooms = {"a": Row(SURVIVES), "b": Row(KILLED, "x")}, {"a": "diffs", "b": "diffs"}
    assert verdicts.wrong(rooms, rows, noted([*rows, "untried"], a="equivalent: it is"), []) == []
    assert verdicts.wrong(rooms, rows, noted([*rows, "untried"], a="open: not yet"), []) == []
    assert len(verdicts.wrong(rooms, rows, noted([*rows, "untried"]), [])) == 1
    assert len(verdicts.wrong(rooms, rows, noted([*rows, "untried"], b="open: not yet"), [])) == 2
    assert len(verdicts.wrong(rooms, rows, noted([*rows, "untried", "gone"]), ["gone"])) == 2


@pytest.mark.parametrize(
    ("room", "n_open", "n_wrong"),
    [("diffs", 8, 0), ("diffs", 9, 1), ("plans", 3, 0), ("plans", 4, 1)],
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


def test_verdicts_are_kept_a_part_of_the_tests_is_run_once_and_what_changed_is_tried_again(
    tmp_path,
):
    mutants, path = [mutant for _, mutant in FOUND][:4], tmp_path / "verdicts.tsv"
    a, b, c, d = (one.key for one in mutants)
    rows = Verdicts(mutants, path)
    for key in (a, b, d):
        rows.note(key, SURVIVES, "")
    rows.note(c, KILLED, "tests/plans/test_plans.py::test_x")
    rows.note_part(SERVERS, rows.alive(SERVERS), {a: (KILLED, "tests/spark/test_spark.py::test_x")})
    rows.note_part("java", rows.alive("java"), {b: (KILLED, "tests/strategies/test_go.py::test_x")})
    again = Verdicts(mutants, path)
    assert again == rows and [again[key].what for key in (a, b, c, d)] == [
        KILLED,
        KILLED,
        KILLED,
        SURVIVES,
    ]
    assert again.alive("java") == [] and again.alive("go") == [mutants[3]]
    path.write_text(path.read_text("utf-8").replace(rows[c].mark, "another"), encoding="utf-8")
    changed = Verdicts(mutants[1:], path)
    assert (
        changed.stale.keys() == {c}
        and changed.untried() == [mutants[2]]
        and changed.others == {a: rows[a]}
    )
    changed.note(c, KILLED, "tests/plans/test_plans.py::test_x")
    assert verdicts.kept(path) == rows


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


def test_no_fault_by_hand_is_an_entry_of_the_list_or_of_its_area():
    texts = {
        file: (ROOT / file).read_text("utf-8") for file in {one.file for one in by_hand.faults()}
    }
    changed = [
        (one.area, one.file, texts[one.file].replace(one.old, one.new)) for one in by_hand.faults()
    ]
    machine = {(one.file, one.applied(texts[one.file])) for _, one in FOUND if one.file in texts}
    assert len(set(changed)) == len(changed) and machine.isdisjoint(
        (file, text) for _, file, text in changed
    )


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
