"""The list of mutants that survive follows the code and only shrinks; edits elsewhere leave names of mutants as they are."""

import pytest
from checkout import ROOT
from mutation import c_edits, python_edits, survivors
from mutation.mutant import named
from mutation.rooms import ROOMS
from mutation.trial import KILLED, SURVIVED, Verdict

OPEN, LISTED = 13, 21
"""Lines of the list when it was last shortened: lower them with it, and never raise them."""

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


@pytest.mark.parametrize(("file", "text"), [("a.py", PYTHON), ("a.c", C), ("a.pyx", CYTHON)])
def test_code_elsewhere_leaves_a_name_as_it_is(file, text):
    more = {
        "a.py": "\ndef other(a):\n    return a + 1 < 2\n\n",
        "a.c": "static int other(int a) { return a + 1 < 2; }\n",
    }
    before = more.get(file, "\ndef other(int a):\n    return a + 1 < 2\n\n")
    old, new = names(file, text), names(file, before + text)
    assert new[-len(old) :] == old and len(new) > len(old)


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_each_room_has_files_and_tests(room):
    assert room.files() and all((ROOT / path).exists() for path in room.tests)


def test_each_survivor_is_still_there_says_the_same_and_why():
    known = survivors.listed()
    made = {}
    for room in ROOMS:
        files = {one.key.split("::")[0] for one in known.values()}
        made |= {one.key: one.change for one in room.mutants(files)}
    for one in known.values():
        assert made.get(one.key) == one.change, f"{one.key}: take it off the list, or write its change anew"
        assert one.state.startswith(survivors.STATES) and len(one.state) > 20, one.key
    assert len(known) == LISTED and sum(not one.is_equivalent for one in known.values()) == OPEN


def test_a_survivor_that_is_not_listed_and_a_listed_one_that_is_killed_are_wrong():
    [a, b, *_] = named("a.py", PYTHON, python_edits.edits_of(PYTHON))
    verdicts = [Verdict(a, SURVIVED, "", 0.0), Verdict(b, KILLED, "", 0.0)]
    listed = {one.key: survivors.Survivor(one.key, one.change, "open: not yet") for one in (a, b)}
    assert survivors.judged(verdicts, {a.key: listed[a.key]}) == []
    assert len(survivors.judged(verdicts, {})) == 1
    assert len(survivors.judged(verdicts, listed)) == 1
