"""The fixed list of mutants fits the code, each room has its part, and what the quick tier misses is counted and named."""

import pytest
from checkout import ROOT
from mutation import survivors
from mutation.mutant import named
from mutation.python_edits import edits_of
from mutation.tree import Tree
from strength import drawn, page, stages, verdicts
from strength.nearest import distance
from strength.verdicts import BY_ALL, BY_NONE, BY_QUICK, SERVERS, Row, Verdicts

PYTHON = "def total(a, b):\n    if a < b:\n        return a + b\n    return a - b\n"
MUTANTS = named("rmqalloc/plans/_plan.py", PYTHON, edits_of(PYTHON))


def test_each_entry_of_the_list_is_still_in_the_code():
    found, gone = drawn.of_today()
    assert gone == [], "python -m strength --draw replaces these"
    assert len(found) == len(survivors.listed(drawn.LIST)) >= drawn.SIZE


def test_every_file_with_mutants_is_of_one_room_and_every_room_has_its_part():
    rooms, listed = drawn.all_rooms(), survivors.listed(drawn.LIST)
    files = [file.relative_to(ROOT).as_posix() for room in rooms for file in room.files()]
    there = [
        path.relative_to(ROOT).as_posix() for top in ("rmqalloc", "spark_udfs") for path in ROOT.glob(f"{top}/**/*.py")
    ]
    assert sorted(file for file in files if file.endswith(".py")) == sorted(there)
    of_room = {file.relative_to(ROOT).as_posix(): room.name for room in rooms for file in room.files()}
    names = [of_room[key.split("::")[0]] for key in listed]
    assert all(names.count(room.name) >= drawn.LEAST for room in rooms)


def test_parts_are_in_proportion_and_two_at_least():
    assert drawn.parts({"a": 100, "b": 28, "c": 1}, {}) == {"a": 106, "b": 30, "c": 2}
    assert drawn.parts({"a": 100, "b": 28, "c": 1}, {"b": 60}) == {"a": 76, "b": 60, "c": 2}


def test_a_draw_replaces_what_the_code_left_behind_and_nothing_else(tmp_path, monkeypatch):
    old = drawn.LIST.read_text(encoding="utf-8")
    lines = old.splitlines(keepends=True)
    path = tmp_path / "mutants.tsv"
    path.write_text(
        old.replace(lines[-1], "rmqalloc/plans/_gone.py::total::+ to -::1\ta + b -> a - b\n"), encoding="utf-8"
    )
    monkeypatch.setattr(drawn, "LIST", path)
    new = drawn.draw().splitlines(keepends=True)
    assert set(lines[:-1]) <= set(new) and len(new) == len(lines) and "_gone.py" not in "".join(new)


def test_tests_named_like_the_module_come_first_then_those_of_the_room():
    tests = [f"tests/{at}::test_x" for at in ("cli/test_cli.py", "plans/test_gates_file.py", "plans/test_undo.py")]
    assert sorted(tests, key=lambda test: distance("rmqalloc/plans/_gates.py", test)) == [tests[1], tests[2], tests[0]]


def test_slices_keep_to_the_limit():
    tests = [*"abcdef"]
    assert stages.slices(tests, lambda _: 20) == (["a"], ["b", "c"], ["d", "e", "f"])


class Copy(Tree):
    """A tree in which tests fail on mutants as a table says."""

    def __init__(self, folder, fails):
        self.folder, self.fails = folder, fails

    def run(self, paths, timeout, marks="", **more):
        text = (self.folder / MUTANTS[0].file).read_text(encoding="utf-8")
        failed = [test for test, sign in self.fails.items() if sign in text and test in more.get("tests", self.fails)]
        return {"code": int(bool(failed)), "failures": failed, "signal": None}


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A copy of a tree that has one file, which stands in for the checkout, too."""
    for at in (tmp_path / "checkout", tmp_path / "copy"):
        file = at / MUTANTS[0].file
        file.parent.mkdir(parents=True)
        file.write_text(PYTHON, encoding="utf-8")
    monkeypatch.setattr("mutation.trial.ROOT", tmp_path / "checkout")
    return lambda fails: Copy(tmp_path / "copy", fails)


def test_survivors_meet_costly_tests_at_once_and_those_that_fail_one_by_one(tree):
    bound = next(one for one in MUTANTS if one.edit.operator == "< to <=")
    plus = next(one for one in MUTANTS if one.edit.operator == "+ to -")
    fails = {"tests/a.py::bound": "a <= b", "tests/a.py::broken": "def"}
    copy = tree(fails)
    assert stages.together(copy, None, [bound, plus], ["tests"], 1) == {bound.key: "tests/a.py::bound"}
    assert (copy.folder / bound.file).read_text(encoding="utf-8") == PYTHON
    assert stages.together(tree({"tests/a.py::broken": "def"}), None, [bound, plus], ["tests"], 1) == {}
    assert stages.together(tree({}), None, [bound, plus], ["tests"], 1) == {}
    of_the_list = {"tests/proofs/test_strength.py::test_each_entry_of_the_list_is_still_in_the_code": "a <= b"}
    assert stages.together(tree(of_the_list), None, [bound, plus], ["tests"], 1) == {}


def rows_of(**rows):
    return {name: Row(what) for name, what in rows.items()}


def test_more_than_one_lost_in_twenty_is_wrong_and_any_in_a_strict_room():
    rows = rows_of(**{f"m{n}": BY_QUICK for n in range(19)}, lost=BY_ALL, alive=BY_NONE)
    rooms = dict.fromkeys(rows, "diffs")
    assert verdicts.wrong(rooms, rows, []) == []
    assert len(verdicts.wrong(rooms | {"lost": "plans"}, rows, [])) == 1
    assert len(verdicts.wrong(rooms, rows | {"m0": Row(BY_ALL)}, [])) == 1
    assert len(verdicts.wrong(rooms, rows, ["gone"])) == 1


def test_verdicts_are_kept_and_a_part_of_the_tests_is_run_once(tmp_path):
    found, _ = drawn.of_today()
    mutants = [mutant for _, mutant in found][:4]
    a, b, c, d = (one.key for one in mutants)
    rows = Verdicts(mutants, tmp_path / "rows.json")
    for key in (a, b, d):
        rows.note(key, Row(BY_NONE))
    rows.note(c, Row(BY_QUICK, "tests/plans/test_plans.py::test_x"))
    rows.note_part(SERVERS, rows.alive(SERVERS), {a: "tests/spark/test_spark.py::test_x"})
    rows.note_part("java", rows.alive("java"), {b: "tests/strategies/test_go.py::test_x"})
    again = Verdicts(mutants, tmp_path / "rows.json")
    assert [again[key].what for key in (a, b, c, d)] == [BY_QUICK, BY_ALL, BY_QUICK, BY_NONE]
    assert again.alive("java") == [] and again.alive("go") == [mutants[3]] and again == rows
    text = page.page(dict.fromkeys(rows, "plans"), again, [])
    assert f"| `{b.replace('|', chr(92) + '|')}` |" in text and "| plans | 4 | 2 | 1 | 1 |" in text


def test_a_kill_counts_no_longer_once_its_test_has_left_the_quick_tier(tmp_path):
    found, _ = drawn.of_today()
    mutants = [mutant for _, mutant in found][:2]
    rows = Verdicts(mutants, tmp_path / "rows.json")
    rows.note(mutants[0].key, Row(BY_QUICK, "tests/plans/test_plans.py::test_x"))
    rows.note(mutants[1].key, Row(BY_QUICK, "tests/strategies/test_go.py::test_x"))
    assert list(Verdicts(mutants, tmp_path / "rows.json")) == [mutants[0].key]


def test_notes_on_survivors_say_what_they_are():
    notes = [one.state for one in survivors.listed(drawn.LIST).values() if one.state]
    assert all(note.startswith(survivors.STATES) for note in notes)
